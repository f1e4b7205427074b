"""What a learner has done, kept in ``progress.json`` beside the lessons; it goes nowhere else."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from viz_transformer._files import written_whole
from viz_transformer.errors import FileError

#: In the folder that a lesson runs in, which is where the lesson stands.
FILE = "progress.json"

#: Where the folder cannot be written to, it is remembered as long as the kernel lives.
_unwritten: dict[str, dict[str, Any]] = {}


def remember_try(exercise: str, passed: bool) -> None:
    """Count a try at an exercise; once solved, it stays solved."""
    all_kept = _read()
    entry = all_kept["exercises"].setdefault(exercise, {"solved": False, "tries": 0})
    if not entry["solved"]:
        entry["tries"] += 1
        entry["solved"] = passed
        _write(all_kept)


def remember_guess(prediction: str, guess: Any) -> None:
    """Keep what was predicted; a second guess changes nothing."""
    all_kept = _read()
    if prediction not in all_kept["predictions"]:
        all_kept["predictions"][prediction] = guess
        _write(all_kept)


def solved() -> set[str]:
    """Return the names of the exercises that were solved."""
    return {name for name, entry in _read()["exercises"].items() if entry["solved"]}


def guess_of(prediction: str) -> Any:
    """Return what was predicted, or None."""
    return _read()["predictions"].get(prediction)


def _read() -> dict[str, dict[str, Any]]:
    if _unwritten:
        return _unwritten
    path = Path(FILE)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        tries = {
            str(name): {"solved": entry["solved"] is True, "tries": int(entry["tries"])}
            for name, entry in found["exercises"].items()
        }
        return {"exercises": tries, "predictions": dict(found["predictions"])}
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Not ours, or damaged: it is set aside, not written over.
        aside = path.with_name(f"progress.unreadable-{math.floor(path.stat().st_mtime)}.json")
        if not aside.exists():
            path.replace(aside)
    return {"exercises": {}, "predictions": {}}


def _write(all_kept: dict[str, dict[str, Any]]) -> None:
    try:
        with written_whole(FILE) as part:
            part.write_text(json.dumps(all_kept, indent=1) + "\n", encoding="utf-8")
    except FileError:
        _unwritten.update(all_kept)
