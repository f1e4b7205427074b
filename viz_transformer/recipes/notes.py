"""What a training writes beside its weights: how they were made, and the metrics of its evaluations."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from viz_transformer._files import atomic_write, given_path
from viz_transformer.errors import FileError

#: Says how the files beside it were made.
MADE_BY = "made_by.json"
#: A JSON line for each evaluation.
METRICS_LOG = "curve.jsonl"


@dataclass(frozen=True)
class Metrics:
    """What one evaluation during a training measured.

    Attributes:
        step: optimiser steps done.
        loss: the training loss of that step, in nats per token, label smoothing included.
        validation_loss: that of the averaged weights on the validation pairs, in nats per token,
            without label smoothing.
        minutes: since this call of the training began.
    """

    step: int
    loss: float
    validation_loss: float
    minutes: float


def read_metrics(folder: str | os.PathLike[str]) -> list[Metrics]:
    """Return the metrics of a training in order; none if it has no log.

    Raises:
        FileError: if its file is damaged.
    """
    path = given_path(folder) / METRICS_LOG
    if not path.exists():
        return []
    try:
        return [Metrics(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise FileError(
            f"{str(path)!r} is damaged ({error}); start the training again in another folder"
        ) from error


def write_metrics(folder: Path, metrics: Sequence[Metrics]) -> None:
    """Write the metrics so far, all or nothing."""
    with atomic_write(folder / METRICS_LOG) as part:
        part.write_text("".join(json.dumps(asdict(one)) + "\n" for one in metrics), "utf-8")


def provenance(settings: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Return the text of a ``made_by.json``.

    Args:
        settings: what the files were made from: the command, the training, numbers of pairs.
        results: what came of it, such as the last loss and the files' SHA-256.
    """
    return json.dumps({**settings, "torch": torch.__version__, **results}, indent=2) + "\n"


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return the contents of a folder's ``made_by.json``; empty if it has none that can be read."""
    try:
        read = json.loads((folder / MADE_BY).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
