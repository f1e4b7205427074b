"""Provenance of a recipe's files: ``made_by.json``, which says how they were made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from viz_transformer._files import atomic_write, make_folder
from viz_transformer.errors import FileError

#: Stands beside the files that it describes.
MADE_BY = "made_by.json"


def provenance(settings: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Return the text of a ``made_by.json``.

    Args:
        settings: what the files were made from: the command, the training, numbers of pairs.
        results: what came of it, such as the last loss and the files' SHA-256.
    """
    return json.dumps({**settings, "torch": torch.__version__, **results}, indent=2) + "\n"


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return what a folder's ``made_by.json`` says; nothing if it has none that can be read."""
    try:
        read = json.loads((folder / MADE_BY).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def write_provenance(folder: Path, settings: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Write ``made_by.json`` into a folder.

    Raises:
        FileError: if it cannot be written.
    """
    with atomic_write(folder / MADE_BY) as part:
        part.write_text(provenance(settings, results), encoding="utf-8")


def make_own_folder(folder: str | os.PathLike[str], recipe: str, *names: str) -> Path:
    """Make a recipe's folder, before a training, so that one that cannot be used costs no time.

    Raises:
        FileError: if it cannot be made, or holds files of these names that the recipe did not write.
    """
    folder = make_folder(folder)
    is_own = recipe in str(read_provenance(folder).get("command"))
    there = [name for name in (*names, MADE_BY) if (folder / name).exists()]
    if there and not is_own:
        raise FileError(
            f"{str(folder / there[0])!r} is there already and not of {recipe}; give another folder"
        )
    return folder


def python_command(recipe: str, folder: Path) -> str:
    """Return the shell command that runs a function of `recipes` with a folder."""
    return f"python -c \"from viz_transformer.recipes import {recipe}; {recipe}('{folder.name}')\""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
