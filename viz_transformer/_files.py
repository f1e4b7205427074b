"""Bundled files, folders made with a clear error, files written atomically, and by one process at a time."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from viz_transformer._text import described
from viz_transformer.errors import FileError

#: A file may unpack to the first, or to so many times its own size, but never to more than the last.
_ALWAYS_BYTES, _MOST_COMPRESSED, _MOST_BYTES = 2**28, 100, 2**32


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


def given_path(path: Any) -> Path:
    """Return what was given as the path of a file or folder, which need not exist.

    Raises:
        FileError: if no file can be there: it is no path, too long, or holds half a character or a NUL.
    """
    try:
        where = Path(path)
        if not where.name:
            where = where.resolve()  # "." and "/" get a name beside which a file can be written
        where.lstat()
    except (TypeError, ValueError) as error:
        raise FileError(
            f"{described(path)} is not a path ({error}); give the path of a file or folder"
        ) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileError(f"{str(where)!r:.60}… is too long for a path; give a shorter one") from error
    return where


def unpacked_limit(n_bytes: int) -> int:
    """Return how many bytes a compressed file of so many may unpack to: a small file fills no memory."""
    return min(_MOST_BYTES, max(_ALWAYS_BYTES, _MOST_COMPRESSED * n_bytes))


def make_folder(path: str | os.PathLike[str], advice: str = "choose another") -> Path:
    """Make a folder and its parents, if they are not there yet; returns its path.

    Args:
        path: the folder.
        advice: ends the message of the error.

    Raises:
        FileError: if it cannot be made.
    """
    folder = given_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {str(folder)!r}: {error.strerror}; {advice}") from error
    return folder


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` once everything is written.

    It is a new hidden file in the same folder, so that no other file is in its way. A link stays a link, to
    a file that is replaced, and a file keeps its permissions. If writing fails, the file at `path` is
    unchanged and nothing temporary is left.

    Raises:
        FileError: if the file cannot be written.
    """
    path = given_path(path)
    place = Path(os.path.realpath(path))
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        try:
            check_replaceable(place)
            yield part
            take_place(part, place)
        finally:
            part.unlink(missing_ok=True)
    except FileError:  # of what writes
        raise
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {error.strerror or error}; "
            "choose a folder that exists and that you may write to"
        ) from error


def take_place(new: Path, place: Path) -> None:
    """Give a new file the name and the permissions of the one that it replaces.

    Raises:
        OSError: if it cannot be done.
    """
    with suppress(FileNotFoundError):
        shutil.copymode(place, new)
    new.replace(place)


def check_replaceable(place: Path) -> None:
    """Refuse to replace what is no file, or a file that may not be written.

    Raises:
        OSError: if that is there: a folder, a device, a link to itself.
    """
    if place.is_symlink() or (place.exists() and not place.is_file()):
        raise FileExistsError(errno.EEXIST, "what is there is not a file")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, "the file that is there may not be written")


def keep_beside(path: Path, content: bytes, when: str) -> Path:
    """Write what a file held under an unused name beside it, such as ``name.2026-11-28.py``.

    Args:
        path: the file.
        content: what it held.
        when: a part of the name; a number follows it if that name is used.

    Raises:
        FileError: if it cannot be written.
    """
    for number in itertools.count(1):
        again = "" if number == 1 else f"-{number}"
        copy = path.with_name(f"{path.stem}.{when}{again}{path.suffix}")
        try:
            with copy.open("xb") as file:  # x: never over another file
                file.write(content)
        except FileExistsError:
            continue
        except OSError as error:
            raise FileError(
                f"cannot keep {str(path)!r} as {copy.name!r}, so it was not replaced: "
                f"{error.strerror or error}"
            ) from error
        return copy
    raise AssertionError("unreachable")


def check_not_input(output: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Refuse to write onto a file that is read.

    Raises:
        FileError: if `output` is one of `inputs`, by whatever path; those that are None are left out.
    """
    where = os.path.realpath(given_path(output))
    if any(each is not None and os.path.realpath(given_path(each)) == where for each in inputs):
        raise FileError(
            f"{os.fspath(output)!r} is read, and would be replaced by what is written; "
            "give another name to write to"
        )


def check_unused(output: str | os.PathLike[str], overwrite: bool) -> None:
    """Refuse to write where something is already, unless that is meant.

    Raises:
        FileError: if something is there.
    """
    if not overwrite and given_path(output).exists():
        raise FileError(
            f"{os.fspath(output)!r} is there already; give another name to write to, or replace it with "
            "--overwrite"
        )


@contextmanager
def one_at_a_time(path: str | os.PathLike[str], wait_s: float = 60.0) -> Iterator[None]:
    """Wait until no other process of this account is in a ``with`` block like this one for the same file.

    The lock ends with its process, however that ends. It lies in a folder that is this account's alone, so
    that no other account can hold it, and none is left beside `path`. Where no lock is free within `wait_s`
    seconds, because a process was stopped within the block, or not at all, the block runs all the same.
    """
    name = hashlib.sha256(os.fsencode(Path(path).resolve())).hexdigest()[:24]
    with ExitStack() as stack:
        with suppress(OSError, RuntimeError):  # of an account without a home
            folder = _own_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # who may read a file can lock it
            lock = stack.enter_context((folder / f"{name}.lock").open("ab"))
            given_up = time.monotonic() + wait_s
            while not _lock(lock) and time.monotonic() < given_up:
                time.sleep(0.002)
        yield


def _own_folder() -> Path:
    """Return where this account keeps what others may neither read nor change."""
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "viz_transformer"


def is_own(path: Path) -> bool:
    """Return whether a file belongs to the account that runs this."""
    return path.stat().st_uid == _user()


def _user() -> int:
    return (
        os.getuid() if hasattr(os, "getuid") else 0
    )  # on Windows everyone has a temporary folder of their own


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> bool:
        """Lock a file; False if another process has."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _lock(file: BinaryIO) -> bool:
        """Lock a file; False if another process has."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
