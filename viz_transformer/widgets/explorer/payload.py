"""The payload of a trace for the page: tokens, sizes, marks, and the weights as bytes.

A small trace is sent whole and exact. Of a large one an overview and one head are sent, and each
other head when it is shown (see `requests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer.requests import SENT_AS, measures, to_bytes
from viz_transformer.widgets.explorer.trace_view import TraceView

#: Traces that take no more bytes than this as float32 are sent exactly, all heads at once.
EXACT_BYTES = 256 * 1024

#: All thumbnails of a large trace take no more than this together; each is from 8 × 8 to 32 × 32
#: pixels.
OVERVIEW_BYTES = 192 * 1024

Head = tuple[str, int, int]


def pack(
    trace: ForwardTrace,
    compare: ForwardTrace | None = None,
    *,
    version: int = 0,
    first: Head | None = None,
) -> dict[str, Any]:
    """Return what the page reads, of a trace or of the difference of two.

    Weights are little-endian bytes in C order. Where all of them fit in 256 KiB as float32, they
    are sent so: ``[layer, head, query, key]``. Else an overview of uint8 is sent, 255 for a weight
    of 1 (128 for a difference of 0, 255 for 1), each pixel the strongest weight beneath it; and of
    one head the weights, float16, off by 0.00025 at most.

    Args:
        trace: the trace.
        compare: another of the same shape, whose weights are subtracted; or None.
        version: which of a view's traces it is: what the page asks for names it.
        first: the kind, layer and head that is sent with the overview; the last kind's first head
            if None.

    Raises:
        UserError: if they cannot be shown (see `TraceView`).
    """
    return pack_view(TraceView(trace, compare), version, first)


def pack_view(view: TraceView, version: int, first: Head | None = None) -> dict[str, Any]:
    """Return what the page reads of what has been checked already."""
    whole = is_whole(view)
    pack_weights = _whole if whole else _overview
    kinds = [{**_tokens(view, kind), **pack_weights(view, kind)} for kind in view.kinds]
    if not whole:
        kind, layer, head = first or (view.kinds[-1], 0, 0)
        weights = to_bytes(view.head(kind, layer, head))
        kinds[view.kinds.index(kind)]["first"] = {"layer": layer, "head": head, "weights": weights}
    return {"version": version, "kinds": kinds}


def is_whole(view: TraceView) -> bool:
    """Return whether all of it is sent at once."""
    return view.n_bytes <= EXACT_BYTES


def _whole(view: TraceView, kind: str) -> dict[str, Any]:
    weights = np.stack([view.layer(kind, layer) for layer in range(view.shape(kind)[0])])
    try:
        measured = measures(view, kind)
    except UserError:  # rows of more than 1, of which the note tells
        measured = {"labels": None, "entropies": None}
    rolled = None if view.no_rollout(kind) else view.rollouts(kind).astype("<f4").tobytes()
    return {
        "dtype": "float32",
        "weights": weights.astype("<f4").tobytes(),
        "rollouts": rolled,
        **measured,
    }


def _overview(view: TraceView, kind: str) -> dict[str, Any]:
    n_heads = sum(np.prod(view.shape(each)[:2]) for each in view.kinds)
    side = int(min(32, max(8, (OVERVIEW_BYTES / n_heads) ** 0.5)))
    n_layers, _, rows, cols = view.shape(kind)
    small = np.stack([strongest(view.layer(kind, layer), side) for layer in range(n_layers)])
    scaled = 128 + 127 * small if view.signed else 255 * small
    return {
        "dtype": SENT_AS.name,
        "overview": {
            "rows": min(side, rows),
            "cols": min(side, cols),
            "values": np.rint(scaled).clip(0, 255).astype(np.uint8).tobytes(),
        },
    }


def _tokens(view: TraceView, kind: str) -> dict[str, Any]:
    queries, keys = view.words(kind)
    reads = view.reads(kind)
    return {
        "kind": kind,
        "shape": list(view.shape(kind)),
        "signed": view.signed,
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
