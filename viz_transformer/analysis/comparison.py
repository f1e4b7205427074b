"""Agreement of two traces: before and after an intervention, two seeds, two models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    entropy_bits,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, shares_of


@dataclass(frozen=True, eq=False)
class Agreement:
    """What `agreement` returns, one number per head.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> same = vt.analysis.agreement(trace, trace, "cross")
    >>> bool((same.same_argmax == 1).all())
    True

    Attributes:
        similarity: ``[layer, head]``, 1 − Jensen–Shannon distance, mean over the rows: 1 where the
            weights are equal, 0 where the two attend to entirely different keys.
        same_argmax: ``[layer, head]``, share of rows whose largest weight lies on the same key.
    """

    similarity: Float64
    same_argmax: Float64


def agreement(trace_a: ForwardTrace, trace_b: ForwardTrace, kind: str) -> Agreement:
    """Compare two traces of the same shape, head by head.

    The Jensen–Shannon distance is the square root of the divergence in bits, so that it lies
    between 0 and 1. A query with one key has no choice and does not count; a head with no other
    row is NaN.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> traces = [translator.trace(text) for text in ("the black cat sleeps", "the black dog sleeps")]
    >>> vt.analysis.agreement(*traces, "cross").similarity.shape
    (2, 4)

    Args:
        trace_a: a trace.
        trace_b: another, with as many layers, heads, queries and keys.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if a trace lacks the kind, or the shapes differ.

    Source: Endres & Schindelin 2003 for the distance; on heads: Clark et al. 2019, section 6.
    """
    a, b = (as_weights(shares_of(trace, kind)) for trace in (trace_a, trace_b))
    if a.shape != b.shape:
        raise UserError(
            f"the two {kind} attentions have shapes {list(a.shape)} and {list(b.shape)}, but only "
            "equal [layer, head, query, key] can be compared; trace the same sentence, and give "
            "translator.trace both times the same target="
        )
    # A query of a decoder has a choice if it has one in either trace.
    has_choice = np.maximum(reachable_keys(a, kind), reachable_keys(b, kind)) > 1  # [query]
    rows = (attending(a) | attending(b)) & has_choice  # [layer, head, query]
    both = attending(a) & attending(b)  # [layer, head, query]
    own = (entropy_bits(a) + entropy_bits(b)) / 2  # [layer, head, query]
    divergence = entropy_bits((_scaled(a) + _scaled(b)) / 2) - own  # [layer, head, query]
    # Rounding leaves equal rows at ±1e-16, and a square root would make 1e-8 of that.
    distance = np.sqrt(np.where(divergence > 1e-12, divergence, 0.0))
    similarity = np.where(both, 1 - np.minimum(distance, 1), 0.0)
    same = both & (a.argmax(axis=-1) == b.argmax(axis=-1))
    return Agreement(mean_over(similarity, rows), mean_over(same.astype(np.float64), rows))


def _scaled(weights: Float64) -> Float64:
    """Scale each row to sum to exactly 1; a row of zeros stays."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
