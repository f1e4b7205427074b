"""Exercises of lesson 3: a softmax that does not overflow, and the division by √d_k."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, Number


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


def _weights_of(query: Tensor, keys: Tensor) -> Tensor:
    return (keys @ query / len(query) ** 0.5).softmax(-1)


def _query_and_keys(rng: np.random.Generator) -> tuple[Any, ...]:
    d_k, n_keys = int(rng.choice([3, 8, 16])), int(rng.choice([2, 4, 5]))
    query, keys = rng.normal(size=d_k), rng.normal(size=(n_keys, d_k))
    return torch.from_numpy(query.astype(np.float32)), torch.from_numpy(keys.astype(np.float32))


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
                Mistake(
                    math.exp(-2),
                    "That is the second key compared with the first. Compare the first with the second.",
                ),
                Mistake(
                    math.exp(5),
                    "That is e to the power of the first score. Divide it by e to the power of the other.",
                ),
            ),
            right="e² = 7.39, whatever the other scores in the row are.",
        ),
        hints=(
            "Set two scores of the view above to 5 and 3, and compare their weights.",
            "The two weights are e⁵ and e³, each divided by the same sum.",
        ),
    ),
    Exercise(
        "3.2",
        "Write a softmax that does not overflow",
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
                    "The whole table sums to 1. Each row must: sum along the last axis, -1.",
                ),
                Mistake(
                    _sum_of_the_table,
                    "You divide by the sum of the whole table. Each row needs its own sum: .sum(-1, ...).",
                ),
                Mistake(
                    _of_the_columns,
                    "Your columns sum to 1. The keys are along the last axis, -1.",
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
                    "The row sums have the shape [query], and torch aligns them with the columns. sum(-1, "
                    "keepdim=True) keeps them a column, [query, 1].",
                ),
                Mistake(
                    _largest_without_keepdim,
                    "The largest scores have the shape [query], and torch aligns them with the columns. "
                    "amax(-1, keepdim=True) keeps them a column, [query, 1].",
                ),
                Mistake(
                    _without_any_keepdim,
                    "The largest scores and the sums have the shape [query], and torch aligns them with "
                    "the columns. keepdim=True keeps both a column, [query, 1].",
                ),
                Mistake(
                    _naive_without_keepdim,
                    "Two things are missing: subtract each row's largest score first, and keep the sums "
                    "a column, [query, 1], with keepdim=True.",
                ),
                Mistake(
                    _not_divided,
                    "All are between 0 and 1, but the rows don't sum to 1 yet.",
                ),
                Mistake(
                    _without_e,
                    "You divided the scores by their sum. A score may be negative: use exp first.",
                ),
            ),
            right="Libraries compute it in the same way.",
            forbidden={
                "softmax": _NOT_TORCHS,
                "log_softmax": "That is torch's own log_softmax. Write the softmax with exp, amax and sum.",
            },
        ),
        part="softmax",
        hints=(
            "scores.amax(-1, keepdim=True) is the largest score of each row, as a column.",
            "Three steps: subtract, exp, divide by the sum of each row (again with keepdim=True).",
        ),
        lines="""def softmax(scores):
    largest = scores.amax(-1, keepdim=True)  # [..., 1]
    powers = (scores - largest).exp()
    return powers / powers.sum(-1, keepdim=True)""",
        wrong_lines=(
            Mistake(
                "    powers = scores.exp()",
                "Right for small scores. Near 1000 it gives nan: subtract the row's largest score first.",
            ),
            Mistake(
                "    return powers / powers.sum()",
                "You divide by the sum of the whole table. Each row needs its own sum.",
            ),
        ),
    ),
    Exercise(
        "3.3",
        "From a query and keys to weights",
        Function(
            _weights_of,
            _query_and_keys,
            mistakes=(
                Mistake(
                    lambda query, keys: (keys @ query).softmax(-1),
                    "The division is missing: divide the dot products by √d_k before the softmax.",
                ),
                Mistake(
                    lambda query, keys: (keys @ query / len(query)).softmax(-1),
                    "You divided by d_k. Divide by its square root: len(query) ** 0.5.",
                ),
                Mistake(
                    lambda query, keys: (keys @ query / len(keys) ** 0.5).softmax(-1),
                    "You divided by the root of the number of keys. d_k is the length of one vector: "
                    "query.shape[-1].",
                ),
                Mistake(
                    lambda query, keys: (keys @ query * len(query) ** 0.5).softmax(-1),
                    "You multiplied by √d_k. Divide by it.",
                ),
                Mistake(
                    lambda query, keys: (keys @ query).softmax(-1) / len(query) ** 0.5,
                    "You divided the weights, so they no longer sum to 1. Divide the scores, before the "
                    "softmax.",
                ),
                Mistake(
                    lambda query, keys: keys @ query / len(query) ** 0.5,
                    "These are the scaled scores. Apply softmax to turn them into weights.",
                ),
                Mistake(
                    lambda query, keys: (keys * query / len(query) ** 0.5).softmax(-1),
                    "keys * query multiplies number by number and does not add up: its shape is "
                    "[n_keys, d_k]. keys @ query gives one dot product for each key.",
                ),
            ),
            right="This is a row of attention weights. For the output of a head, only the values are "
            "missing.",
        ),
        hints=(
            "Three steps, in this order: scores = keys @ query, divide, softmax.",
            "d_k is query.shape[-1], and its square root is query.shape[-1] ** 0.5.",
        ),
        lines="""def weights_of(query, keys):
    scores = keys @ query  # [n_keys]
    scaled = scores / query.shape[-1] ** 0.5
    return softmax(scaled)""",
        wrong_lines=(
            Mistake(
                "    scaled = scores / query.shape[-1]", "You divided by d_k. Divide by its square root."
            ),
            Mistake(
                "    scores = keys * query  # [n_keys, d_k]",
                "keys * query multiplies number by number and does not add up. keys @ query does.",
            ),
        ),
    ),
)
