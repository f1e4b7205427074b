"""What a training measured, look by look, in a file beside the checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from viz_transformer._files import written_whole
from viz_transformer.errors import FileError

CURVE = "curve.jsonl"


@dataclass(frozen=True)
class Look:
    """What was measured when the training was looked at.

    Attributes:
        step: optimiser steps done.
        loss: the training loss of that step, in nats a token, label smoothing included.
        validation_loss: that of the averaged weights on the validation pairs, in nats a token,
            without label smoothing.
        minutes: since this call of the training began.
    """

    step: int
    loss: float
    validation_loss: float
    minutes: float


def read_curve(folder: str | os.PathLike[str]) -> list[Look]:
    """Return what a training measured, look by look.

    Raises:
        FileError: if its file is damaged.
    """
    path = Path(folder) / CURVE
    if not path.exists():
        return []
    try:
        return [Look(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise FileError(
            f"{str(path)!r} is damaged ({error}); begin the training anew in another folder"
        ) from error


def write_curve(folder: Path, looks: Sequence[Look]) -> None:
    """Write what was measured so far, whole or not at all."""
    with written_whole(folder / CURVE) as part:
        part.write_text("".join(json.dumps(asdict(one)) + "\n" for one in looks), "utf-8")
