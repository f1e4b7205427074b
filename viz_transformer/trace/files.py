"""Files of traces: one ``.npz`` of arrays and JSON, nothing pickled, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from viz_transformer._files import atomic_write
from viz_transformer.errors import FileError

Trace = TypeVar("Trace")


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
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {each: file[each] for each in file.files}
        plain = json.loads(arrays.pop(name).tobytes())
        if plain.pop("format") != _format(kind):
            raise ValueError("another format")
        return make(plain, arrays)
    except FileNotFoundError as error:
        raise FileError(f"no trace at {str(path)!r}; check the path") from error
    except Exception as error:  # a damaged zip raises any of a dozen types
        raise FileError(
            f"{str(path)!r} is not a trace that {kind}.save wrote, or it is damaged "
            f"({error}); save the trace again"
        ) from error


def _format(kind: str) -> str:
    return f"viz_transformer.{kind}/1"
