"""Exercises of lesson 4, One head by hand."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Array, Exercise, Function, Mistake, Number

#: The numbers of `vt.thinking_machines`, which this module may not import; a test holds them equal.
X = np.array([[1, -1, 1, 1], [0, 2, 1, 0]])
W_Q = np.array([[1, 0, 1], [-1, 0, 0], [0, 1, 1], [0.5, 0, 0]])
W_K = np.array([[0, 1, 1], [0, -1, 1], [1, 0, 0], [-1, 0, 0]])
W_V = np.array([[0, 0, 1], [0.5, -1, 0], [1, 0, 0], [0, 0, 1]])


def _weights(word: int, divisor: float = math.sqrt(3)) -> np.ndarray:
    scores = (X @ W_Q)[word] @ (X @ W_K).T / divisor  # [key]
    return np.exp(scores) / np.exp(scores).sum()


def _normal(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.normal(size=shape))


def _vectors(rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw queries, keys and values; there are not always as many queries as keys."""
    n_q, n_k, d_k, d_v = (int(size) for size in rng.integers(2, 7, size=4))
    return _normal(rng, n_q, d_k), _normal(rng, n_k, d_k), _normal(rng, n_k, d_v)


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (query @ key.T / math.sqrt(query.shape[-1])).softmax(-1) @ value


def _without_keepdim(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    parts = (query @ key.T / math.sqrt(query.shape[-1])).exp()
    return parts / parts.sum(-1) @ value


def _pairs(rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    n_q, n_k, d_a = (int(size) for size in rng.integers(2, 7, size=3))
    return _normal(rng, n_q, d_a), _normal(rng, n_k, d_a), _normal(rng, d_a)


def _additive(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(queries[:, None] + keys) @ v


_ADDITIVE_MISTAKES = (
    Mistake(
        lambda queries, keys, v: torch.tanh(queries + keys) @ v,
        "That is the trap: queries + keys pairs them row by row. Give queries and keys an axis of their "
        "own, so that each query meets each key.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries + keys[:, None]) @ v,
        "Your rows are the keys, [n_k, n_q]. The exercise wants [n_q, n_k]: a row for each query.",
    ),
    Mistake(
        lambda queries, keys, v: (queries[:, None] + keys) @ v,
        "There is no tanh. Without it, a key's part of the score is the same for every query.",
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
        "tanh comes before v: it squeezes each of the d_a numbers, not the finished score.",
    ),
    Mistake(
        lambda queries, keys, v: torch.tanh(queries[:, None] + keys).sum(-1),
        "You added the d_a numbers as they are. v says how much each of them counts.",
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

_ATTENTION_MISTAKES = (
    Mistake(
        lambda q, k, v: (q @ k.T).softmax(-1) @ v,
        "The scores aren't divided by √d_k yet.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / q.shape[-1]).softmax(-1) @ v,
        "You divided by d_k. The formula divides by its square root.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(3)).softmax(-1) @ v,
        "You divided by √3, which is right for thinking machines only. Take d_k from the query: "
        "query.shape[-1].",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(len(k))).softmax(-1) @ v,
        "You divided by the root of the number of keys. d_k is the length of each key, its last axis.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(len(q))).softmax(-1) @ v,
        "You divided by the root of the number of queries. d_k is the length of a query: its last axis.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(v.shape[-1])).softmax(-1) @ v,
        "You divided by the root of the length of a value. d_k is the length of a key, and the two may "
        "differ.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T).softmax(-1) / math.sqrt(q.shape[-1]) @ v,
        "You divided the weights by √d_k. Divide the scores, before the softmax.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T * math.sqrt(q.shape[-1])).softmax(-1) @ v,
        "You multiplied the scores by √d_k. The formula divides them.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(0) @ v,
        "Your softmax runs down the columns. A row is a query, so it must run along the rows: the last "
        "axis, -1.",
    ),
    Mistake(
        _without_keepdim,
        "The row sums have the shape [n_q], and torch lines them up with the columns. "
        "sum(-1, keepdim=True) keeps them a column.",
    ),
    Mistake(
        lambda q, k, v: q @ k.T / math.sqrt(q.shape[-1]) @ v,
        "You multiplied the scores with the values directly. The softmax is missing.",
    ),
    Mistake(
        lambda q, k, v: (k @ q.T / math.sqrt(q.shape[-1])).softmax(-1) @ v,
        "Your table has a row for each key. It needs a row for each query: transpose the other one.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1),
        "Those are the weights. One step is left: multiply them by the values.",
    ),
    Mistake(
        lambda q, k, v: (_attention(q, k, v), (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1)),
        "You return the output and the weights. Return the output alone.",
    ),
    Mistake(
        lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ k,
        "Your weights mix the keys. They should mix the values.",
    ),
    Mistake(
        lambda q, k, v: (q @ k / math.sqrt(q.shape[-1])).softmax(-1) @ v,
        "query @ key doesn't fit. Each query meets each key in query @ key.T.",
    ),
)

EXERCISES = (
    Exercise(
        "4.1",
        "Compute a query by hand",
        Array(
            X[1] @ W_Q,
            mistakes=(
                Mistake(X[0] @ W_Q, "That is the query of “thinking”. Take the row of “machines”."),
                Mistake(X[1] @ W_K, "That is the key of “machines”: you used W_K. A query needs W_Q."),
                Mistake(X[1] @ W_V, "That is the value of “machines”: you used W_V. A query needs W_Q."),
                Mistake(
                    [2, 1, 1],
                    "A sign got lost. The second row of W_Q begins with −1, and you take it twice.",
                ),
                Mistake(
                    W_Q[1] + W_Q[2],
                    "You took the second row once. The 2 in “machines” says that it counts twice.",
                ),
            ),
            tolerance=1e-2,
            right="Only two rows of W_Q count, because “machines” begins and ends with 0.",
        ),
        hints=(
            "“machines” is [0, 2, 1, 0]: twice the second row of W_Q, plus once the third.",
            "Twice the second row is [−2, 0, 0]. Add the third row to it.",
        ),
    ),
    Exercise(
        "4.2",
        "Compute the head's output",
        Array(
            lambda: _weights(0) @ X @ W_V,
            mistakes=(
                Mistake(
                    lambda: _weights(0)[::-1] @ X @ W_V,
                    "You swapped the weights: 0.809 belongs to the value of “machines”, the second one.",
                ),
                Mistake(
                    (X @ W_V).mean(0),
                    "That is the plain mean of the values. Multiply each value by its weight.",
                ),
                Mistake((X @ W_V).sum(0), "You added the values without their weights."),
                Mistake(
                    (X @ W_V)[1],
                    "That is the value of “machines” alone. “thinking” has a small weight too.",
                ),
                Mistake(
                    lambda: _weights(0) @ X @ W_K,
                    "You mixed the keys. Keys are for being found; it is the values that are mixed.",
                ),
                Mistake(
                    lambda: _weights(0, divisor=1) @ X @ W_V,
                    "You used the weights of scores that weren't divided by √d_k. Use 0.191 and 0.809.",
                ),
                Mistake(
                    lambda: _weights(1) @ X @ W_V,
                    "That is the output for “machines”. Use the weights of “thinking”, 0.191 and 0.809.",
                ),
            ),
            tolerance=1e-2,
            right="It lies near the value of “machines”, which got most of the weight.",
        ),
        hints=(
            "Multiply the first value by 0.191 and the second by 0.809, then add them up.",
            "The first of the three numbers is 0.191 · 0.5 + 0.809 · 2.",
        ),
    ),
    Exercise(
        "4.3",
        "Write the formula as a function",
        Function(
            _attention,
            _vectors,
            mistakes=_ATTENTION_MISTAKES,
            right="This is scaled dot-product attention, for any number of queries and keys.",
            forbidden={
                "scaled_dot_product_attention": "That is torch's own attention. Write the formula yourself: "
                "scores, softmax, values.",
                "attend": "That is the package's own attention. Write the formula yourself: scores, softmax, "
                "values.",
            },
        ),
        hints=(
            "Three lines: the scores, [n_q, n_k]; their softmax along the last axis; that table times the "
            "values.",
            "query @ key.T is the table, query.shape[-1] is d_k, and .softmax(-1) runs along the rows.",
        ),
    ),
    Exercise(
        "4.4",
        "Count what additive scoring costs",
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
                    "Those are all the queries and keys. They are added in pairs: how many pairs are there?",
                ),
                Mistake(
                    2 * 100 * 100 * 64,
                    "W_q q and W_k k are added before tanh, so each pair has 64 numbers, not 128.",
                ),
                Mistake(100 * 99 * 64, "A token also attends to itself, so each of the 100 meets all 100."),
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
        "4.5",
        "Score every query with every key",
        Function(
            _additive,
            _pairs,
            mistakes=_ADDITIVE_MISTAKES,
            right="Checked with different numbers of queries and keys, where broadcasting can hide nothing.",
        ),
        hints=(
            "The sums need the shape [n_q, n_k, d_a]. torch stretches an axis of length 1 to fit, and None "
            "makes a new one.",
            "queries[:, None] has the shape [n_q, 1, d_a]. Added to keys, it meets every one of them.",
        ),
    ),
)
