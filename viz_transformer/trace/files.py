"""Files of traces: one ``.npz`` of arrays and JSON, nothing pickled, written whole or not at all."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from viz_transformer._files import atomic_write, given_path, unpacked_limit
from viz_transformer._text import quoted
from viz_transformer.errors import FileError

Trace = TypeVar("Trace")

#: The most bytes of tokens and other plain values.
_MOST_JSON_BYTES = 2**25


def save_trace(
    path: str | os.PathLike[str],
    kind: str,
    plain: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    name: str = "trace",
) -> Path:
    """Write a trace of a kind, such as ``"DecodeTrace"``: its JSON under `name`, and its arrays.

    Raises:
        FileError: if the file cannot be written.
    """
    # ASCII JSON as bytes: numpy's own string arrays would drop trailing NULs of a token.
    text = json.dumps({"format": _format(kind), **plain}).encode("ascii")
    with atomic_write(path) as part, part.open("wb") as file:
        everything: dict[str, Any] = {**arrays, name: np.frombuffer(text, dtype=np.uint8)}
        np.savez_compressed(file, **everything)
    return Path(path)


def load_trace(
    path: str | os.PathLike[str],
    kind: str,
    make: Callable[[dict[str, Any], dict[str, np.ndarray]], Trace],
    name: str = "trace",
) -> Trace:
    """Read what `save_trace` wrote, and return what `make` makes of the JSON and the arrays.

    Raises:
        FileError: if the file is missing, damaged or no saved trace of that kind.
    """
    path = given_path(path)
    if not path.is_file():
        raise FileError(f"no trace at {str(path)!r}; check the path")
    try:
        _refuse_oversized(path, name)
        with np.load(path, allow_pickle=False) as file:
            arrays = {each: file[each] for each in file.files}
        plain = json.loads(arrays.pop(name).tobytes())
        if plain.pop("format") != _format(kind):
            raise ValueError("another format")
        return make(plain, arrays)
    except Exception as error:  # a damaged zip raises any of a dozen types
        raise FileError(
            f"{str(path)!r} is not a trace that {kind}.save wrote, or it is damaged "
            f"({quoted(str(error), 200)}); save the trace again"
        ) from error


def _refuse_oversized(path: Path, name: str) -> None:
    """Refuse a file that would take far more memory than its own size, before any of it is read.

    Raises:
        ValueError: if it would.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    most = unpacked_limit(path.stat().st_size)
    if sum(sizes.values()) > most or sizes.get(f"{name}.npy", 0) > _MOST_JSON_BYTES:
        raise ValueError(f"it unpacks to {sum(sizes.values()) / 1e6:,.0f} MB, more than {most / 1e6:,.0f}")


def _format(kind: str) -> str:
    return f"viz_transformer.{kind}/1"
