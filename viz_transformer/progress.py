"""A learner's progress, kept in ``progress.json`` beside the lessons and sent nowhere."""

from __future__ import annotations

import json
import math
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from viz_transformer._files import atomic_write, one_at_a_time
from viz_transformer._renamed import renamed
from viz_transformer.errors import FileError

#: In the working directory of a lesson's kernel, which is the lesson's folder.
FILE = "progress.json"
#: The file as it was when the course had fourteen lessons.
EARLIER = "progress.course-1.json"

#: How long a check waits for another lesson's kernel, which writes for milliseconds unless it was stopped.
_WAIT_S = 5.0
#: The progress if the folder cannot be written to; it then lasts as long as the kernel.
_unwritten: dict[str, dict[str, Any]] = {}
#: Under ``"course"`` in a file whose names are those of the thirteen lessons.
_COURSE = 2


def record_attempt(exercise: str, passed: bool) -> None:
    """Count an attempt at an exercise; once solved, it stays solved."""
    with one_at_a_time(FILE, _WAIT_S):  # two lessons have two kernels, and one file
        everything = _read()
        entry = everything["exercises"].setdefault(exercise, {"solved": False, "tries": 0})
        if not entry["solved"]:
            entry["tries"] += 1
            entry["solved"] = passed
            _write(everything)


def record_prediction(prediction: str, guess: Any) -> None:
    """Keep a prediction; a second one changes nothing, unless it says how the first, a sentence, holds."""
    with one_at_a_time(FILE, _WAIT_S):
        everything = _read()
        kept = everything["predictions"].get(prediction)
        if kept is None or (isinstance(kept, dict) and kept.get("holds") is None):
            everything["predictions"][prediction] = guess
            _write(everything)


def solved() -> set[str]:
    """Return the names of the exercises that were solved."""
    return {name for name, entry in _read()["exercises"].items() if entry["solved"]}


def prediction_of(prediction: str) -> Any:
    """Return a prediction, or None if none was made."""
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
        known = {"exercises": tries, "predictions": dict(found["predictions"])}
        return known if found.get("course") == _COURSE else _carried_over(known, path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # Another program's file, or damaged: moved aside rather than overwritten.
        backup = path.with_name(f"progress.unreadable-{math.floor(path.stat().st_mtime)}.json")
        if not backup.exists():
            path.replace(backup)
    return {"exercises": {}, "predictions": {}}


def _carried_over(known: dict[str, dict[str, Any]], path: Path) -> dict[str, dict[str, Any]]:
    """Return what was kept of fourteen lessons under today's names, and keep the file as it was, once."""
    earlier = path.with_name(EARLIER)
    if not earlier.exists():
        with suppress(OSError):  # a folder that cannot be written to keeps its file anyway
            shutil.copyfile(path, earlier)
    return {
        kind: {new: value for name, value in names.items() if (new := renamed(name))}
        for kind, names in known.items()
    }


def _write(everything: dict[str, dict[str, Any]]) -> None:
    try:
        with atomic_write(FILE) as part:
            part.write_text(json.dumps({"course": _COURSE, **everything}, indent=1) + "\n", encoding="utf-8")
    except FileError:
        _unwritten.update(everything)
