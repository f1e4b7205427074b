"""Exercises as plain data, from which a page without Python asks and checks."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import (
    Array,
    Choice,
    CustomCheck,
    Exercise,
    Number,
    evaluate,
)
from viz_transformer.exercises.code_lines import lines_of
from viz_transformer.exercises.comparison import as_array, format_value
from viz_transformer.exercises.repairs import repair_of

#: Arrays of more numbers than this are for programs; nobody types them.
_TYPED_BY_HAND = 40


def form_of(exercise: Exercise, *, in_view: bool = False) -> dict[str, Any] | None:
    """Return what a page needs in order to ask an exercise and to check it as `Exercise.check` does.

    None if a page cannot: what is chosen in a view needs the view, and an array of many numbers is too long
    to type.

    Args:
        exercise: the exercise.
        in_view: whether there is a view that its answer is chosen in.

    Returns:
        ``name``, ``title``, ``hints`` and ``kind``: ``"number"``, ``"row"`` (of numbers), ``"table"`` (of
        numbers or truth values), ``"choice"``, ``"view"`` for a choice made in a view, ``"lines"`` for
        code to put in order (see `lines_of`), ``"gaps"`` for code with gaps, each a choice, or
        ``"repair"`` for code with faults (see `repair_of`). The first four have ``value``, ``right``
        (feedback on it) and ``mistakes``, ``[[answer, message], …]``; numbers and arrays a ``tolerance``.
        An array is ``{"shape": …, "data": …}``. ``"view"`` has ``traits``, the names of what is chosen,
        and ``checks``, ``[[values, passed, message], …]``.
    """
    wanted, right = exercise.wanted, getattr(exercise.wanted, "right", "")
    if in_view and isinstance(wanted, CustomCheck):
        asked = _choices_in_view(wanted)
    elif isinstance(wanted, Number):
        asked = _number(wanted)
    elif isinstance(wanted, Choice):
        asked = _choice(wanted)
    elif isinstance(wanted, Array) and as_array(evaluate(wanted.value)).size <= _TYPED_BY_HAND:
        asked = _array(wanted)
    elif exercise.gaps:
        asked = {
            "kind": "gaps",
            "code": exercise.lines,
            "gaps": [*map(_choice, exercise.gaps)],
            "right": right,
        }
    elif exercise.repairs:
        asked = {"kind": "repair", **repair_of(exercise)}
    elif lines := lines_of(exercise):
        asked = {"kind": "lines", **lines, "right": right}
    else:
        return None
    return {"name": exercise.name, "title": exercise.title, "hints": list(exercise.hints), **asked}


def _number(wanted: Number) -> dict[str, Any]:
    value = float(evaluate(wanted.value))
    return {
        "kind": "number",
        "unit": wanted.unit,
        "tolerance": wanted.tolerance,
        "value": value,
        "right": wanted.right or f"{format_value(value)} {wanted.unit}".strip() + ".",
        "mistakes": [[float(evaluate(each.answer)), each.message] for each in wanted.mistakes],
    }


def _choice(wanted: Choice) -> dict[str, Any]:
    return {
        "kind": "choice",
        "options": list(wanted.options),
        "value": wanted.value,
        "right": wanted.right,
        "mistakes": [[each.answer, each.message] for each in wanted.mistakes],
    }


def _choices_in_view(wanted: CustomCheck) -> dict[str, Any]:
    names = list(wanted.choices)
    checks = []
    for values in product(*wanted.choices.values()):
        found = wanted.judge(SimpleNamespace(**dict(zip(names, values, strict=True))))
        checks.append([list(values), found.passed, found.message])
    return {"kind": "view", "traits": names, "checks": checks}


def _array(wanted: Array) -> dict[str, Any]:
    value = as_array(evaluate(wanted.value))
    mistakes = [(as_array(evaluate(each.answer)), each.message) for each in wanted.mistakes]
    arrays = [value, *(each for each, _ in mistakes)]
    is_row = value.ndim == 1 and value.dtype.kind != "b"
    return {
        "kind": "row" if is_row else "table",
        # How many numbers there are may be the question: room for the longest of the mistakes.
        "n_fields": max(each.size for each in arrays if each.ndim == value.ndim) if is_row else value.size,
        "tolerance": wanted.tolerance,
        "value": _plain(value),
        "right": wanted.right,
        "mistakes": [[_plain(each), message] for each, message in mistakes],
    }


def _plain(array: np.ndarray) -> dict[str, Any]:
    return {"shape": list(array.shape), "data": array.ravel().tolist()}
