"""Checkpoints: folders of safetensors and JSON, nothing pickled, written whole or not at all."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from viz_transformer._files import atomic_write
from viz_transformer.config import ModelConfig
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import Transformer
from viz_transformer.vocabulary import Tokeniser, from_json

WEIGHTS, CONFIG, VOCABULARY = "model.safetensors", "config.json", "vocabulary.json"


@dataclass(frozen=True)
class Checkpoint:
    """A trained model, in evaluation mode, with its vocabulary."""

    model: Transformer
    vocabulary: Tokeniser

    def save(self, folder: str | os.PathLike[str], notes: dict[str, str] | None = None) -> Path:
        """Write the checkpoint; a folder that was there is replaced only when all is written.

        Args:
            folder: where to.
            notes: further text files to put beside it (name to content), such as a README.

        Raises:
            FileError: if the folder cannot be written.
        """
        folder = Path(folder)
        part = folder.with_name(folder.name + ".part")
        old = _backup(folder)
        texts = {
            CONFIG: self.model.config.to_json() + "\n",
            VOCABULARY: self.vocabulary.to_json() + "\n",
            **(notes or {}),
        }
        check_writable(folder)
        try:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            (part / WEIGHTS).write_bytes(save(self.model.state_dict()))
            for name, text in texts.items():
                (part / name).write_text(text, encoding="utf-8")
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
                folder.replace(old)
            part.replace(folder)
            shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise _cannot_write(folder, error) from error
        return folder

    def save_weights(self, folder: str | os.PathLike[str]) -> Path:
        """Write the weights alone into a folder that `save` wrote: a later state of its model.

        Raises:
            FileError: if they cannot be written; those that were there stay.
        """
        path = Path(folder) / WEIGHTS
        with atomic_write(path) as part:
            part.write_bytes(save(self.model.state_dict()))
        return path

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Checkpoint:
        """Read a checkpoint folder.

        Raises:
            FileError: if the folder or a file of it is missing or damaged.
            UserError: if its parts do not fit each other.
        """
        folder = Path(folder)
        backup = _backup(folder)
        if backup.is_dir() and not folder.exists():
            folder = backup  # a save was cut short between its two last steps
        if not folder.is_dir():
            raise FileError(
                f"no checkpoint folder at {str(folder)!r}; check the path, or train one with "
                f"`viz-transformer train en-es --out {folder}`"
            )
        config = ModelConfig.from_json(_read_text(folder / CONFIG))
        vocabulary = from_json(_read_text(folder / VOCABULARY))
        if len(vocabulary) != config.vocab_size:
            raise UserError(
                f"{str(folder)!r} has a vocabulary of {len(vocabulary)} tokens for a model of "
                f"{config.vocab_size}; {VOCABULARY} and {CONFIG} must come from one training"
            )
        model = Transformer(config)
        weights = _read_weights(folder / WEIGHTS)
        _check_shapes(folder, weights, model.state_dict())
        model.load_state_dict(weights)
        return cls(model.eval(), vocabulary)


def _backup(folder: Path) -> Path:
    """Return where the earlier checkpoint is kept while a new one replaces it."""
    return folder.with_name(folder.name + ".old")


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Find out, before hours of training, whether a checkpoint can be saved at `folder`.

    A folder that is not a checkpoint is not replaced: someone's other work may be in it.

    Raises:
        FileError: if it cannot.
    """
    folder = Path(folder)
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
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise FileError(
            f"{str(path)!r} is missing, truncated or damaged ({error}); copy the whole folder "
            "again, or train it again"
        ) from error


def _check_shapes(folder: Path, weights: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    for name in sorted(weights.keys() | wanted.keys()):
        have = list(weights[name].shape) if name in weights else "missing"
        want = list(wanted[name].shape) if name in wanted else "no such weight"
        if have != want:
            raise UserError(
                f"the checkpoint {str(folder)!r} does not fit its {CONFIG}: {name} is {have}, "
                f"expected {want}; {WEIGHTS} and {CONFIG} must come from one training"
            )
