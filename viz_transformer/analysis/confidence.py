"""The confidence of heads, and rank correlation."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, shares_of


def head_confidence(trace: ForwardTrace, kind: str, *, leave_out: Collection[str] = ("<eos>",)) -> Float64:
    """Return the confidence of each head: the mean of its rows' largest weights, ``[layer, head]``.

    1 is a head whose every query attends to one key alone. It is what the picture of a head
    suggests. It says nothing about what the model does with what the head has gathered.

    A query with one key has no choice (the first of a decoder) and does not count, nor does a
    query that may attend to nothing. A head with no other query is NaN.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.head_confidence(trace, "cross").shape  # layers, heads
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        leave_out: tokens that stand for no word. Their keys are left out of the maximum, and
            their queries of the mean: many heads attend to the end of the sentence where they
            have nothing to do.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.

    Source: Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 4: the confidence of
    a head, there for the encoder and over a set of sentences.
    """
    weights = as_weights(shares_of(trace, kind))  # [layer, head, query, key]
    counted_keys = np.array([token not in leave_out for token in trace.key_tokens(kind)])
    # A query belongs to the word that was read there. The one that writes <eos> has read a word.
    read = trace.source_tokens if KINDS[kind].query == "source" else trace.target_tokens
    counted_queries = np.array([token not in leave_out for token in read])
    largest = np.where(counted_keys, weights, 0.0).max(axis=-1)  # [layer, head, query]
    has_choice = reachable_keys(weights, kind) > 1  # [query]
    return mean_over(largest, attending(weights) & has_choice & counted_queries)


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Return Spearman's rank correlation of two lists of numbers: 1 if they give the same order.

    −1 is the opposite order, and about 0 no relation. Equal numbers share the mean of their ranks.

    >>> import viz_transformer as vt
    >>> vt.analysis.rank_correlation([1, 2, 3], [10, 20, 40])
    1.0

    Args:
        a: numbers; arrays of any shape are read in C order.
        b: as many numbers, in the same order.

    Returns:
        from −1 to 1; NaN if one of the two gives no order, as all its numbers are equal or there
        is but one.

    Raises:
        UserError: if they differ in number, or one holds a NaN.

    Source: Spearman 1904, "The Proof and Measurement of Association between Two Things".
    """
    first, second = (np.asarray(values, dtype=np.float64).ravel() for values in (a, b))
    if len(first) != len(second) or np.isnan(first).any() or np.isnan(second).any():
        raise UserError(
            f"{len(first)} and {len(second)} numbers cannot be ranked against each other; give "
            "the same number of each, and no NaN"
        )
    middle = (len(first) + 1) / 2  # the mean of all ranks
    x, y = _ranks(first) - middle, _ranks(second) - middle
    spread = np.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / spread) if spread > 0 else float("nan")


def _ranks(values: Float64) -> Float64:
    """Return each number's rank from 1, equal ones sharing the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)  # rank of the last of each group of equal numbers
    return (last - (count - 1) / 2)[place]
