"""The two sentences of a pair, and which of them attends to which."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.analysis.words import sentence_segments
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace

#: Which sentences are shown, the one that attends first.
PAIRS = ("all", "AA", "AB", "BA", "BB")


def pair_kind(trace: ForwardTrace) -> str:
    """Return the kind in which a text attends to itself: the encoder's, or without one the decoder's."""
    return "encoder" if "encoder" in trace.kinds or "decoder" not in trace.kinds else "decoder"


def checked_segments(trace: ForwardTrace, given: Any) -> list[int]:
    """Return which sentence of a pair each token belongs to; empty where there is no pair.

    Args:
        trace: the trace.
        given: 0 or 1 for each token of `pair_kind`; None takes the trace's own, or finds an encoder's
            pair by its separators.

    Raises:
        UserError: if what is given is not 0 or 1 for each token.
    """
    kind = pair_kind(trace)
    tokens = trace.key_tokens(kind)
    if given is None:
        given = trace.source_segments if kind == "encoder" else trace.target_segments
    if given is None:
        return sentence_segments(tokens) if kind == "encoder" else []
    try:
        segments = np.ravel(np.asarray(given))
    except (TypeError, ValueError, RuntimeError):
        segments = np.empty(0)
    if segments.shape != (len(tokens),) or not np.isin(segments, (0, 1)).all():
        raise UserError(
            f"segments={given!r:.60} does not fit the {len(tokens)} tokens; give 0 for each token of "
            "sentence A and 1 for each of sentence B, as BERT's token_type_ids do"
        )
    return [int(each) for each in segments] if 0 < segments.sum() < len(tokens) else []
