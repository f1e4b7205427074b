"""The steps of a tour as plain data, and the JSON file that holds them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viz_transformer._files import atomic_write, given_path
from viz_transformer.errors import FileError, UserError

#: One step: ``{"caption": str, "state": {trait: value}}``.
Step = dict[str, Any]

_VERSION = 1
_FIELDS = {"caption", "state"}


def plain_steps(given: Any) -> list[Step]:
    """Return any sequence of steps as a list of ``{"caption", "state"}``.

    Raises:
        UserError: if they are not of this form; the message names the step, counted from 1.
    """
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise UserError(
            f"a tour is a list of steps, not {type(given).__name__}; give "
            '[{"caption": "…", "state": {"layer": 0}}, …]'
        )
    steps = []
    for number, step in enumerate(given, start=1):
        if not isinstance(step, Mapping) or not set(step) <= _FIELDS or "state" not in step:
            raise UserError(
                f"step {number} of the tour is {_short(step)}; give "
                '{"caption": "…", "state": {"layer": 0}}'
            )
        caption, state = step.get("caption", ""), step["state"]
        if not isinstance(caption, str):
            raise UserError(f"step {number}: caption is {_short(caption)}; give a text")
        if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
            raise UserError(f"step {number}: state is {_short(state)}; give the view's traits by name")
        steps.append({"caption": caption, "state": dict(state)})
    return steps


def state_at(start: Mapping[str, Any], steps: Sequence[Step], step: int) -> dict[str, Any]:
    """Return the whole state at a step: that of the start, changed by every step up to it."""
    whole = dict(start)
    for each in steps[: step + 1]:
        whole |= each["state"]
    return whole


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def write_steps(path: str | os.PathLike[str], view: str, steps: Sequence[Step]) -> Path:
    """Write the steps of a tour through a view of this class, whole or not at all.

    Raises:
        FileError: if the file cannot be written.
    """
    tour = {"tour": _VERSION, "view": view, "steps": list(steps)}
    with atomic_write(path) as part:
        part.write_text(json.dumps(tour, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Path(path)


def read_steps(path: str | os.PathLike[str], view: str) -> list[Step]:
    """Return the steps that a file holds for a view of this class.

    Raises:
        FileError: if the file cannot be read or holds no tour.
        UserError: if it is a tour of another view, or a step is not of the right form.
    """
    name = repr(os.fspath(path))
    try:
        text = given_path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"cannot read the tour {name}: {reason}; tour.save(path) writes one") from error
    try:
        tour = json.loads(text)
    except ValueError as error:
        raise FileError(f"{name} holds no tour, for it is not JSON: {error}") from error
    if not isinstance(tour, dict) or not {"tour", "view", "steps"} <= set(tour):
        raise FileError(f"{name} holds no tour; tour.save(path) writes one")
    if tour["tour"] != _VERSION:
        raise FileError(
            f"{name} is a tour of version {_short(tour['tour'])}, and this viz_transformer reads "
            f"version {_VERSION}; install a newer one"
        )
    if tour["view"] != view:
        raise UserError(
            f"{name} is a tour of {_short(tour['view'])}, and the view given is {view}; give the "
            "view that it was made with"
        )
    return plain_steps(tour["steps"])
