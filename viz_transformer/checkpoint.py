"""Checkpoints: folders of safetensors and JSON, nothing pickled, written whole or not at all."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from viz_transformer._files import atomic_write, given_path
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.vocabulary import Tokeniser, from_json

WEIGHTS, CONFIG, VOCABULARY = CHECKPOINT_FILES = ("model.safetensors", "config.json", "vocabulary.json")
#: Of a model whose positions are computed, so that its weights don't say how many there are.
_MOST_POSITIONS = 1_000_000
#: No training leads here, and products of larger ones would be infinite.
_LARGEST_WEIGHT = 1e6
#: How the name of the folder ends in which a save keeps what it replaces.
_ASIDE = ".save"
#: A model this many times as large as its weights is not built.
_MOST_TIMES = 4

Model = TypeVar("Model", bound=Transformer | DecoderOnly | EncoderOnly)
#: By family: the model, what it is called, what loads it, and what `viz-transformer train` calls it.
_FAMILIES: dict[str, tuple[type, str, str, str]] = {
    "encoder-decoder": (Transformer, "a translator", "load_translator", "en-es"),
    "decoder": (DecoderOnly, "a language model", "load_language_model", "language-model"),
    "encoder": (EncoderOnly, "a masked-word model", "load_masked_model", "masked-model"),
}


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """A trained model of any family, in evaluation mode, with its vocabulary."""

    model: Model
    vocabulary: Tokeniser

    def save(self, folder: str | os.PathLike[str], notes: dict[str, str] | None = None) -> Path:
        """Write the checkpoint; files of a checkpoint that was there are replaced only when all is written.

        Other files in the folder stay.

        Args:
            folder: where to.
            notes: further text files to put beside it (name to content), such as a README.

        Raises:
            FileError: if the folder cannot be written.
        """
        folder = given_path(folder)
        texts = {
            CONFIG: self.model.config.to_json() + "\n",
            VOCABULARY: self.vocabulary.to_json() + "\n",
            **(notes or {}),
        }
        check_writable(folder)
        try:
            with _replacing(folder) as new:
                (new / WEIGHTS).write_bytes(save(self.model.state_dict()))
                for name, text in texts.items():
                    (new / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return folder

    def save_weights(self, folder: str | os.PathLike[str]) -> Path:
        """Write the weights alone into a folder that `save` wrote: a later state of its model.

        Raises:
            FileError: if they cannot be written; those that were there stay.
        """
        path = given_path(folder) / WEIGHTS
        with atomic_write(path) as part:
            part.write_bytes(save(self.model.state_dict()))
        return path

    @overload
    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Checkpoint[Any]: ...

    @overload
    @classmethod
    def load(cls, folder: str | os.PathLike[str], kind: type[Model]) -> Checkpoint[Model]: ...

    @classmethod
    def load(cls, folder: str | os.PathLike[str], kind: type | None = None) -> Checkpoint[Any]:
        """Read a checkpoint folder.

        Args:
            folder: the folder.
            kind: the class that its model must be of; by default any.

        Raises:
            FileError: if the folder or a file of it is missing or damaged.
            UserError: if its parts do not fit each other, or its model is of another kind.
        """
        folder = given_path(folder)
        if not folder.exists():
            folder = _cut_short(folder) or folder
        if not folder.is_dir():
            raise FileError(
                f"no checkpoint folder at {str(folder)!r}; check the path, or train one with "
                f"`viz-transformer train {_family_of(kind)[3]} --out {folder}`"
            )
        config = ModelConfig.from_json(_read_text(folder / CONFIG))
        vocabulary = from_json(_read_text(folder / VOCABULARY))
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
        weights = _read_weights(folder / WEIGHTS)
        _check_sizes(folder, config, weights)
        model = of_config(config)
        _check_shapes(folder, weights, model.state_dict())
        model.load_state_dict(weights)
        return cls(model.eval(), vocabulary)


def _family_of(kind: type | None) -> tuple[type, str, str, str]:
    """Return the entry of a class of models; the translator's where any will do."""
    return next(entry for entry in _FAMILIES.values() if kind in (None, entry[0]))


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Yield a new folder, whose files replace those of the same names in `folder` once all are written.

    It stands in a hidden folder beside `folder`, made by this call. While the two change places, the
    earlier one is there too, and it is only removed when nothing is left in it.
    """
    place = Path(os.path.realpath(folder))  # of a link, what it leads to
    if not place.exists() and (cut_short := _cut_short(place)):
        cut_short.replace(place)
    own = Path(tempfile.mkdtemp(prefix=".", suffix=_ASIDE, dir=place.parent))
    new, old = own / "new", own / "old" / place.name
    try:
        new.mkdir()
        old.parent.mkdir()
        yield new
        if place.exists():
            place.replace(old)
        new.replace(place)
        if old.exists():
            _move_others(old, place)
    finally:
        if old.exists() and not place.exists():
            old.replace(place)
        shutil.rmtree(new, ignore_errors=True)
        with suppress(OSError):  # they are kept if anything is left in them
            old.parent.rmdir()
            own.rmdir()


def _move_others(old: Path, place: Path) -> None:
    """Move what an earlier folder holds besides replaced files into the new one, and remove the earlier."""
    for entry in old.iterdir():
        if not (place / entry.name).exists():
            entry.rename(place / entry.name)
        elif not entry.is_dir():
            entry.unlink()
    old.rmdir()


def _cut_short(folder: Path) -> Path | None:
    """Return where a save that was killed between its two last steps left the earlier checkpoint."""
    found = folder.parent.glob(f".*{_ASIDE}/old/{glob.escape(folder.name)}/{WEIGHTS}")
    return max((path.parent for path in found), key=lambda path: path.stat().st_mtime, default=None)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Find out, before hours of training, whether a checkpoint can be saved at `folder`.

    A folder that is not a checkpoint is not replaced: someone's other work may be in it.

    Raises:
        FileError: if it cannot.
    """
    folder = given_path(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / WEIGHTS).exists()):
        raise FileError(f"{str(folder)!r} exists and is not a checkpoint; choose a new or an empty folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    if not os.access(folder.parent, os.W_OK):
        raise _cannot_write(folder, PermissionError("permission denied"))


def _cannot_write(folder: Path, error: Exception) -> FileError:
    return FileError(
        f"cannot write the checkpoint {str(folder)!r}: {error}; "
        "choose a folder that you may write to, with room for it"
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"the checkpoint {str(path.parent)!r} has no readable {path.name}; copy the whole "
            "folder again, or train it again"
        ) from error


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise FileError(
            f"{str(path)!r} is missing, truncated or damaged ({error}); copy the whole folder "
            "again, or train it again"
        ) from error
    for name, weight in weights.items():
        if not (weight.float().abs() <= _LARGEST_WEIGHT).all():  # so is no NaN
            raise FileError(
                f"{name} in {str(path)!r} holds NaN, infinity or a number beyond {_LARGEST_WEIGHT:g}, with "
                "which nothing can be computed; copy the folder again, or train with a smaller learning rate"
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
