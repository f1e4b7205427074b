"""Section 1, one line: an overflowing softmax, positions on the batch axis, additive scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake

# -- 1: softmax ------------------------------------------------------------------------------------


def _softmax(scores: Tensor) -> Tensor:
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))  # [..., key]
    return exponentials / exponentials.sum(-1, keepdim=True)


def _overflows(scores: Tensor) -> Tensor:
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(-1, keepdim=True)


def _one_largest_for_all(scores: Tensor) -> Tensor:
    return _overflows(scores - scores.max())


def _mean_subtracted(scores: Tensor) -> Tensor:
    return _overflows(scores - scores.mean(-1, keepdim=True))


def _clamped(scores: Tensor) -> Tensor:
    return _overflows(scores.clamp(max=80.0))


def _without_keepdim(*, largest: bool, total: bool) -> Callable[[Tensor], Tensor]:
    """A softmax that keeps the axis of the largest score, of the sum, of both or of neither."""

    def softmax(scores: Tensor) -> Tensor:
        exponentials = torch.exp(scores - scores.amax(-1, keepdim=largest))
        return exponentials / exponentials.sum(-1, keepdim=total)

    return softmax


def _overflows_without_keepdim(scores: Tensor) -> Tensor:
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(-1)


def _along(largest: int, total: int) -> Callable[[Tensor], Tensor]:
    """A softmax with the largest score along one axis, and the sum along another."""

    def softmax(scores: Tensor) -> Tensor:
        exponentials = torch.exp(scores - scores.amax(largest, keepdim=True))
        return exponentials / exponentials.sum(total, keepdim=True)

    return softmax


def _nan_replaced(scores: Tensor) -> Tensor:
    return _overflows(scores).nan_to_num()


def _one_total_for_all(scores: Tensor) -> Tensor:
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    return exponentials / exponentials.sum()


def _one_row_only(scores: Tensor) -> Tensor:
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def _scores(rng: np.random.Generator) -> tuple[Tensor]:
    rows = rng.normal(size=(int(rng.integers(2, 5)), int(rng.integers(2, 6))))
    rows[0] += 1000.0 * rng.integers(0, 2)  # a row of large scores above rows of small ones
    rows[-1, 0] += 1000.0 * rng.integers(0, 2)  # and one that stands out in its row
    one_row = rng.random() < 0.2  # as in the symptom's cell
    return (torch.from_numpy(rows[-1] if one_row else rows).float(),)


SOFTMAX = Function(
    _softmax,
    _scores,
    (
        Mistake(
            _overflows,
            "It still overflows: e^1000 is more than a float can hold, and infinity divided by infinity "
            "is NaN. Which number can you subtract from all scores of a row without changing a weight?",
        ),
        Mistake(
            _one_largest_for_all,
            "You took one largest score for the whole table: a row whose scores are 1000 below it becomes "
            "0 divided by 0. Subtract the largest score of each row.",
        ),
        Mistake(
            _mean_subtracted,
            "You subtracted the mean. The scores 1000 and 0 become 500 and −500, and e^500 overflows too. "
            "Subtract a number after which no score is above 0.",
        ),
        Mistake(
            _clamped,
            "You limited the scores, so 1000 and 999 become equal, and so do their weights. Subtract the "
            "same number from the whole row instead.",
        ),
        Mistake(
            _along(0, -1),
            "You subtracted the largest score of each column. A score of 1000 in a row of small ones may "
            "then still be too large. Which axis holds the scores of one row?",
        ),
        Mistake(
            _without_keepdim(largest=True, total=False),
            "It no longer overflows, but the sums have lost an axis, and broadcasting takes them as a "
            "row: each column is divided by another row's sum, or the shapes do not fit. keepdim=True "
            "keeps the axis.",
        ),
        Mistake(
            _without_keepdim(largest=False, total=True),
            "That works for a single row. In a table, the largest scores have lost an axis, and "
            "broadcasting takes them as a row: another row's largest is subtracted, or the shapes do not "
            "fit. keepdim=True keeps the axis.",
        ),
        Mistake(
            _without_keepdim(largest=False, total=False),
            "That works for a single row. In a table, the largest scores and the sums both lose an axis, "
            "and broadcasting pairs them with the columns. Both need keepdim=True.",
        ),
        Mistake(
            _overflows_without_keepdim,
            "It still overflows, and the sums have lost keepdim=True, which pairs each of them with its "
            "own row. Put that back, then make the largest exponent of each row 0.",
        ),
        Mistake(
            _along(0, 0),
            "That works for a single row. In a table, axis 0 runs down a column, so the columns sum to 1. "
            "The scores of one row are along the last axis, -1.",
        ),
        Mistake(
            _along(-1, 0),
            "The largest score is taken along the right axis, the sum along the wrong one: axis 0 adds up "
            "a column. The weights of one row are along the last axis, -1.",
        ),
        Mistake(
            _along(1, 1),
            "That works for a table, but a single row has no axis 1. The last axis is -1, however "
            "many there are.",
        ),
        Mistake(
            _nan_replaced,
            "You replaced each NaN with 0, so the largest score of its row gets no weight at all. Prevent "
            "the overflow of e^score instead.",
        ),
        Mistake(
            _one_total_for_all,
            "All weights of the table together sum to 1. Each row must sum to 1: over which axis do you sum?",
        ),
        Mistake(
            _one_row_only,
            "That works for a single row. In a table, each row has its own largest score and its own sum: "
            "take both along the last axis, -1.",
        ),
    ),
    right="Subtracting the same number from every score of a row changes no weight, and no exponential is "
    "larger than e^0 = 1. Every library does this.",
)

# -- 2: positions ----------------------------------------------------------------------------------


def _add_positions(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: x.shape[1]]  # [batch, position, d_model] + [position, d_model]


def _along_the_batch(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: len(x)].unsqueeze(1)


def _length_on_the_batch_axis(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: x.shape[1]].unsqueeze(1)


def _one_row_for_all(x: Tensor, table: Tensor) -> Tensor:
    return x + table[x.shape[1]]


def _whole_table(x: Tensor, table: Tensor) -> Tensor:
    return x + table


def _vectors_and_table(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    batch, length = (int(size) for size in rng.integers(1, 6, size=2))
    x = torch.from_numpy(rng.normal(size=(batch, length, 4))).float()
    return x, torch.from_numpy(rng.normal(size=(12, 4))).float()


POSITIONS = Function(
    _add_positions,
    _vectors_and_table,
    (
        Mistake(
            _along_the_batch,
            "The rows are still added along the batch axis: len(x) counts sentences, so every word of "
            "sentence 0 gets row 0 and every word of sentence 1 gets row 1. Which axis of x counts "
            "positions?",
        ),
        Mistake(
            _length_on_the_batch_axis,
            "You took as many rows as there are positions, but unsqueeze(1) still adds them along the "
            "batch axis. Compare the two shapes from the right.",
        ),
        Mistake(
            _one_row_for_all,
            "That is one row of the table, the same for every position. Take several with a slice.",
        ),
        Mistake(
            _whole_table,
            "You add the whole table. It is as long as the longest possible sentence: take only as many "
            "rows as these have positions.",
        ),
    ),
    right="The same sentence now gives the same vectors at any position in its batch.",
)

# -- 3: additive scores ----------------------------------------------------------------------------


def _additive(query: Tensor, key: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    pairs = (query @ w_q).unsqueeze(2) + (key @ w_k).unsqueeze(1)  # [batch, n_q, n_k, d_a]
    return torch.tanh(pairs) @ v  # [batch, n_q, n_k]


def _paired_off(query: Tensor, key: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((query @ w_q).unsqueeze(1) + (key @ w_k).unsqueeze(1)) @ v


def _keys_first(query: Tensor, key: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((query @ w_q).unsqueeze(1) + (key @ w_k).unsqueeze(2)) @ v


def _both_in_axis_two(query: Tensor, key: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((query @ w_q).unsqueeze(2) + (key @ w_k).unsqueeze(2)) @ v


def _without_tanh(query: Tensor, key: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    return ((query @ w_q).unsqueeze(2) + (key @ w_k).unsqueeze(1)) @ v


def _comparison(rng: np.random.Generator) -> tuple[Tensor, ...]:
    n_queries, n_keys = (int(size) for size in rng.integers(2, 5, size=2))
    shapes = (2, n_queries, 4), (2, n_keys, 4), (4, 3), (4, 3), (3,)
    return tuple(torch.from_numpy(rng.normal(size=shape)).float() for shape in shapes)


ADDITIVE = Function(
    _additive,
    _comparison,
    (
        Mistake(
            _paired_off,
            "Query 0 is still scored with key 0 only, and query 1 with key 1. Queries and keys got their "
            "new axis in the same position, so broadcasting does not form all pairs.",
        ),
        Mistake(
            _both_in_axis_two,
            "You moved both new axes, and both are in the same position again. One of the two needs its "
            "new axis before the axis of its words, the other after it.",
        ),
        Mistake(
            _keys_first,
            "Every pair has a score now, but the rows are keys: this is [batch, key, query]. Each row "
            "must belong to a query.",
        ),
        Mistake(
            _without_tanh,
            "The tanh is missing. Without it the score is a number for the query plus a number for the "
            "key, and the first does not change the softmax: every query gets the same weights.",
        ),
    ),
    right="n_q queries and n_k keys now give n_q × n_k scores, also where the two numbers are equal and "
    "the mistake raised no error.",
)

EXERCISES = (
    Exercise(
        "clinic.1",
        "A softmax",
        SOFTMAX,
        (
            "Print torch.exp(scores) for the scores of the symptom.",
            "e^(s − m) / Σ e^(s − m) is the same for every m. Choose m so that the largest "
            "exponent of the row is 0; keepdim=True keeps the axis.",
        ),
        repairs={
            "    exponentials = torch.exp(scores)": (
                "    exponentials = torch.exp(scores - scores.max())",
                "    exponentials = torch.exp(scores.clamp(max=80.0))",
                "    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))",
                "    exponentials = torch.exp(scores - scores.mean(-1, keepdim=True))",
            ),
            "    return exponentials / exponentials.sum(-1, keepdim=True)": (
                "    return exponentials / exponentials.sum()",
                "    return (exponentials / exponentials.sum(-1, keepdim=True)).nan_to_num()",
            ),
        },
    ),
    Exercise(
        "clinic.2",
        "Adding positions",
        POSITIONS,
        (
            "Read the shapes from the right: x is [batch, position, d_model]. What is len(x)?",
            "A slice of the table, [position, d_model], needs no new axis: it is the same for all "
            "sentences, and torch adds the missing axis in front.",
        ),
        repairs={
            "    return x + table[: len(x)].unsqueeze(1)": (
                "    return x + table[: x.shape[1]].unsqueeze(1)",
                "    return x + table[: x.shape[1]]",
                "    return x + table",
                "    return x + table[x.shape[1]]",
            )
        },
    ),
    Exercise(
        "clinic.3",
        "Additive scores",
        ADDITIVE,
        (
            "Write down the shapes of both sides of the + with n_q = 2 and n_k = 3. What shape "
            "should their sum have?",
            "The sum must be [batch, n_q, n_k, d_a], so the queries must be [batch, n_q, 1, d_a]. What "
            "must the keys be?",
        ),
        repairs={
            "    q = (query @ w_q).unsqueeze(1)": ("    q = (query @ w_q).unsqueeze(2)",),
            "    k = (key @ w_k).unsqueeze(1)": ("    k = (key @ w_k).unsqueeze(2)",),
            "    return torch.tanh(q + k) @ v": ("    return (q + k) @ v",),
        },
    ),
)
