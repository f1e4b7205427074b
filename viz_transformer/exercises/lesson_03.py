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
    return scores.softmax(0)


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


def _the_row_alone(weights: Tensor) -> Tensor:
    return weights * (1 - weights)


def _of_the_weights(weights: Tensor) -> Tensor:
    return softmax_jacobian(weights.softmax(-1))


def _row_of_weights(rng: np.random.Generator) -> tuple[Any, ...]:
    weights = rng.dirichlet(np.ones(int(rng.integers(2, 6))))
    return (torch.from_numpy(weights.astype(np.float32)),)


EXERCISES = (
    Exercise(
        "3.1",
        "A step in the score",
        Number(
            math.exp(2),
            mistakes=(
                Mistake(2, "2 is the difference of the scores. A step of 1 is a factor of e."),
                Mistake(
                    5 / 3,
                    "You divided the scores. Raise e to their power first, and divide then.",
                ),
                Mistake(
                    2 * math.e,
                    "Two steps are two factors of e, one after the other: not e + e.",
                ),
                Mistake(math.e, "That is the factor of one step. From 3 to 5 there are two."),
                Mistake(math.exp(-2), "That is the other way round: the second to the first."),
                Mistake(
                    math.exp(5),
                    "That is e to the power of the first score. The sum beneath both weights is "
                    "the same: divide one by the other.",
                ),
            ),
            right="e² = 7.39, whatever the other scores of the row are.",
        ),
        hints=(
            "Set two scores to 5 and 3 in the lab above, and compare their weights.",
            "The weights are e⁵ and e³, divided by the same sum.",
        ),
    ),
    Exercise(
        "3.2",
        "A softmax that survives",
        Function(
            _softmax,
            _rows_of_scores,
            mistakes=(
                Mistake(
                    _naive,
                    "Right for small scores. Near 1000 it gives nan: take the largest score of the "
                    "row away first.",
                ),
                Mistake(
                    _of_the_table,
                    "All the rows together add up to 1. Each row must do so alone: sum over the last axis.",
                ),
                Mistake(
                    _of_the_columns,
                    "Your columns add up to 1. The keys stand along the last axis, -1.",
                ),
                Mistake(
                    _largest_of_all,
                    "You take away the largest score of the whole table. A row far below it "
                    "becomes 0 divided by 0: each row needs its own largest.",
                ),
                Mistake(
                    _largest_of_the_columns,
                    "You take away the largest score of each column. Each row needs its own "
                    "largest: take it along the last axis, -1.",
                ),
                Mistake(
                    _without_keepdim,
                    "The sums of the rows lie down as a row, so each column is divided by another "
                    "row's sum, or the shapes do not fit. keepdim=True keeps them a column.",
                ),
                Mistake(
                    _without_any_keepdim,
                    "The largest scores and the sums lie down as a row, so they meet columns, or "
                    "the shapes do not fit. keepdim=True keeps both a column.",
                ),
                Mistake(
                    _not_divided,
                    "None is below 0 and none above 1, but the rows do not add up to 1 yet.",
                ),
                Mistake(
                    _without_e,
                    "You divided the scores by their sum. A score may be negative: raise e to its "
                    "power first.",
                ),
            ),
            right="This is how every library computes it.",
        ),
        hints=(
            "scores.amax(-1, keepdim=True) is the largest score of each row, as a column.",
            "Three lines: shift the scores, raise e to their power, divide by the sum of each row "
            "(keepdim=True there, too).",
        ),
    ),
    Exercise(
        "3.3",
        "The usual size of a score",
        Number(
            16,
            mistakes=(
                Mistake(256, "That is the variance. The standard deviation is its square root."),
                Mistake(1, "That is its size after the division by √d_k."),
                Mistake(8, "That is √64. Here d_k is 256."),
                Mistake(
                    1 / 16,
                    "That is what the scores are multiplied by to bring their size to 1.",
                ),
            ),
            right="√256 = 16, and so the scores are divided by 16.",
        ),
        hints=(
            "The variance of q·k is d_k.",
            "The standard deviation is the square root of the variance.",
        ),
    ),
    Exercise(
        "3.4",
        "The table of slopes",
        Function(
            _slopes,
            _row_of_weights,
            mistakes=(
                Mistake(
                    _own_only,
                    "The diagonal is right. But a push to one score moves the other weights, too: "
                    "off the diagonal stands −w_i w_j.",
                ),
                Mistake(
                    _only_products,
                    "Off the diagonal it is right. On the diagonal stands w (1 − w).",
                ),
                Mistake(
                    _with_plus,
                    "One sign is wrong: what one weight gains, the others lose.",
                ),
                Mistake(
                    _the_row_alone,
                    "These are the numbers of the diagonal. A table is asked for: [key, key].",
                ),
                Mistake(
                    _of_the_weights,
                    "You took a softmax of the weights. They have been through one already.",
                ),
            ),
            right="Every row and every column of it adds up to 0.",
        ),
        hints=(
            "torch.outer(a, b) is the table of all products a_i b_j.",
            "w (1 − w) is w − w·w. So the table is a diagonal of w, less all the products w_i w_j.",
        ),
    ),
    Exercise(
        "3.5",
        "The root forgotten",
        Number(
            1 / 64,
            mistakes=(
                Mistake(1, "That is the variance after the division by √d_k, with the root."),
                Mistake(
                    1 / 8,
                    "That is the standard deviation. The variance is its square.",
                ),
                Mistake(64, "That is the variance before any division."),
                Mistake(8, "That is the standard deviation before any division."),
                Mistake(
                    1 / 64**2,
                    "You divided 1 by 64². The variance is 64 before it is divided.",
                ),
            ),
            right="0.0156: the scores are nearly equal, every key gets nearly the same weight, and "
            "the head cannot choose.",
        ),
        hints=(
            "Before the division the variance is 64.",
            "Dividing a number by 64 divides its variance by 64².",
        ),
    ),
)
