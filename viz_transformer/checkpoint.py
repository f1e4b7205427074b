"""Checkpoints: folders of safetensors and JSON, without pickles, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save

from viz_transformer._file_set import CHECKSUMS, has_checksums, is_unfinished, read_files, write_files
from viz_transformer._files import given_path
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.vocabulary import Tokeniser, from_json

WEIGHTS, CONFIG, VOCABULARY = _MODEL_FILES = ("model.safetensors", "config.json", "vocabulary.json")
#: What `Checkpoint.save` writes.
CHECKPOINT_FILES = (*_MODEL_FILES, CHECKSUMS)
MADE_BY, TEST = "made_by.json", "test.tsv"
#: What a training writes beside its checkpoint (`recipes`).
TRAINING_FILES = (MADE_BY, "training.npz", "curve.jsonl", "training.safetensors", TEST)
#: Of a model whose positions are computed, so that its weights do not show how many there are.
_MOST_POSITIONS = 1_000_000
#: No training leads here, and products of larger ones would be infinite.
_LARGEST_WEIGHT = 1e6
#: A model this many times as large as its weights is not built.
_MOST_TIMES = 4

Model = TypeVar("Model", bound=Transformer | DecoderOnly | EncoderOnly)
#: By family: the model, what it is called, what loads it, and what `viz-transformer train` calls it.
_FAMILIES: dict[str, tuple[type, str, str, str]] = {
    "encoder-decoder": (Transformer, "a translator", "load_translator", "en-es"),
    "decoder": (DecoderOnly, "a language model", "load_language_model", "language-model"),
    "encoder": (EncoderOnly, "a masked language model", "load_masked_model", "masked-model"),
}


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """A trained model of any family, in evaluation mode, with its vocabulary."""

    model: Model
    vocabulary: Tokeniser

    def save(self, folder: str | os.PathLike[str], notes: dict[str, str] | None = None) -> Path:
        """Write the checkpoint; files of a checkpoint that was there are replaced only when all is written.

        What the training of that one wrote beside it is removed, and other files in the folder stay. Several
        processes may save and load one folder: the last save wins, and what is loaded is whole.

        Args:
            folder: where to.
            notes: further text files to put beside it (name to content), such as a README.

        Raises:
            FileError: if the folder cannot be written, or holds something else than a checkpoint.
        """
        folder = given_path(folder)
        texts = {name: text.encode() for name, text in (notes or {}).items()}
        check_writable(folder)
        try:
            write_files(
                folder, {**self._files(), **texts}, lambda: _forget_training(folder, keep=texts.keys())
            )
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return folder

    def save_weights(self, folder: str | os.PathLike[str]) -> Path:
        """Write a later state of the model into the folder that `save` wrote, all else in which stays.

        Raises:
            FileError: if it cannot be written; what was there stays.
        """
        folder = given_path(folder)
        try:
            write_files(folder, self._files())
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return folder / WEIGHTS

    def _files(self) -> dict[str, bytes]:
        return {
            WEIGHTS: save(self.model.state_dict()),
            CONFIG: f"{self.model.config.to_json()}\n".encode(),
            VOCABULARY: f"{self.vocabulary.to_json()}\n".encode(),
        }

    @overload
    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, checked: bool = True) -> Checkpoint[Any]: ...

    @overload
    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], kind: type[Model], *, checked: bool = True
    ) -> Checkpoint[Model]: ...

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], kind: type | None = None, *, checked: bool = True
    ) -> Checkpoint[Any]:
        """Read a checkpoint folder.

        Args:
            folder: the folder.
            kind: the class that its model must be of; by default any.
            checked: whether its files must be those that were saved; False loads changed ones as they are.

        Raises:
            FileError: if the folder or a file of it is missing or damaged.
            UserError: if its parts do not fit each other, or its model is of another kind.
        """
        folder = given_path(folder)
        if not folder.is_dir():
            raise FileError(
                f"no checkpoint folder at {str(folder)!r}; check the path, or train one with "
                f"`viz-transformer train {_family_of(kind)[3]} --out {folder}`"
            )
        files = read_files(folder, _MODEL_FILES, checked=checked)
        config = ModelConfig.from_json(_text(folder / CONFIG, files[CONFIG]))
        vocabulary = from_json(_text(folder / VOCABULARY, files[VOCABULARY]))
        if len(vocabulary) != config.vocab_size:
            raise UserError(
                f"{str(folder)!r} has a vocabulary of {len(vocabulary)} tokens for a model of "
                f"{config.vocab_size}; {VOCABULARY} and {CONFIG} must come from one training"
            )
        of_config, name, loader, _ = _FAMILIES[config.family]
        if kind not in (None, of_config):
            raise UserError(
                f"{str(folder)!r} holds {name}, and {_family_of(kind)[1]} is expected; load it with "
                f"vt.{loader}, or give another folder"
            )
        weights = _weights(folder / WEIGHTS, files[WEIGHTS])
        _check_sizes(folder, config, weights)
        model = of_config(config)
        _check_shapes(folder, weights, model.state_dict())
        model.load_state_dict(weights)
        return cls(model.eval(), vocabulary)


def _family_of(kind: type | None) -> tuple[type, str, str, str]:
    """Return the entry of a class of models; the translator's where any will do."""
    return next(entry for entry in _FAMILIES.values() if kind in (None, entry[0]))


def _forget_training(folder: Path, keep: Collection[str]) -> None:
    """Remove what a training of ours wrote beside an earlier checkpoint, which does not apply to a new one.

    That it was one of ours its ``made_by.json`` says. A file that is not as a training writes it stays: it is
    somebody's own, under such a name.
    """
    try:
        made_by = json.loads((folder / MADE_BY).read_bytes())
        if not {"training", "torch"} <= made_by.keys():
            return
        tests = made_by.get("pairs", {}).get("test", {}).get("sha256")
    except (OSError, ValueError, AttributeError, RecursionError):
        return
    for name in reversed(TRAINING_FILES):  # made_by.json is last, so that a save that was killed can go on
        if name not in keep and _is_of_a_training(folder / name, tests):
            (folder / name).unlink()


def _is_of_a_training(path: Path, tests: str | None) -> bool:
    """Return whether a file is as a training writes it; `tests` is the SHA-256 of its test pairs."""
    try:
        if path.name == TEST:
            return hashlib.sha256(path.read_bytes()).hexdigest() == tests
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            return all({"step", "validation_loss"} <= line.keys() for line in lines)
        if path.suffix == ".npz":
            return "trace.npy" in zipfile.ZipFile(path).namelist()
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                return "settings" in (file.metadata() or {})
    except (OSError, ValueError, AttributeError, RecursionError, SafetensorError, zipfile.BadZipFile):
        return False
    return path.is_file()


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Find out, before hours of training, whether a checkpoint can be saved at `folder`.

    A folder that is not a checkpoint is not replaced: someone's other work may be in it.

    Raises:
        FileError: if it cannot.
    """
    folder = given_path(folder)
    try:
        if folder.is_file() or (folder.exists() and not _is_free(folder)):
            raise FileError(
                f"{str(folder)!r} exists and is not a checkpoint; choose a new or an empty folder"
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise _cannot_write(folder, PermissionError("permission denied"))


def _is_free(folder: Path) -> bool:
    """Return whether a folder holds a checkpoint of ours, or nothing."""
    if all(map(is_unfinished, folder.iterdir())) or has_checksums(folder):
        return True
    try:
        ModelConfig.from_json((folder / CONFIG).read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, UserError):
        return False
    return (folder / WEIGHTS).exists()


def _cannot_write(folder: Path, error: OSError) -> FileError:
    if isinstance(error, FileError):
        return error
    return FileError(
        f"cannot write the checkpoint {str(folder)!r}: {error}; "
        "choose a folder that you may write to, with room for it"
    )


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileError(
            f"the checkpoint {str(path.parent)!r} has no readable {path.name}; copy the whole "
            "folder again, or train it again"
        ) from error


def _weights(path: Path, content: bytes) -> dict[str, torch.Tensor]:
    try:
        weights = load(content)
    except SafetensorError as error:
        raise FileError(
            f"{str(path)!r} is truncated or damaged ({error}); copy the whole folder again, or train it again"
        ) from error
    for name, weight in weights.items():
        if not (weight.float().abs() <= _LARGEST_WEIGHT).all():  # so is no NaN
            raise FileError(
                f"{name} in {str(path)!r} holds NaN, infinity or a number beyond {_LARGEST_WEIGHT:g}, which "
                "makes all results NaN; copy the folder again, or train with a smaller learning rate"
            )
    return weights


def _check_sizes(folder: Path, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
    """Refuse a configuration of a model many times as large as its weights, before that model is built.

    Where they differ by less, `_check_shapes` can name the weight.
    """
    n_there = sum(weight.numel() for weight in weights.values())
    n_needed = count_parameters(config)
    if n_needed > _MOST_TIMES * n_there or config.max_length > _MOST_POSITIONS:
        raise UserError(
            f"{CONFIG} of {str(folder)!r} describes a model of {n_needed:,} parameters and "
            f"{config.max_length:,} positions, and {WEIGHTS} holds {n_there:,} numbers; both must come from "
            "one training"
        )


def _check_shapes(folder: Path, weights: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    for name in sorted(weights.keys() | wanted.keys()):
        have = list(weights[name].shape) if name in weights else "missing"
        want = list(wanted[name].shape) if name in wanted else "no such weight"
        if have != want:
            raise UserError(
                f"the checkpoint {str(folder)!r} does not fit its {CONFIG}: {name} is {have}, "
                f"expected {want}; {WEIGHTS} and {CONFIG} must come from one training"
            )
