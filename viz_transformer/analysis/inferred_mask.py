"""The mask of a trace, inferred from its weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viz_transformer.trace import FloatArray, ForwardTrace, attention_of


def masked_cells(trace: ForwardTrace, kind: str) -> NDArray[np.bool_]:
    """Return the cells that no head of any layer gives any weight, bool ``[query, key]``.

    A trace does not carry the model's mask; this is inferred from it. Softmax gives every
    allowed cell more than 0, so a cell that is exactly 0 in *every* head was masked: the future of
    a decoder, the columns of padding, the rows of a query that may attend to nothing. A 0 in one
    head alone proves nothing: a weight can be too small for float32. In a trace of one head, or of
    a few very confident ones, that can still happen in all of them at once.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.masked_cells(trace, "decoder")[0].tolist()  # <sos> sees itself alone
    [False, True, True, True, True]

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or the kind is unknown.
    """
    return unweighted(attention_of(trace, kind))


def unweighted(weights: FloatArray) -> NDArray[np.bool_]:
    """Return where all heads are exactly 0, bool ``[query, key]``; makes no copy of the weights.

    Args:
        weights: ``[layer, head, query, key]``.
    """
    heads = weights.reshape(-1, *weights.shape[-2:])  # [layer · head, query, key]
    return (heads.max(axis=0) == 0) & (heads.min(axis=0) == 0)
