"""Exercises of lesson 3: a stable softmax, the size of scores, saturation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, Number
from viz_transformer.experiments.saturation import softmax_jacobian


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def _naive(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def _of_the_table(scores: Tensor) -> Tensor:
    parts = (scores - scores.max()).exp()
    return parts / parts.sum()


def _of_the_columns(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(0)).exp()
    return parts / parts.sum(0)


def _sums_of_the_columns(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts / parts.sum(0)


def _sum_of_the_table(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts / parts.sum()


def _largest_of_all(scores: Tensor) -> Tensor:
    parts = (scores - scores.max()).exp()
    return parts / parts.sum(-1, keepdim=True)


def _largest_of_the_columns(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(0)).exp()
    return parts / parts.sum(-1, keepdim=True)


def _without_keepdim(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts / parts.sum(-1)


def _without_any_keepdim(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(-1)).exp()
    return parts / parts.sum(-1)


def _largest_without_keepdim(scores: Tensor) -> Tensor:
    parts = (scores - scores.amax(-1)).exp()
    return parts / parts.sum(-1, keepdim=True)


def _naive_without_keepdim(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1)


def _not_divided(scores: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp()


def _without_e(scores: Tensor) -> Tensor:
    return scores / scores.sum(-1, keepdim=True)


def _rows_of_scores(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a few rows, some of them a thousand higher than the others."""
    n_queries, n_keys = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    rows = rng.normal(size=(n_queries, n_keys)) * 2
    rows[0] += rng.choice([0, 1000, -1000])
    return (torch.from_numpy(rows.astype(np.float32)),)


def _slopes(weights: Tensor) -> Tensor:
    return softmax_jacobian(weights)


def _own_only(weights: Tensor) -> Tensor:
    return torch.diag(weights * (1 - weights))


def _only_products(weights: Tensor) -> Tensor:
    return -torch.outer(weights, weights)


def _with_plus(weights: Tensor) -> Tensor:
    return torch.diag(weights) + torch.outer(weights, weights)


def _square_taken_twice(weights: Tensor) -> Tensor:
    return torch.diag(weights * (1 - weights)) - torch.outer(weights, weights)


def _each_times_the_rest_of_the_other(weights: Tensor) -> Tensor:
    return torch.outer(weights, 1 - weights)


def _the_row_alone(weights: Tensor) -> Tensor:
    return weights * (1 - weights)


def _of_the_weights(weights: Tensor) -> Tensor:
    return softmax_jacobian(weights.softmax(-1))


def _row_of_weights(rng: np.random.Generator) -> tuple[Any, ...]:
    weights = rng.dirichlet(np.ones(int(rng.integers(2, 6))))
    return (torch.from_numpy(weights.astype(np.float32)),)


_NOT_TORCHS = "That is torch's own softmax. Write it yourself, with exp, amax and sum."

EXERCISES = (
    Exercise(
        "3.1",
        "Turn a step in the score into a factor",
        Number(
            math.exp(2),
            mistakes=(
                Mistake(2, "2 is the difference of the scores. Each step of 1 is a factor of e."),
                Mistake(
                    5 / 3,
                    "You divided the scores. Raise e to the power of each score first, then divide.",
                ),
                Mistake(
                    2 * math.e,
                    "You added two factors of e. Two steps multiply: e times e.",
                ),
                Mistake(math.e, "That is one step. From 3 to 5 there are two."),
                Mistake(math.exp(-2), "That is the second key compared with the first. Turn it round."),
                Mistake(
                    math.exp(5),
                    "That is e to the power of the first score. Divide it by e to the power of the other.",
                ),
            ),
            right="e² = 7.39, whatever the other scores in the row are.",
        ),
        hints=(
            "Set two scores to 5 and 3 in the first lab, and compare their weights.",
            "The two weights are e⁵ and e³, each divided by the same sum.",
        ),
    ),
    Exercise(
        "3.2",
        "Write a softmax that survives large scores",
        Function(
            _softmax,
            _rows_of_scores,
            mistakes=(
                Mistake(
                    _naive,
                    "Right for small scores. Near 1000 it gives nan: subtract the row's largest score first.",
                ),
                Mistake(
                    _of_the_table,
                    "The whole table adds up to 1. Each row must do so: sum along the last axis, -1.",
                ),
                Mistake(
                    _sum_of_the_table,
                    "You divide by the sum of the whole table. Each row needs its own sum: .sum(-1, ...).",
                ),
                Mistake(
                    _of_the_columns,
                    "Your columns add up to 1. The keys are along the last axis, -1.",
                ),
                Mistake(
                    _sums_of_the_columns,
                    "You divide by the sums of the columns. The sum of a row runs along the last axis, -1.",
                ),
                Mistake(
                    _largest_of_all,
                    "You subtract the largest score of the whole table. In a row far below it, every "
                    "exponential becomes 0. Each row needs its own largest.",
                ),
                Mistake(
                    _largest_of_the_columns,
                    "You subtract the largest score of each column. Take it along the last axis, -1.",
                ),
                Mistake(
                    _without_keepdim,
                    "The row sums have the shape [query], and torch lines them up with the columns. "
                    "sum(-1, keepdim=True) keeps them a column, [query, 1].",
                ),
                Mistake(
                    _largest_without_keepdim,
                    "The largest scores have the shape [query], and torch lines them up with the columns. "
                    "amax(-1, keepdim=True) keeps them a column, [query, 1].",
                ),
                Mistake(
                    _without_any_keepdim,
                    "The largest scores and the sums have the shape [query], and torch lines them up with "
                    "the columns. keepdim=True keeps both a column, [query, 1].",
                ),
                Mistake(
                    _naive_without_keepdim,
                    "Two things are missing: subtract each row's largest score first, and keep the sums "
                    "a column, [query, 1], with keepdim=True.",
                ),
                Mistake(
                    _not_divided,
                    "None is below 0 and none above 1, but the rows don't add up to 1 yet.",
                ),
                Mistake(
                    _without_e,
                    "You divided the scores by their sum. A score may be negative: use exp first.",
                ),
            ),
            right="Libraries do it this way too.",
            forbidden={
                "softmax": _NOT_TORCHS,
                "log_softmax": "That is torch's own log_softmax. Write the softmax with exp, amax and sum.",
            },
        ),
        hints=(
            "scores.amax(-1, keepdim=True) is the largest score of each row, as a column.",
            "Three steps: subtract, exp, divide by the sum of each row (again with keepdim=True).",
        ),
    ),
    Exercise(
        "3.3",
        "Find the usual size of a score",
        Number(
            16,
            mistakes=(
                Mistake(256, "That is the variance. The standard deviation is its square root."),
                Mistake(1, "That is what is left after the division by √d_k."),
                Mistake(8, "That is √64. Here d_k is 256."),
                Mistake(1 / 16, "That is what you multiply a score by to bring it back to size 1."),
                Mistake(128, "That is half of the variance. The standard deviation is its square root."),
            ),
            right="√256 = 16. So these scores are divided by 16.",
        ),
        hints=(
            "The variance of q·k is d_k.",
            "The standard deviation is the square root of the variance.",
        ),
    ),
    Exercise(
        "3.4",
        "Write the table of slopes",
        Function(
            _slopes,
            _row_of_weights,
            mistakes=(
                Mistake(
                    _own_only,
                    "The diagonal is right. But a push to one score moves the other weights too: off the "
                    "diagonal the entries are −w_i w_j.",
                ),
                Mistake(
                    _only_products,
                    "Off the diagonal it is right. On the diagonal the entries are w (1 − w).",
                ),
                Mistake(
                    _square_taken_twice,
                    "On the diagonal you subtract w·w twice: w (1 − w) has it already, and the outer product "
                    "brings it again.",
                ),
                Mistake(
                    _each_times_the_rest_of_the_other,
                    "The diagonal is right. Off the diagonal the entries are −w_i w_j, not w_i (1 − w_j).",
                ),
                Mistake(
                    _with_plus,
                    "One sign is wrong. What one weight gains, the others lose.",
                ),
                Mistake(
                    _the_row_alone,
                    "That is the diagonal alone, [key]. The exercise wants the whole table, [key, key].",
                ),
                Mistake(
                    _of_the_weights,
                    "You took the softmax of the weights. They have been through one already.",
                ),
            ),
            right="Every row and every column of it adds up to 0.",
        ),
        hints=(
            "torch.outer(a, b) is the table of all products a_i b_j.",
            "w (1 − w) is w − w·w. So the table is torch.diag(weights) minus all the products w_i w_j.",
        ),
    ),
    Exercise(
        "3.5",
        "Find out what a forgotten root does",
        Number(
            1 / 64,
            mistakes=(
                Mistake(1, "That is the variance after the division by √d_k, with the root."),
                Mistake(1 / 8, "That is the standard deviation. The variance is its square."),
                Mistake(64, "That is the variance before any division."),
                Mistake(8, "That is the standard deviation before any division."),
                Mistake(
                    1 / 64**2,
                    "You divided 1 by 64². Before the division the variance is 64, not 1.",
                ),
            ),
            right="0.0156: the scores are nearly equal, so at first every key gets nearly the same weight.",
        ),
        hints=(
            "Before the division the variance is 64.",
            "Dividing a number by 64 divides its variance by 64².",
        ),
    ),
)
