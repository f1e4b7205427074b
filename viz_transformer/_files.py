"""Bundled files, folders made with a clear error, and files written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from viz_transformer.errors import FileError


def bundled(name: str) -> Path:
    """Return the path of a file or folder of the package, such as ``data/en-es``.

    In a clone it is beside the package, in a wheel inside it.

    Raises:
        FileError: if the installation lacks it.
    """
    package = Path(__file__).parent
    for root in (package / "bundled", package.parent):
        if (root / name).exists():
            return root / name
    raise FileError(
        f"{name!r} is missing from this installation of viz_transformer; install it again, or "
        "clone the repository"
    )


def text_beside(module: str, name: str) -> str:
    """Return the text of a file beside a Python module, given the module's ``__file__``."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


def make_folder(path: str | os.PathLike[str], advice: str = "choose another") -> Path:
    """Make a folder and its parents, if they are not there yet; returns its path.

    Args:
        path: the folder.
        advice: ends the message of the error.

    Raises:
        FileError: if it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {str(folder)!r}: {error.strerror}; {advice}") from error
    return folder


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` once everything is written.

    If writing fails, the file at `path` is unchanged and no temporary file is left.

    Raises:
        FileError: if the file cannot be written.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {error.strerror or error}; "
            "choose a folder that exists and that you may write to"
        ) from error
    finally:
        # If the folder is missing or not writable, there is nothing to remove.
        if part.parent.is_dir() and part.is_file():
            part.unlink()
