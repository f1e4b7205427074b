"""Files of a folder that are saved as one: all of a save or none, each with its checksum.

A save writes its files under new names and then replaces ``checksums.json``: from that moment on they are
what the folder holds. Then they get their own names. If it was killed before, the next save does that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from viz_transformer._files import check_replaceable, is_own, one_at_a_time, take_place
from viz_transformer.errors import FileError

CHECKSUMS = "checksums.json"
_FORMAT = "viz_transformer.checksums/1"
#: The names that a list of checksums may hold lead to no other folder.
_NAME, _DIGEST = re.compile(r"[^./\\\0][^/\\\0]*"), re.compile(r"[0-9a-f]{64}")
#: A file that has not got its own name yet: its name and its SHA-256.
_NEW = re.compile(rf"\.{_NAME.pattern}\.{_DIGEST.pattern}\.new")


def write_files(
    folder: Path, contents: Mapping[str, bytes], forget: Callable[[], None] = lambda: None
) -> None:
    """Save files by name in a folder, which is made if needed; of processes that save at once, the last wins.

    Args:
        folder: other files in it stay.
        contents: the files.
        forget: called before the new files count, to remove what would be wrong beside them.

    Raises:
        OSError: if it cannot be done; the earlier files are then as they were. A FileError if the folder has
            a ``checksums.json`` that is damaged or another program's.
    """
    if odd := [name for name in contents if not _NAME.fullmatch(name) or name == CHECKSUMS]:
        raise FileError(f"{odd[0]!r:.60} is no name for a file beside others; give one such as 'notes.txt'")
    folder = Path(os.path.realpath(folder))  # a link stays one
    sums = {name: _sha256(data) for name, data in contents.items()}
    listed = json.dumps({"format": _FORMAT, "sha256": sums}, indent=1).encode()
    with one_at_a_time(folder):
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        _finish(folder)
        try:
            for name, data in contents.items():
                check_replaceable(_place(folder, name))
                _new(folder, name, sums[name]).write_bytes(data)
            forget()
            new = _new(folder, CHECKSUMS, _sha256(listed))
            new.write_bytes(listed)
            take_place(new, _place(folder, CHECKSUMS))
            _finish(folder)
        finally:
            _remove_new(folder, [*sums, CHECKSUMS])
            if is_new:
                with suppress(OSError):  # unless it holds the files
                    folder.rmdir()


def read_files(folder: Path, names: Iterable[str], *, checked: bool) -> dict[str, bytes]:
    """Return files of a folder by name, all of one save; those of a folder without checksums as they are.

    What does not fit may be a save of another process, so that one is waited for.

    Raises:
        FileError: if one is missing or, when `checked`, not what was saved.
    """
    try:
        return _read(folder, names, checked)
    except FileError:
        with one_at_a_time(folder):
            with suppress(OSError):
                _finish(folder)
            return _read(folder, names, checked)


def has_checksums(folder: Path) -> bool:
    """Return whether `write_files` saved the files of a folder.

    Raises:
        FileError: if its ``checksums.json`` is damaged or another program's.
    """
    return _checksums(folder) is not None


def is_unfinished(path: Path) -> bool:
    """Return whether a save that was killed left this file."""
    return _NEW.fullmatch(path.name) is not None


def _read(folder: Path, names: Iterable[str], checked: bool) -> dict[str, bytes]:
    sums = _checksums(folder) if checked else None
    found = {}
    for name in names:
        path = folder / name
        if sums is not None and (new := _new(folder, name, sums.get(name, ""))).exists():
            path = new
        try:
            found[name] = path.read_bytes()
        except OSError as error:
            raise FileError(
                f"{str(folder)!r} has no readable {name} ({error.strerror or error}); copy the whole folder "
                "again, or save it again"
            ) from error
        if sums is not None and _sha256(found[name]) != sums.get(name):
            raise FileError(
                f"{name} in {str(folder)!r} is damaged or was changed: it does not fit {CHECKSUMS}; copy the "
                "whole folder again, save it again, or load it as it is with checked=False"
            )
    if checked and sums is None and has_checksums(folder):
        raise FileError(f"{str(folder)!r} was saved while it was read; load it again")
    return found


def _checksums(folder: Path) -> dict[str, str] | None:
    path = folder / CHECKSUMS
    try:
        found = json.loads(path.read_bytes())
        sums = dict(found["sha256"])
        if found["format"] != _FORMAT:
            raise ValueError("another format")
        if not all(_NAME.fullmatch(name) and _DIGEST.fullmatch(digest) for name, digest in sums.items()):
            raise ValueError("no checksums")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(
            f"{str(path)!r} is damaged or another program's; copy the whole folder again, move that file "
            "away, or load the folder as it is with checked=False"
        ) from error
    return sums


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _place(folder: Path, name: str) -> Path:
    """Return where a file is: of a link, what it leads to."""
    return Path(os.path.realpath(folder / name))


def _new(folder: Path, name: str, sha256: str) -> Path:
    return _place(folder, name).with_name(f".{name}.{sha256}.new")


def _finish(folder: Path) -> None:
    """Give the files that count their names."""
    for name, sha256 in (_checksums(folder) or {}).items():
        if (new := _new(folder, name, sha256)).exists():
            take_place(new, _place(folder, name))


def _remove_new(folder: Path, names: Iterable[str]) -> None:
    """Remove what this account's saves that failed or were killed have left, besides files that count."""
    counting = {_new(folder, *each) for each in (_checksums(folder) or {}).items()}
    for parent in {_place(folder, name).parent for name in names}:
        for path in parent.iterdir():
            with suppress(FileNotFoundError):  # another account's, which it has just removed
                if is_unfinished(path) and path not in counting and is_own(path):
                    path.unlink()
