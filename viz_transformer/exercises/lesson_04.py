"""Exercises of lesson 4, One head by hand."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake

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
    """Draw queries, keys and values, some with further axes; there are not always as many queries as keys."""
    n_q, n_k, d_k, d_v = (int(size) for size in rng.integers(2, 7, size=4))
    before: tuple[int, ...] = ((), (4,), (2, 3))[int(rng.integers(3))]
    return _normal(rng, *before, n_q, d_k), _normal(rng, *before, n_k, d_k), _normal(rng, *before, n_k, d_v)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1)


def _mixed(scores: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    weights = scores.softmax(-1)
    return weights @ value, weights


def _attend(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return _mixed(_scores(query, key) / math.sqrt(query.shape[-1]), value)


def _with_rows_and_columns_of_all_axes(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    if key.ndim > 2:
        raise RuntimeError
    return _attend(query, key, value)


def _without_keepdim(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    parts = (_scores(query, key) / math.sqrt(query.shape[-1])).exp()
    weights = parts / parts.sum(-1)
    return weights @ value, weights


_ATTENTION_MISTAKES = (
    Mistake(
        _with_rows_and_columns_of_all_axes,
        "It is right for one head. With further axes in front, key.T reverses all of them. "
        "key.transpose(-2, -1) exchanges only the last two.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k), v),
        "The scores aren't divided by √d_k yet.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) / q.shape[-1], v),
        "You divided by d_k. The formula divides by its square root.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) / math.sqrt(3), v),
        "You divided by √3, which is right for thinking machines only. Take d_k from the query: "
        "query.shape[-1].",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) / math.sqrt(k.shape[-2]), v),
        "You divided by the root of the number of keys. d_k is the length of each key, its last axis.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) / math.sqrt(q.shape[-2]), v),
        "You divided by the root of the number of queries. d_k is the length of a query: its last axis.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) / math.sqrt(v.shape[-1]), v),
        "You divided by the root of the length of a value. d_k is the length of a key, and the two may "
        "differ.",
    ),
    Mistake(
        lambda q, k, v: (
            _scores(q, k).softmax(-1) / math.sqrt(q.shape[-1]) @ v,
            _scores(q, k).softmax(-1) / math.sqrt(q.shape[-1]),
        ),
        "You divided the weights by √d_k. Divide the scores, before the softmax.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(q, k) * math.sqrt(q.shape[-1]), v),
        "You multiplied the scores by √d_k. The formula divides them.",
    ),
    Mistake(
        lambda q, k, v: (
            (_scores(q, k) / math.sqrt(q.shape[-1])).softmax(-2) @ v,
            (_scores(q, k) / math.sqrt(q.shape[-1])).softmax(-2),
        ),
        "Your softmax runs down the columns. A row is a query, so it must run along the rows: the last "
        "axis, -1.",
    ),
    Mistake(
        _without_keepdim,
        "The row sums have lost an axis, and torch aligns them with the columns. sum(-1, keepdim=True) "
        "keeps them a column.",
    ),
    Mistake(
        lambda q, k, v: (
            _scores(q, k) / math.sqrt(q.shape[-1]) @ v,
            _scores(q, k) / math.sqrt(q.shape[-1]),
        ),
        "You multiplied the scores with the values directly. The softmax is missing.",
    ),
    Mistake(
        lambda q, k, v: _mixed(_scores(k, q) / math.sqrt(q.shape[-1]), v),
        "Your table has a row for each key. It needs a row for each query: transpose the other one.",
    ),
    Mistake(
        lambda q, k, v: _attend(q, k, v)[1],
        "You return the weights alone. Multiply them by the values, and return both: output, weights.",
    ),
    Mistake(
        lambda q, k, v: _attend(q, k, v)[0],
        "You return the output alone. Return both: output, weights.",
    ),
    Mistake(
        lambda q, k, v: _attend(q, k, v)[::-1],
        "Both are right, but in the wrong order. The output comes first, then the weights.",
    ),
    Mistake(
        lambda q, k, v: _attend(q, k, k),
        "Your weights mix the keys. They should mix the values.",
    ),
    Mistake(
        lambda q, k, v: _mixed(q @ k / math.sqrt(q.shape[-1]), v),
        "query @ key doesn't fit. Exchange the last two axes of the keys first: key.transpose(-2, -1).",
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
                    "A sign is missing. The second row of W_Q begins with −1, and you take it twice.",
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
                    "You mixed the keys. Keys are for the scores; mix the values.",
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
            right="It is close to the value of “machines”, which got most of the weight.",
        ),
        hints=(
            "Multiply the first value by 0.191 and the second by 0.809, then add them up.",
            "The second of the three numbers is 0.191 · 1 + 0.809 · (−2).",
        ),
    ),
    Exercise(
        "4.3",
        "Write the formula as a function",
        Function(
            _attend,
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
            "Three lines: the scores, [..., n_queries, n_keys]; their softmax; the weights times the values.",
            "query @ key.transpose(-2, -1) is the table of scores, and query.shape[-1] is d_k.",
        ),
        part="attend",
        lines="""def attend(query, key, value, mask=None):
    scores = query @ ___
    weights = softmax(scores / ___)
    return ___
""",
        gaps=(
            Choice(
                "key.transpose(-2, -1)",
                ("key", "key.T", "key.transpose(-2, -1)", "value"),
                (
                    Mistake("key", "The rows of key must become columns: exchange its last two axes."),
                    Mistake("key.T", "With heads in front, key.T reverses all axes, not only the last two."),
                    Mistake("value", "Scores compare queries with keys."),
                ),
            ),
            Choice(
                "query.shape[-1] ** 0.5",
                ("query.shape[-1]", "query.shape[-1] ** 0.5", "query.shape[-2] ** 0.5"),
                (
                    Mistake("query.shape[-1]", "That is d_k itself. The formula divides by its square root."),
                    Mistake("query.shape[-2] ** 0.5", "Axis −2 counts the queries. d_k is the last axis."),
                ),
            ),
            Choice(
                "weights @ value, weights",
                ("weights @ key, weights", "weights @ value, weights", "weights * value, weights", "weights"),
                (
                    Mistake("weights @ key, weights", "The keys are for the scores. Mix the values."),
                    Mistake("weights * value, weights", "* multiplies number by number. A mixture needs @."),
                    Mistake("weights", "The output is missing: the weights times the values."),
                ),
            ),
        ),
    ),
    Exercise(
        "4.4",
        "Name the shapes",
        Array(
            [5, 7, 5, 8],
            mistakes=(
                Mistake([7, 5, 5, 8], "The weights are transposed: a row is a query, a column is a key."),
                Mistake([5, 7, 5, 16], "The output mixes values, so it has as many numbers as a value: 8."),
                Mistake([5, 7, 7, 8], "There is one output for each query, and there are 5 queries."),
                Mistake([5, 5, 5, 8], "A row of weights has one weight for each key, and there are 7 keys."),
                Mistake([5, 16, 5, 8], "The weights compare queries with keys: one number a pair."),
                Mistake([5, 7, 5, 7], "The weights are right. The output of a query is a mixture of values."),
            ),
            right="[5, 7] times [7, 8] is [5, 8]: the number of keys is summed over.",
        ),
        hints=(
            "The weights have a row for each query and a column for each key.",
            "The output has a row for each query, and each row is as long as a value.",
        ),
    ),
)
