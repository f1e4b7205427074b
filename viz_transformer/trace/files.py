"""Files of traces: one ``.npz`` of arrays and JSON, without pickles, written whole or not at all."""

from __future__ import annotations

import hashlib
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
#: The name of the SHA-256 of all else, which a file of the first format lacks.
_CHECKSUM = "sha256"


def save_trace(
    path: str | os.PathLike[str],
    kind: str,
    plain: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    name: str = "trace",
) -> Path:
    """Write a trace of a kind, such as ``"DecodeTrace"``: its JSON under `name`, its arrays, and a checksum.

    Raises:
        FileError: if the file cannot be written.
    """
    # ASCII JSON as bytes: numpy's own string arrays would drop trailing NULs of a token.
    text = json.dumps({"format": f"{_format(kind)}2", **plain}).encode("ascii")
    everything: dict[str, Any] = {**arrays, name: np.frombuffer(text, dtype=np.uint8)}
    everything[_CHECKSUM] = _checksum(everything)
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **everything)
    return Path(path)


def load_trace(
    path: str | os.PathLike[str],
    kind: str,
    make: Callable[[dict[str, Any], dict[str, np.ndarray]], Trace],
    name: str = "trace",
    *,
    checked: bool = True,
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
        kept, found = arrays.pop(_CHECKSUM, None), _checksum(arrays)
        plain = json.loads(arrays.pop(name).tobytes())
        if (form := plain.pop("format")) not in (f"{_format(kind)}1", f"{_format(kind)}2"):
            raise ValueError("another format")
        if checked and form.endswith("2") and (kept is None or kept.tobytes() != found.tobytes()):
            raise ValueError("its content does not fit its checksum; checked=False loads it as it is")
        return make(plain, arrays)
    except Exception as error:  # a damaged zip raises any of a dozen types
        raise FileError(
            f"{str(path)!r} is not a trace that {kind}.save wrote, or it is damaged "
            f"({quoted(str(error), 200)}); save the trace again"
        ) from error


def _refuse_oversized(path: Path, name: str) -> None:
    """Refuse a file that would take far more memory than its own size, before any of it is read."""
    with zipfile.ZipFile(path) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    most = unpacked_limit(path.stat().st_size)
    if sum(sizes.values()) > most or sizes.get(f"{name}.npy", 0) > _MOST_JSON_BYTES:
        raise ValueError(f"it unpacks to {sum(sizes.values()) / 1e6:,.0f} MB, more than {most / 1e6:,.0f}")


def _format(kind: str) -> str:
    return f"viz_transformer.{kind}/"


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Return the SHA-256 of arrays, with their names, types and shapes."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)
