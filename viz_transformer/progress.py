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
#: What reading a file raises that another program wrote, or that is damaged.
UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
#: In files of learners whose teacher collects predictions.
_OF_A_CLASS = ("asked", "discussed", "shares_predictions")
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


def record_prediction(prediction: str, guess: Any, asked: dict[str, Any] | None = None) -> None:
    """Keep a prediction; a second one changes nothing, unless it says how the first, a sentence, holds.

    Args:
        prediction: its name, such as ``"3.p1"``.
        guess: what was predicted.
        asked: the question, as `class_predictions` shows it.
    """
    with one_at_a_time(FILE, _WAIT_S):
        everything = _read()
        kept = everything["predictions"].get(prediction)
        if kept is None or (isinstance(kept, dict) and kept.get("holds") is None):
            everything["predictions"][prediction] = guess
            if asked is not None:
                everything.setdefault("asked", {})[prediction] = asked
            _write(everything)


def record_discussed(prediction: str, guess: Any) -> None:
    """Keep the answer after a discussion; a second one changes nothing."""
    with one_at_a_time(FILE, _WAIT_S):
        everything = _read()
        if prediction not in everything.setdefault("discussed", {}):
            everything["discussed"][prediction] = guess
            _write(everything)


def share_predictions(agreed: bool) -> None:
    """Keep whether the learner agrees that the predictions are counted with those of the class."""
    with one_at_a_time(FILE, _WAIT_S):
        everything = _read()
        everything["shares_predictions"] = {"agreed": bool(agreed)}
        _write(everything)


def shares_predictions() -> bool:
    """Return whether the learner agrees that the predictions are counted with those of the class."""
    return _read().get("shares_predictions", {}).get("agreed") is True


def solved() -> set[str]:
    """Return the names of the exercises that were solved."""
    return {name for name, entry in _read()["exercises"].items() if entry["solved"]}


def prediction_of(prediction: str) -> Any:
    """Return a prediction, or None if none was made."""
    return _read()["predictions"].get(prediction)


def discussed(prediction: str) -> Any:
    """Return the answer after a discussion, or None if there was none."""
    return _read().get("discussed", {}).get(prediction)


def read_file(path: Path) -> dict[str, dict[str, Any]]:
    """Return what is kept in a learner's file; raise one of `UNREADABLE` if it is none."""
    return _known(json.loads(path.read_text(encoding="utf-8")))


def _known(found: Any) -> dict[str, dict[str, Any]]:
    tries = {
        str(name): {"solved": entry["solved"] is True, "tries": int(entry["tries"])}
        for name, entry in found["exercises"].items()
    }
    of_a_class = {name: dict(found[name]) for name in _OF_A_CLASS if name in found}
    known = {"exercises": tries, "predictions": dict(found["predictions"]), **of_a_class}
    return known if found.get("course") == _COURSE else _under_new_names(known)


def _read() -> dict[str, dict[str, Any]]:
    if _unwritten:
        return _unwritten
    path = Path(FILE)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = _known(found)
        if found.get("course") != _COURSE and not (earlier := path.with_name(EARLIER)).exists():
            with suppress(OSError):  # a folder that cannot be written to keeps its file anyway
                shutil.copyfile(path, earlier)
        return known
    except FileNotFoundError:
        pass
    except UNREADABLE:
        # Another program's file, or damaged: moved aside rather than overwritten.
        backup = path.with_name(f"progress.unreadable-{math.floor(path.stat().st_mtime)}.json")
        if not backup.exists():
            path.replace(backup)
    return {"exercises": {}, "predictions": {}}


def _under_new_names(known: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was kept of fourteen lessons under the names of thirteen."""
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
