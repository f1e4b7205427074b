"""The log of a training's metrics, a JSON line for each evaluation, beside the checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from viz_transformer._files import atomic_write, given_path
from viz_transformer.errors import FileError

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
