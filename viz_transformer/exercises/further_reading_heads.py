"""Exercises of the notebook that goes further on reading heads: an error rate, a previous-token head."""

from __future__ import annotations

import numpy as np

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, Number


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
        "reading_heads.1",
        "Find the lowest error rate that a head can have",
        Number(
            1 - 2 * 10 / 21,
            mistakes=(
                Mistake(
                    0,
                    "Every link found is gold, but not every gold link was found: S has 11 links, and A "
                    "has 10.",
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
                    "That is the share that is right. The error rate is 1 minus that.",
                ),
            ),
            right="No head can have a lower rate here, because it links only one English word to each "
            "Spanish one.",
        ),
        hints=(
            "A is what the head found, S is the gold. How many are in A, how many in S, and how "
            "many in both?",
            "A has 10, S has 11, and all of A is in S.",
        ),
    ),
    Exercise(
        "reading_heads.2",
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
            right="label_heads measures this too, and then compares it with chance.",
        ),
        hints=(
            "For query i the token before is key i − 1, so you need weights[1, 0], weights[2, 1], "
            "weights[3, 2] and so on.",
            "They are on the diagonal just below the main one: look up the offset of np.diagonal.",
        ),
    ),
)
