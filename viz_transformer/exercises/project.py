"""The report of the project: what was asked, measured with two seeds or more, and written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from viz_transformer.exercises.answer_types import Choice, CustomCheck, Exercise, Mistake
from viz_transformer.exercises.feedback import Check

_LEAST_WORDS, _MOST_WORDS = 150, 450
_FORM = 'Give a dictionary with "question", "losses", "without" and "page", as the text above describes.'
_QUESTION = "The question must be one sentence that ends with a question mark."
_SEEDS = (
    "The result of one seed may be chance. Give the validation losses of models from at least two "
    "seeds, as numbers."
)
_HEADS = (
    "For each seed, give a dictionary with the validation loss without each of at least two heads: one that "
    "your question is about, and one to compare with."
)
_PAGE = f"The page must have {_LEAST_WORDS} to {_MOST_WORDS} words."


def _is_loss(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _checked(report: Any) -> Check:
    if not isinstance(report, Mapping) or not {"question", "losses", "without", "page"} <= report.keys():
        return Check(False, _FORM)
    question, losses, without, page = (report[name] for name in ("question", "losses", "without", "page"))
    if not isinstance(question, str) or not question.strip().endswith("?"):
        return Check(False, _QUESTION)
    if not isinstance(losses, list | tuple) or len(losses) < 2 or not all(map(_is_loss, losses)):
        return Check(False, _SEEDS)
    if (
        not isinstance(without, list | tuple)
        or len(without) != len(losses)
        or not all(map(_are_heads, without))
    ):
        return Check(False, _HEADS)
    if not isinstance(page, str) or not _LEAST_WORDS <= len(page.split()) <= _MOST_WORDS:
        return Check(False, _PAGE)
    return Check(True, "Your report is complete. Now compare it with the rubric, line by line.")


def _are_heads(given: Any) -> bool:
    return isinstance(given, Mapping) and len(given) >= 2 and all(map(_is_loss, given.values()))


_RIGHT: dict[str, Any] = {
    "question": "Does the head with the sharpest weights matter most?",
    "losses": [0.31, 0.29],
    "without": [{"1·0": 0.52, "1·1": 0.33}, {"1·0": 0.30, "1·1": 0.47}],
    "page": "word " * 200,
}

EXERCISES = (
    Exercise(
        "project.1",
        "Hand in your report",
        CustomCheck(
            _checked,
            right_answer=_RIGHT,
            mistakes=(
                Mistake({"page": "word " * 200}, _FORM),
                Mistake({**_RIGHT, "question": "The sharpest head matters most."}, _QUESTION),
                Mistake({**_RIGHT, "losses": [0.31], "without": _RIGHT["without"][:1]}, _SEEDS),
                Mistake({**_RIGHT, "without": [{"1·0": 0.52}, {"1·0": 0.30}]}, _HEADS),
                Mistake({**_RIGHT, "page": "The head matters."}, _PAGE),
            ),
        ),
        hints=(
            "The worked example computes the losses without each head; change its model to yours.",
            "Collect one dictionary of losses for each seed, in the order of the seeds.",
        ),
        lines="""report = {
    "question": ___,
    "losses": ___,
    "without": ___,
    "page": page + ___,
}
""",
        gaps=(
            Choice(
                '"Which head matters more, 1·0 or 1·1?"',
                ('"Head 1·0 matters more than 1·1."', '"Which head matters more, 1·0 or 1·1?"'),
                (Mistake('"Head 1·0 matters more than 1·1."', _QUESTION),),
            ),
            Choice("[0.31, 0.29]", ("[0.31]", "[0.31, 0.29]"), (Mistake("[0.31]", _SEEDS),)),
            Choice(
                '[{"1·0": 0.52, "1·1": 0.33}, {"1·0": 0.30, "1·1": 0.47}]',
                (
                    '[{"1·0": 0.52}, {"1·0": 0.30}]',
                    '[{"1·0": 0.52, "1·1": 0.33}, {"1·0": 0.30, "1·1": 0.47}]',
                ),
                (Mistake('[{"1·0": 0.52}, {"1·0": 0.30}]', _HEADS),),
            ),
            Choice(
                '"In each seed another head matters more."',
                (
                    '"Head 1·0 matters more: without it the loss is 0.52."',
                    '"In each seed another head matters more."',
                    '"Neither head matters."',
                ),
                (
                    Mistake(
                        '"Head 1·0 matters more: without it the loss is 0.52."',
                        "That is true of the first seed alone. In the second, the loss without head 1·1 is "
                        "higher.",
                    ),
                    Mistake(
                        '"Neither head matters."',
                        "In each seed the loss rises by more than half without one of the two heads.",
                    ),
                ),
            ),
        ),
    ),
)
