"""What a trace must be to be shown, and what is said of one that is unusual.

A NaN never comes so far: ForwardTrace refuses it. Weights outside 0 to 1 are refused here, since no
colour of the scale would be theirs; rows that do not sum to 1 are shown, and a note tells of them,
for they are what somebody who took the softmax out, or dropped weights, should see.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray, ForwardTrace

#: How far above 1 a weight may lie, or from 1 a row's sum: half precision stays within it.
TOLERANCE = 0.01


class Rows(NamedTuple):
    """Of a kind's rows those that sum neither to 1 nor to 0: what they sum to, and how many."""

    least: float
    most: float
    n_off: int
    n_rows: int


def check(trace: Any) -> ForwardTrace:
    """Return a trace with something to show.

    Raises:
        UserError: if it is no trace, or holds no attention.
    """
    if not isinstance(trace, ForwardTrace):
        raise UserError(
            f"the explorer shows a ForwardTrace, not {type(trace).__name__}; "
            "make one with translator.trace(text) or ForwardTrace(...)"
        )
    if not trace.kinds:
        raise UserError(
            "this trace holds no attention to show; give it encoder_attention, "
            "decoder_attention or cross_attention"
        )
    return trace


def check_shares(trace: ForwardTrace, kind: str) -> None:
    """Refuse weights that are no shares.

    Raises:
        UserError: if one is below 0 or above 1.
    """
    weights = trace.attention(kind)
    least, most = float(weights.min()), float(weights.max())
    if least < 0 or most > 1 + TOLERANCE:
        raise UserError(
            f"the {kind} attention of this trace holds {least:.3g} to {most:.3g}, but a weight is "
            "a share from 0 to 1; give the weights after the softmax, not the scores, and show a "
            "difference with explore(trace, compare=other)"
        )


def rows_of(weights: FloatArray) -> Rows:
    """Sum the rows of weights ``[layer, head, query, key]``."""
    sums = weights.sum(axis=-1).ravel()  # [layer · head · query]
    n_rows = sums.size
    sums = sums[sums != 0]  # a query that may look at nothing is no fault
    off = sums[np.abs(sums - 1) > TOLERANCE]
    least, most = (float(off.min()), float(off.max())) if off.size else (1.0, 1.0)
    return Rows(least, most, off.size, n_rows)


def check_alike(trace: ForwardTrace, compare: ForwardTrace) -> None:
    """Refuse a comparison of traces that differ in shape.

    Raises:
        UserError: if they do.
    """
    one, other = (
        {kind: list(each.attention(kind).shape) for kind in each.kinds} for each in (trace, compare)
    )
    if one != other:
        raise UserError(
            f"compare= holds {other} as [layer, head, query, key], but the trace holds {one}; "
            "compare traces of equal shapes, such as two sentences of equally many tokens"
        )
