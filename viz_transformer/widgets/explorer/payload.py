"""The payload of a trace for the page.

A small trace is sent as it is, its tokens and weights, and the page measures it. Of a large one an
overview, marks and one head are sent, and each other head when it is shown (see `requests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer.requests import SENT_AS, sent_weights
from viz_transformer.widgets.explorer.trace_view import TraceView

#: Traces that take no more bytes than this as float32 are sent exactly, all heads at once.
EXACT_BYTES = 256 * 1024

Head = tuple[str, int, int]


def pack(
    trace: ForwardTrace,
    compare: ForwardTrace | None = None,
    *,
    version: int = 0,
    first: Head | None = None,
) -> dict[str, Any]:
    """Return what the page reads, of a trace or of the difference of two.

    Weights are little-endian bytes in C order. Where all of them fit in 256 KiB as float32, the
    traces are sent so (see `raw_trace`), under ``traces``. Else there is an entry for each of their
    ``kinds``: an overview of uint8, 255 for a weight of 1, each pixel the strongest weight beneath
    it; and of one head the weights, float16, off by 0.00025 at most. Differences, and weights that are not
    normalised, are sent as shares of ``limit``, the largest of their kind: 128 is 0 in the overview, and
    255 is `limit`.

    Args:
        trace: the trace.
        compare: another, whose weights are subtracted (see `match_traces`); or None.
        version: which of a view's traces it is: what the page asks for names it.
        first: the kind, layer and head that is sent with the overview; the last kind's first head
            if None.

    Raises:
        UserError: if they cannot be shown (see `TraceView`).
    """
    return pack_view(TraceView(trace, compare), version, first)


def pack_view(view: TraceView, version: int, first: Head | None = None) -> dict[str, Any]:
    """Return what the page reads of what has been checked already."""
    told: dict[str, Any] = {}
    if view.attends_by != "both":
        told["attendsBy"] = dict.fromkeys(view.biased, view.attends_by)
    if is_small(view.traces[0]):
        told |= {
            name: by_kind
            for name, of in (
                ("numbers", view.numbers),
                ("matched", view.matched),
                ("lackingPart", view.lacking_part),
            )
            if (by_kind := {kind: own for kind in view.kinds if (own := of(kind))})
        }
        return {"version": version, "traces": [raw_trace(trace) for trace in view.traces], **told}
    kinds = [_tokens(view, kind) for kind in view.kinds]
    kind, layer, head = first or (view.kinds[-1], 0, 0)
    weights = sent_weights(view, kind, view.head(kind, layer, head))
    kinds[view.kinds.index(kind)]["first"] = {"layer": layer, "head": head, "weights": weights}
    return {"version": version, "kinds": kinds, **told}


def raw_trace(trace: ForwardTrace) -> dict[str, Any]:
    """Return a trace as the page's own model makes one: tokens, word numbers, weights as float32.

    What follows from these (labels, entropies, rollouts, marks) the page computes, in
    ``measured_trace.js``.
    """
    return {
        "sourceTokens": sendable(trace.source_tokens),
        "targetTokens": sendable(trace.target_tokens),
        "outputTokens": None if trace.output_tokens is None else sendable(trace.output_tokens),
        "sourceWords": None if trace.source_words is None else list(trace.source_words),
        "targetWords": None if trace.target_words is None else list(trace.target_words),
        **({} if trace.normalised else {"unnormalised": True}),
        "attention": {
            kind: {"shape": list(weights.shape), "weights": weights.astype("<f4").tobytes()}
            for kind in trace.kinds
            if (weights := trace.attention(kind)) is not None
        },
    }


def is_small(trace: ForwardTrace) -> bool:
    """Return whether all of a trace is sent at once."""
    attention = (trace.attention(kind) for kind in trace.kinds)
    return sum(weights.nbytes for weights in attention if weights is not None) <= EXACT_BYTES


def _tokens(view: TraceView, kind: str) -> dict[str, Any]:
    queries, keys = view.words(kind)
    reads = view.reads(kind)
    return {
        "kind": kind,
        "dtype": SENT_AS.name,
        "overview": view.overview(kind),
        "shape": list(view.shape(kind)),
        "signed": view.limit(kind) is not None,
        "limit": view.limit(kind),
        "least": view.scales[kind].least,
        "unnormalised": view.is_raw,
        "numbers": view.numbers(kind),
        "matched": view.matched(kind),
        "note": view.note(kind),
        "noRollout": view.no_rollout(kind),
        "masked": _bits(view.masked(kind)),
        "queries": sendable(view.queries(kind)),
        "keys": sendable(view.keys(kind)),
        "reads": None if reads is None else sendable(reads),
        "words": {"queries": queries, "keys": keys},
        "special": dict(zip(("queries", "keys"), view.special(kind), strict=True)),
    }


def _bits(cells: np.ndarray) -> bytes | None:
    return np.packbits(cells).tobytes() if cells.any() else None
