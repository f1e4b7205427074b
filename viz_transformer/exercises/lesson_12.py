"""Exercises of lesson 12, Reading heads honestly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Choice, CustomCheck, Exercise, Function, Mistake, Number
from viz_transformer.exercises.feedback import Check
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.trace import KINDS
from viz_transformer.translator import Translator, load_translator

_COW = "the cow did not cross the street because it was too tired"
_ALL, _SPARED = (0, 1, 2, 3), (0, 1, 3)

_GENDER = ("encoder", 1, 1)
_ARTICLE = ("cross", 1, 2)
_SUREST = ("decoder", 0, 0)


@cache
def _translator() -> Translator:
    return load_translator()


@cache
def _loss(heads: tuple[int, ...] = (), *, judge_own: bool = False) -> float:
    """Return the loss with these heads of decoder layer 1 off, in nats per token."""
    translator = _translator()
    off = Interventions(heads=[HeadChange("decoder", 1, head, factor=0) for head in heads])
    target = None if judge_own else translator.translate(_COW).tokens
    return float(-translator.log_probs(_COW, target, off).mean())


def _rise(heads: tuple[int, ...]) -> float:
    return _loss(heads) - _loss()


def _head_of_gender(answer: Any) -> Check:
    try:
        kind, layer, head = answer
        given = (str(kind), int(layer), int(head))
    except (TypeError, ValueError):
        return Check(False, _NO_HEAD)
    if given == _GENDER:
        return Check(
            True,
            "Without it teacher cannot ask whose book it is, and la maestra is the likeliest again.",
        )
    if given[0] not in list(KINDS) or given[1] not in (0, 1):
        return Check(False, _NO_SUCH)
    return Check(False, _WRONG_HEADS.get(given, _IDLE))


_NO_HEAD = 'Give the kind, the layer and the head, such as ("cross", 0, 3).'
_NO_SUCH = (
    "There is no such head: the kind is encoder, decoder or cross, the layer is 0 or 1, and the "
    "layer comes before the head."
)
_IDLE = (
    "With this head off he stays a man. Go by what the heads are worth: the table in the lab has "
    "those that matter at its top."
)
_WRONG_HEADS = {
    _ARTICLE: "This head matters, but el profesor stays without it. Another head matters more.",
    _SUREST: "Hardly any head looks more surely than this one, and el profesor stays without it. "
    "Go by the loss, not by the picture.",
}


def _before(weights: np.ndarray) -> float:
    return float(np.diagonal(weights, offset=-1).mean())


def _after(weights: np.ndarray) -> float:
    return float(np.diagonal(weights, offset=1).mean())


def _same(weights: np.ndarray) -> float:
    return float(np.diagonal(weights).mean())


def _first_counted(weights: np.ndarray) -> float:
    return float(np.diagonal(weights, offset=-1).sum() / len(weights))


def _summed(weights: np.ndarray) -> float:
    return float(np.diagonal(weights, offset=-1).sum())


def _a_head(rng: np.random.Generator) -> tuple[np.ndarray]:
    n = int(rng.integers(3, 9))
    return (rng.dirichlet(np.ones(n), size=n),)  # [query, key]


EXERCISES = (
    Exercise(
        "12.1",
        "The best error rate that a head can have",
        Number(
            1 - 2 * 10 / 21,
            mistakes=(
                Mistake(
                    0,
                    "Every link that was found is gold, but not every gold link was found: S has "
                    "11 links, and A has 10.",
                ),
                Mistake(
                    1 / 11,
                    "That is the share of gold links that are missing. The error rate counts the "
                    "found and the gold links together: put 10, 11 and 10 into the formula.",
                ),
                Mistake(
                    1 - 10 / 21,
                    "The links in both are counted twice in the formula, once for each side.",
                ),
                Mistake(
                    20 / 21,
                    "That is how much is right. The error rate is what is left up to 1.",
                ),
            ),
            right="No head can do better here: it names one English word for each Spanish one.",
        ),
        hints=(
            "A is what the head found, S is the gold. How many are in A, how many in S, and how "
            "many in both?",
            "A has 10, S has 11, and all of A is in S.",
        ),
    ),
    Exercise(
        "12.2",
        "Measure a previous-token head",
        Function(
            _before,
            _a_head,
            mistakes=(
                Mistake(
                    _after,
                    "That is the token after: the key stands one place behind the query. Rows are "
                    "queries, columns are keys.",
                ),
                Mistake(
                    _same,
                    "That is the token itself, the diagonal. The token before stands one place to "
                    "the left of it.",
                ),
                Mistake(
                    _first_counted,
                    "You divided by the number of all queries. The first has no token before it: "
                    "there is one row fewer in the mean.",
                ),
                Mistake(_summed, "That is the sum over the queries. The mean is asked for."),
            ),
            right="label_heads measures this too, and then asks how far chance would have come.",
        ),
        hints=(
            "For query i the token before is key i − 1, so the weights wanted are weights[1, 0], "
            "weights[2, 1], weights[3, 2] and so on.",
            "These stand on the diagonal below the main one; look up the offset of np.diagonal.",
        ),
    ),
    Exercise(
        "12.3",
        "The head that carries the gender",
        CustomCheck(
            _head_of_gender,
            right_answer=_GENDER,
            mistakes=(
                *(Mistake(answer, message) for answer, message in _WRONG_HEADS.items()),
                Mistake(("cross", 1, 0), _IDLE),
                Mistake(("encoder", 3, 1), _NO_SUCH),
                Mistake("encoder", _NO_HEAD),
            ),
        ),
        hints=(
            "Is his in the lab's sentence? In its table, the heads that change the loss most stand first.",
            "Click the first names of that table, one after the other, and read the first two "
            "Spanish words each time.",
        ),
    ),
    Exercise(
        "12.4",
        "Three heads that can be spared, together",
        Number(
            lambda: _rise(_SPARED),
            mistakes=(
                Mistake(
                    lambda: sum(_rise((head,)) for head in _SPARED),
                    "You added up what each head does alone. Switch them off in one Interventions, "
                    "with three HeadChange in its list.",
                ),
                Mistake(
                    lambda: -_rise(_SPARED),
                    "The number is right and the sign is not: the loss is the mean of the negative "
                    "log-probabilities, and it rises.",
                ),
                Mistake(
                    lambda: _rise(_ALL),
                    "You switched off the whole layer. Head 2 stays on.",
                ),
                Mistake(
                    lambda: _loss(_SPARED, judge_own=True) - _loss(),
                    "Without target the changed model is judged by the words that it writes now, "
                    "and these it finds likely. Give log_probs the same target both times.",
                ),
            ),
            tolerance=2e-2,
            unit="nats per token",
            right="Over a hundred times what the three did alone: each had stood in for the others.",
        ),
        hints=(
            "Interventions takes a list: one HeadChange for each of the three heads.",
            "With the three off, compute the mean of −log_probs(cow, target, …) as `before` is "
            "computed above, and subtract `before`.",
        ),
    ),
    Exercise(
        "12.5",
        "What two trainings show",
        Choice(
            "A",
            ("A", "B", "C"),
            mistakes=(
                Mistake(
                    "B",
                    "Look at the last row: read at it, and with both nouns hidden from it, most of "
                    "the right answers are gone. There the look is needed.",
                ),
                Mistake(
                    "C",
                    "Look at the first row, at blind: with that look made impossible, the answers "
                    "stay right.",
                ),
            ),
            right="The pictures of the two look alike. What is read from where decides what a "
            "look is worth, and only the change showed it.",
        ),
        hints=(
            "Compare right and blind in the first row, and then in the last.",
            "In which of the two rows does hiding the nouns from it cost answers?",
        ),
    ),
)
