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
            "Without it, teacher can't learn whose book it is, and la maestra is the likeliest again.",
        )
    if given[0] not in list(KINDS) or given[1] not in (0, 1):
        return Check(False, _NO_SUCH)
    return Check(False, _WRONG_HEADS.get(given, _IDLE))


_NO_HEAD = 'Give the kind, the layer and the head, such as ("cross", 0, 3).'
_NO_SUCH = (
    "There is no such head: the kind is encoder, decoder or cross, then comes the layer, 0 or 1, "
    "and then the head, 0 to 3."
)
_IDLE = (
    "With this head off, the Spanish is still el profesor. The table in the lab lists the heads "
    "that matter most at its top: try those."
)
_WRONG_HEADS = {
    _ARTICLE: "This head matters, but the Spanish is still el profesor without it. Another matters more.",
    _SUREST: "Hardly any head is surer than this one, and without it the Spanish is still el profesor. "
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
        "Find the best error rate that a head can have",
        Number(
            1 - 2 * 10 / 21,
            mistakes=(
                Mistake(
                    0,
                    "Every link found is gold, but not every gold link was found: S has 11 links, "
                    "and A has 10.",
                ),
                Mistake(
                    1 / 11,
                    "That is the share of gold links that are missing. The error rate divides by the "
                    "found and the gold links together: put 10, 11 and 10 into the formula.",
                ),
                Mistake(
                    1 - 10 / 21,
                    "The formula counts the links in both twice: 2 · |A ∩ S|.",
                ),
                Mistake(
                    20 / 21,
                    "That is how much is right. The error rate is 1 minus that.",
                ),
            ),
            right="No head can do better here: it names only one English word for each Spanish one.",
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
                    "That is the token after. Rows are queries and columns are keys, so the token "
                    "before is one to the left of the diagonal.",
                ),
                Mistake(
                    _same,
                    "That is the token itself, on the diagonal. The token before is one to the left of it.",
                ),
                Mistake(
                    _first_counted,
                    "You divided by the number of all queries. The first has no token before it, so "
                    "the mean has one row fewer.",
                ),
                Mistake(
                    lambda weights: float(np.diagonal(weights, offset=-1).sum() / (len(weights) - 2)),
                    "You divided by one query too few: only the first is left out.",
                ),
                Mistake(
                    lambda weights: np.diagonal(weights, offset=-1),
                    "Those are the right weights, one for each query. Return their mean.",
                ),
                Mistake(_summed, "That is the sum over the queries. Return the mean."),
            ),
            right="label_heads measures this too, and then asks how well chance would have done.",
        ),
        hints=(
            "For query i the token before is key i − 1, so the weights wanted are weights[1, 0], "
            "weights[2, 1], weights[3, 2] and so on.",
            "They are on the diagonal just below the main one: look up the offset of np.diagonal.",
        ),
    ),
    Exercise(
        "12.3",
        "Find the head that carries the gender",
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
            "Is his in the lab's sentence? Its table lists the heads that change the loss most first.",
            "Click the first names of that table, one after the other, and read the first two "
            "Spanish words each time.",
        ),
    ),
    Exercise(
        "12.4",
        "Switch three heads off together",
        Number(
            lambda: _rise(_SPARED),
            mistakes=(
                Mistake(
                    lambda: sum(_rise((head,)) for head in _SPARED),
                    "You added up what each head does alone. Switch off all three in one "
                    "Interventions, with three HeadChanges in its list.",
                ),
                Mistake(
                    lambda: _rise((2,)),
                    "You switched off head 2. Switch off 0, 1 and 3, and leave head 2 on.",
                ),
                Mistake(
                    lambda: -_rise(_SPARED),
                    "The size is right, but the sign isn't: the loss is the mean of the negative "
                    "log-probabilities, and it rises.",
                ),
                Mistake(
                    lambda: _rise(_ALL),
                    "You switched off the whole layer. Leave head 2 on.",
                ),
                Mistake(
                    lambda: _loss(_SPARED, judge_own=True) - _loss(),
                    "Without target, the changed model is judged by the words that it writes now, "
                    "which it finds likely. Give log_probs the same target both times.",
                ),
            ),
            tolerance=2e-2,
            unit="nats per token",
            right="Over a hundred times what the three did alone: each was standing in for the others.",
        ),
        hints=(
            "Interventions takes a list: one HeadChange for each of the three heads.",
            "With the three off, compute the mean of −log_probs(cow, target, …) as `before` is "
            "computed above, and subtract `before`.",
        ),
    ),
    Exercise(
        "12.5",
        "Say what two trainings show",
        Choice(
            "A",
            ("A", "B", "C"),
            mistakes=(
                Mistake(
                    "B",
                    "Look at the last row. When the answer is read at it, hiding both nouns from it "
                    "costs most of the right answers. There the look is needed.",
                ),
                Mistake(
                    "C",
                    "Look at blind in the first row: with that look made impossible, the answers "
                    "are still right.",
                ),
            ),
            right="The pictures of the two look alike. What a look is worth depends on where the "
            "answer is read, and only the change showed it.",
        ),
        hints=(
            "Compare right and blind in the first row, then in the last.",
            "In which of the two rows does hiding the nouns from it cost answers?",
        ),
    ),
)
