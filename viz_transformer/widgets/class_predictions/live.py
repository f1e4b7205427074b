"""The predictions of a class, counted from its learners' files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from viz_transformer import progress
from viz_transformer._files import given_path
from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.class_predictions.view import ClassPredictions

_MOST_BARS = 8
_MOST_BYTES = 2**22  # of one learner's file
_LONGEST = 400  # characters of a question or an answer


class Sharing:
    """What `share_predictions` has written, as a sentence."""

    def __init__(self, agreed: bool) -> None:
        """Say what is agreed."""
        self.agreed = agreed

    def __repr__(self) -> str:
        """Return what happens with the predictions from now on."""
        if not self.agreed:
            return "Your predictions are not counted with those of your class."
        return (
            "Your predictions in progress.json may be counted with those of your class, without your "
            "name. They stay in that file, which your teacher reads. vt.share_predictions(False) "
            "withdraws this."
        )


def share_predictions(agreed: bool = True) -> Sharing:
    """Agree, or no longer agree, that your predictions are counted with those of your class.

    It is written into ``progress.json`` beside the lessons, and sent nowhere. Predictions can then be
    answered once more, after a discussion.

    >>> import viz_transformer as vt
    >>> vt.share_predictions(False)
    Your predictions are not counted with those of your class.

    Args:
        agreed: False takes it back.
    """
    progress.share_predictions(agreed)
    return Sharing(agreed)


def class_predictions(folder: Any) -> ClassPredictions:
    """Show how many of a class gave each answer to its predictions, before and after a discussion.

    Only files whose learners have agreed are counted (`share_predictions`); the view shows how many were left
    out. No name is read.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import viz_transformer as vt
    >>> asked = {"question": "How many heads?", "kind": "number", "options": [], "truth": 24}
    >>> folder = Path(tempfile.mkdtemp())
    >>> for learner, guess in enumerate([8, 8, 12, 16, 24, 24, 24, 24, 48]):
    ...     kept = {"exercises": {}, "predictions": {"1.p1": guess}, "asked": {"1.p1": asked}}
    ...     text = json.dumps({**kept, "shares_predictions": {"agreed": True}})
    ...     n_bytes = (folder / f"progress-{learner}.json").write_text(text)
    >>> view = vt.class_predictions(folder)

    Args:
        folder: where the learners' files are, at any depth: those named ``progress.json``, or collected by
            hand under names such as ``progress-12.json``.

    Raises:
        UserError: if there is no such folder, or no file in it with a prediction that may be counted.
    """
    where = given_path(folder)
    if not where.is_dir():
        raise UserError(
            f"{str(where)!r} is not a folder; give the one with the learners' progress.json files"
        )
    learners: list[dict[str, dict[str, Any]]] = []
    n_left_out = n_unreadable = 0
    for path in sorted(where.rglob("*progress*.json")):
        if path.name.startswith("progress.") and path.name != progress.FILE:
            continue  # set aside beside the learner's own
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError("too large")
            found = progress.read_file(path)
        except progress.UNREADABLE:
            n_unreadable += 1
            continue
        if found.get("shares_predictions", {}).get("agreed") is True:
            learners.append(found)
        else:
            n_left_out += 1
    counts = list(_counts(learners))
    if not counts:
        raise UserError(
            f"there are no predictions to count below {str(where)!r}: {len(learners)} learners agreed, "
            f"{n_left_out} did not, and {n_unreadable} files cannot be read; vt.share_predictions() agrees"
        )
    return ClassPredictions(counts, len(learners), n_left_out, n_unreadable)


def _counts(learners: Sequence[Mapping[str, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield, of each prediction in the order of the lessons, how often each answer was given."""
    asked: dict[str, dict[str, Any]] = {}
    for learner in learners:
        for name, about in learner.get("asked", {}).items():
            if _is_question(about):
                asked.setdefault(name, about)
    for name in sorted(asked, key=_place):
        about = asked[name]
        given = [
            [learner.get(when, {}).get(name) for learner in learners] for when in ("predictions", "discussed")
        ]
        answers, counts, right = _histogram(about, given)
        if answers and any(map(sum, counts)):
            cut = sendable([text[:_LONGEST] for text in (name, about["question"], *answers)])
            yield {
                "name": cut[0],
                "question": cut[1],
                "options": cut[2:],
                "first": counts[0],
                "after": counts[1],
                "right": right,
            }


def _is_question(about: Any) -> bool:
    return (
        isinstance(about, dict)
        and isinstance(about.get("question"), str)
        and about.get("kind") in ("number", "choice", "row", "key")
        and isinstance(about.get("options"), list)
        and all(isinstance(each, str) for each in about["options"])
    )


def _place(name: str) -> tuple[int, str]:
    """Order predictions by their lesson; those of no numbered lesson come last."""
    lesson = name.partition(".")[0]
    return (int(lesson) if lesson.isascii() and lesson.isdigit() else 999, name)


def _histogram(
    about: Mapping[str, Any], given: Sequence[Sequence[Any]]
) -> tuple[list[str], list[list[int]], int | None]:
    """Return the answers, how often each was given at first and later, and the place of the right one."""
    if about["kind"] == "number":
        return _of_numbers(about.get("truth"), given)
    options = about["options"]
    places = [[_chosen(about["kind"], options, each) for each in row] for row in given]
    counts = [[row.count(at) for at in range(len(options))] for row in places]
    truth = about.get("truth")
    return options, counts, _chosen("choice" if isinstance(truth, str) else "row", options, truth)


def _chosen(kind: str, options: Sequence[str], answer: Any) -> int | None:
    """Return the place of an answer; of a row of weights, that of the largest."""
    if kind == "choice":
        return options.index(answer) if answer in options else None
    if kind == "row":
        numbers = [_number(each) for each in answer] if isinstance(answer, list) else []
        known = [each for each in numbers if each is not None]
        return known.index(max(known)) if len(known) == len(options) > 0 else None
    return answer if isinstance(answer, int) and 0 <= answer < len(options) else None


def _number(value: Any) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if is_one and math.isfinite(value) else None


def _of_numbers(truth: Any, given: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[int]], int | None]:
    """Return the numbers that were given, or, if they are many, ranges of them."""
    rows = [[number for each in row if (number := _number(each)) is not None] for row in given]
    right = _number(truth)
    values = sorted({*rows[0], *rows[1], *([] if right is None else [right])})
    if len(values) <= _MOST_BARS:
        counts = [[row.count(value) for value in values] for row in rows]
        return [short_number(each) for each in values], counts, None if right is None else values.index(right)
    edges = np.linspace(values[0], values[-1], _MOST_BARS + 1)
    counts = [np.histogram(row, edges)[0].tolist() for row in rows]
    names = [f"{low} to {high}" for low, high in pairwise(short_number(edge, 3) for edge in edges)]
    at = None if right is None else min(int(np.searchsorted(edges, right, "right")) - 1, _MOST_BARS - 1)
    return names, counts, at
