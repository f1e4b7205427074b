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


def _pairs(rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    n_q, n_k, d_a = (int(size) for size in rng.integers(2, 7, size=3))
    return _normal(rng, n_q, d_a), _normal(rng, n_k, d_a), _normal(rng, d_a)


def _additive(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(queries[:, None] + keys) @ v


EXERCISES = (
    Exercise(
        "4.1",
        "A query by hand",
        Array(
            X[1] @ W_Q,
            mistakes=(
                Mistake(X[0] @ W_Q, "That is the query of thinking; take the row of machines."),
                Mistake(X[1] @ W_K, "That is the key of machines: you used W_K. A query needs W_Q."),
                Mistake(X[1] @ W_V, "That is the value of machines: you used W_V."),
                Mistake(
                    [2, 1, 1],
                    "A sign was lost: the second row of W_Q begins with −1, and it is taken twice.",
                ),
                Mistake(
                    W_Q[1] + W_Q[2],
                    "You took the second row once; the 2 in machines says how often it counts.",
                ),
            ),
            tolerance=1e-2,
            right="Only two rows of W_Q count, since machines is 0 in its first and last place.",
        ),
        hints=(
            "machines is [0, 2, 1, 0]: no first row of W_Q, twice the second, once the third, no fourth.",
            "Twice the second row is [−2, 0, 0]. Add the third row to it.",
        ),
    ),
    Exercise(
        "4.2",
        "What the head says",
        Array(
            lambda: _weights(0) @ X @ W_V,
            mistakes=(
                Mistake(
                    lambda: _weights(0)[::-1] @ X @ W_V,
                    "You gave each value the other's weight: 0.809 belongs to the value of "
                    "machines, the second.",
                ),
                Mistake(
                    (X @ W_V).mean(0),
                    "That is the mean: both values counted alike. Multiply each with its weight.",
                ),
                Mistake((X @ W_V).sum(0), "You added the values without their weights."),
                Mistake(
                    (X @ W_V)[1],
                    "That is the value of machines alone. The value of thinking has a weight too, "
                    "a small one.",
                ),
                Mistake(
                    lambda: _weights(0) @ X @ W_K,
                    "You mixed the keys. Keys are there to be found by; what is handed over are the values.",
                ),
                Mistake(
                    lambda: _weights(0, divisor=1) @ X @ W_V,
                    "These weights are of scores that were not divided by √d_k; use 0.191 and 0.809.",
                ),
                Mistake(
                    lambda: _weights(1) @ X @ W_V,
                    "That is what the head says about machines; use the weights of thinking.",
                ),
            ),
            tolerance=1e-2,
            right="It lies near the value of machines, to which most of the weight went.",
        ),
        hints=(
            "Multiply the first value by 0.191 and the second by 0.809, then add them up.",
            "The first of the three numbers is 0.191 · 0.5 + 0.809 · 2.",
        ),
    ),
    Exercise(
        "4.3",
        "The formula as a function",
        Function(
            _attention,
            _vectors,
            mistakes=(
                Mistake(
                    lambda q, k, v: (q @ k.T).softmax(-1) @ v,
                    "The scores are not divided by √d_k yet.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / q.shape[-1]).softmax(-1) @ v,
                    "You divided by d_k; the formula divides by its square root.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / math.sqrt(len(k))).softmax(-1) @ v,
                    "You divided by the root of the number of keys. d_k is how long a key is: the "
                    "size of its last axis.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / math.sqrt(v.shape[-1])).softmax(-1) @ v,
                    "You divided by the root of how long a value is. d_k is how long a key is, and "
                    "the two may differ.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T).softmax(-1) / math.sqrt(q.shape[-1]) @ v,
                    "You divided the weights by √d_k. The scores are divided, before the softmax.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T * math.sqrt(q.shape[-1])).softmax(-1) @ v,
                    "You multiplied the scores by √d_k; the formula divides them.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(0) @ v,
                    "The softmax ran down the columns, so the weights of a word do not add up to "
                    "1. A row belongs to the word that looks: which axis is its row?",
                ),
                Mistake(
                    lambda q, k, v: q @ k.T / math.sqrt(q.shape[-1]) @ v,
                    "The scores went to the values as they are: the softmax is missing.",
                ),
                Mistake(
                    lambda q, k, v: (k @ q.T / math.sqrt(q.shape[-1])).softmax(-1) @ v,
                    "Your table has a row for each key. It must have a row for each query: which "
                    "of the two is transposed?",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1),
                    "These are the weights. One step is missing: what the head says.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ k,
                    "The weights mix the keys; they must mix the values.",
                ),
                Mistake(
                    lambda q, k, v: (q @ k / math.sqrt(q.shape[-1])).softmax(-1) @ v,
                    "query @ key does not fit: a row of one meets a column of the other. Turn the "
                    "keys round with key.T.",
                ),
            ),
            right="This is the attention of every Transformer; only its inputs differ.",
        ),
        hints=(
            "Three lines: a table of scores [n_q, n_k], its softmax along the last axis, and that "
            "table times the values.",
            "query @ key.T is the table, query.shape[-1] is d_k, and .softmax(-1) runs along rows.",
        ),
    ),
    Exercise(
        "4.4",
        "The price of a pair",
        Number(
            100 * 100 * 64,
            mistakes=(
                Mistake(
                    100 * 100,
                    "That is the number of pairs, and of scores. Each pair has a vector of 64 "
                    "numbers before it has a score.",
                ),
                Mistake(
                    100 * 64,
                    "That is one vector for each token. But the sum is made for each pair of a "
                    "query and a key.",
                ),
                Mistake(
                    2 * 100 * 64,
                    "That is all queries and all keys. They are added in pairs: how many pairs are there?",
                ),
                Mistake(100 * 99 * 64, "A token looks at itself too, so each of 100 meets each of 100."),
            ),
            tolerance=1e-3,
            right="640,000 numbers for 10,000 scores; the dot product goes to the scores directly.",
        ),
        hints=(
            "How many pairs of a query and a key are there, with 100 of each?",
            "Each pair has a vector W_q q + W_k k of 64 numbers.",
        ),
    ),
    Exercise(
        "4.5",
        "Every query with every key",
        Function(
            _additive,
            _pairs,
            mistakes=(
                Mistake(
                    lambda queries, keys, v: torch.tanh(queries + keys) @ v,
                    "That is the trap: queries + keys pairs them row by row. Where there are more "
                    "keys than queries it is an error, and where there are as many it is wrong "
                    "without one. Give queries and keys an axis of their own.",
                ),
                Mistake(
                    lambda queries, keys, v: torch.tanh(queries + keys[:, None]) @ v,
                    "Your rows are the keys. The scores are wanted as [n_q, n_k]: the queries come first.",
                ),
                Mistake(
                    lambda queries, keys, v: (queries[:, None] + keys) @ v,
                    "There is no tanh yet. Without it a key's share of the score is the same for "
                    "every query.",
                ),
                Mistake(
                    lambda queries, keys, v: _additive(queries, keys, v).softmax(-1),
                    "These are the weights. The scores are asked for, before the softmax.",
                ),
                Mistake(
                    lambda queries, keys, v: torch.tanh((queries[:, None] + keys) @ v),
                    "tanh comes before v: it squeezes each of the d_a numbers, and not the score.",
                ),
                Mistake(
                    lambda queries, keys, v: torch.tanh(queries[:, None] + keys).sum(-1),
                    "You added the d_a numbers as they are; v says how much each of them counts.",
                ),
                Mistake(
                    lambda queries, keys, v: torch.tanh(queries[:, None] + keys),
                    "These are the vectors of all pairs, [n_q, n_k, d_a]. One number a pair is "
                    "wanted: v makes it.",
                ),
                Mistake(
                    lambda queries, keys, v: queries @ keys.T,
                    "That is the dot product, which is another way of scoring.",
                ),
            ),
            right="Checked with more keys than queries and the other way round: no wrong sum can hide there.",
        ),
        hints=(
            "The sums need the shape [n_q, n_k, d_a]. An axis of length 1 is stretched by torch to "
            "fit; a new one is made with None.",
            "queries[:, None] has the shape [n_q, 1, d_a]; added to keys, it meets every one of them.",
        ),
    ),
)
