"""Exercises of Going further, Scoring: variance, the Jacobian of a softmax, additive scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number
from viz_transformer.experiments.saturation import softmax_jacobian


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


def _normal(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.normal(size=shape))


def _pairs(rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    n_q, n_k, d_a = (int(size) for size in rng.integers(2, 7, size=3))
    return _normal(rng, n_q, d_a), _normal(rng, n_k, d_a), _normal(rng, d_a)


def _additive(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(queries[:, None] + keys) @ v


_ADDITIVE_MISTAKES = (
    Mistake(
        lambda queries, keys, v: torch.tanh(queries + keys) @ v,
        "queries + keys pairs them row by row. Give queries and keys one new axis each, so that each "
        "query is added to each key.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries + keys[:, None]) @ v,
        "Your rows are the keys, [n_k, n_q]. Return [n_q, n_k]: a row for each query.",
    ),
    Mistake(
        lambda queries, keys, v: (queries[:, None] + keys) @ v,
        "The tanh is missing. Without it, a key's part of the score is the same for every query.",
    ),
    Mistake(
        lambda queries, keys, v: (queries[:, None].tanh() + keys.tanh()) @ v,
        "You took tanh of queries and keys separately. Add them first, then take tanh of the sum.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries[:, None] * keys) @ v,
        "You multiplied queries and keys. Additive scoring adds them.",
    ),
    Mistake(
        lambda queries, keys, v: _additive(queries, keys, v).softmax(-1),
        "Those are the weights. Return the scores, before the softmax.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh((queries[:, None] + keys) @ v),
        "tanh comes before v: apply it to each of the d_a numbers, not to the score.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries[:, None] + keys).sum(-1),
        "You added the d_a numbers without their weights. Use @ v instead.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries[:, None] + keys),
        "Those are the vectors of all pairs, [n_q, n_k, d_a]. Use @ v to get one score a pair.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries[:, None] + keys) * v,
        "* v weighs the d_a numbers but doesn't add them up: you still have [n_q, n_k, d_a]. Use @ v.",
    ),
    Mistake(
        lambda queries, keys, v: queries @ keys.T,
        "That is the dot product, another way of scoring.",
    ),
)

EXERCISES = (
    Exercise(
        "scoring.1",
        "Find the standard deviation of a score",
        Number(
            16,
            mistakes=(
                Mistake(256, "That is the variance. The standard deviation is its square root."),
                Mistake(1, "That is the standard deviation after the division by √d_k."),
                Mistake(8, "That is √64. Here d_k is 256."),
                Mistake(1 / 16, "That is the factor that makes the standard deviation 1."),
                Mistake(128, "That is half of the variance. The standard deviation is its square root."),
            ),
            right="√256 = 16, so these scores are divided by 16.",
        ),
        hints=(
            "The variance of q·k is d_k.",
            "The standard deviation is the square root of the variance.",
        ),
    ),
    Exercise(
        "scoring.2",
        "Write the Jacobian of a softmax",
        Function(
            _slopes,
            _row_of_weights,
            mistakes=(
                Mistake(
                    _own_only,
                    "The diagonal is right. But a change of one score changes the other weights too: off "
                    "the diagonal the entries are −w_i w_j.",
                ),
                Mistake(
                    _only_products,
                    "Off the diagonal it is right. On the diagonal the entries are w (1 − w).",
                ),
                Mistake(
                    _square_taken_twice,
                    "On the diagonal you subtract w·w twice: w (1 − w) has it already, and the outer "
                    "product subtracts it again.",
                ),
                Mistake(
                    _each_times_the_rest_of_the_other,
                    "The diagonal is right. Off the diagonal the entries are −w_i w_j, not w_i (1 − w_j).",
                ),
                Mistake(
                    _with_plus,
                    "One sign is wrong. If one weight rises, the others fall.",
                ),
                Mistake(
                    _the_row_alone,
                    "That is the diagonal alone, [key]. Return the whole table, [key, key].",
                ),
                Mistake(
                    _of_the_weights,
                    "You took the softmax of the weights, which are already the result of one.",
                ),
            ),
            right="Every row and every column of it sums to 0.",
        ),
        hints=(
            "torch.outer(a, b) is the table of all products a_i b_j.",
            "w (1 − w) is w − w·w. So the table is torch.diag(weights) minus all the products w_i w_j.",
        ),
        lines="""def slopes(weights):
    own = ___
    products = torch.outer(weights, weights)
    return own ___ products
""",
        gaps=(
            Choice(
                "torch.diag(weights)",
                ("weights", "torch.diag(weights)", "torch.diag(weights * (1 - weights))"),
                (
                    Mistake(
                        "weights",
                        "A row is added to every row of the table. Which function puts it on the diagonal?",
                    ),
                    Mistake(
                        "torch.diag(weights * (1 - weights))",
                        "On the diagonal w·w would be subtracted twice: w (1 − w) has it already, and the "
                        "outer "
                        "product brings it again.",
                    ),
                ),
            ),
            Choice(
                "-",
                ("+", "-", "*"),
                (
                    Mistake("+", "One sign is wrong. What one weight gains, the others lose."),
                    Mistake(
                        "*", "This leaves only the diagonal. A push to one score moves the other weights too."
                    ),
                ),
            ),
        ),
    ),
    Exercise(
        "scoring.3",
        "Find the variance without the root",
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
    Exercise(
        "scoring.4",
        "Count the numbers in additive scoring",
        Number(
            100 * 100 * 64,
            mistakes=(
                Mistake(
                    100 * 100,
                    "That is the number of pairs, and of scores. Each pair has a vector of 64 numbers first.",
                ),
                Mistake(
                    100 * 64,
                    "That is one vector for each token. You need one for each pair of a query and a key.",
                ),
                Mistake(
                    2 * 100 * 64,
                    "That counts all queries and keys. They are added in pairs: how many pairs are there?",
                ),
                Mistake(
                    2 * 100 * 100 * 64,
                    "W_q q and W_k k are added before tanh, so each pair has 64 numbers, not 128.",
                ),
                Mistake(
                    100 * 99 * 64,
                    "A token also attends to itself, so each of the 100 is paired with all 100.",
                ),
            ),
            tolerance=1e-3,
            right="640,000 numbers for 10,000 scores. The dot product needs no vector for each pair.",
        ),
        hints=(
            "How many pairs of a query and a key are there, with 100 of each?",
            "Each pair has a vector W_q q + W_k k of 64 numbers.",
        ),
    ),
    Exercise(
        "scoring.5",
        "Score every query with every key",
        Function(
            _additive,
            _pairs,
            mistakes=_ADDITIVE_MISTAKES,
            right="It was checked with different numbers of queries and keys, so that broadcasting cannot "
            "hide a mistake.",
        ),
        hints=(
            "The sums need the shape [n_q, n_k, d_a]. torch repeats an axis of length 1 to fit, and None "
            "makes a new one.",
            "queries[:, None] has the shape [n_q, 1, d_a]. Added to keys, each query is paired with each "
            "key.",
        ),
        lines="""def additive_scores(queries, keys, v):
    pairs = ___
    return ___ @ v
""",
        gaps=(
            Choice(
                "queries[:, None] + keys",
                (
                    "queries + keys",
                    "queries[:, None] + keys",
                    "queries + keys[:, None]",
                    "queries[:, None] * keys",
                ),
                (
                    Mistake(
                        "queries + keys",
                        "That is the trap: it pairs queries and keys row by row. Give one of them an axis "
                        "of its "
                        "own, so that each query meets each key.",
                    ),
                    Mistake(
                        "queries + keys[:, None]", "The rows would be keys, [n_k, n_q]: they must be queries."
                    ),
                    Mistake("queries[:, None] * keys", "Additive scoring adds queries and keys."),
                ),
            ),
            Choice(
                "torch.tanh(pairs)",
                ("pairs", "torch.tanh(pairs)", "pairs.softmax(-1)"),
                (
                    Mistake(
                        "pairs",
                        "There is no tanh. Without it, a key's part of the score is the same for every "
                        "query.",
                    ),
                    Mistake(
                        "pairs.softmax(-1)",
                        "A softmax comes after the scores. Here each number goes through tanh.",
                    ),
                ),
            ),
        ),
    ),
)
