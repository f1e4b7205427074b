"""What the page reads of a trace: words, sizes, marks, and the weights as bytes.

A small trace is sent whole and exact. Of a large one an overview and one head are sent; the other
heads when they are looked at (see `requests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer.requests import SENT_AS, measures, sent
from viz_transformer.widgets.explorer.trace_view import Shown

#: Traces that take no more bytes than this as float32 are sent exactly, all heads at once.
EXACT_BYTES = 256 * 1024


#: All the small pictures of a large trace take no more than this together; each is from 8 × 8 to
#: 32 × 32 pixels.
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
        UserError: if they cannot be shown (see `Shown`).
    """
    return pack_shown(Shown(trace, compare), version, first)


def pack_shown(shown: Shown, version: int, first: Head | None = None) -> dict[str, Any]:
    """Return what the page reads of what has been checked already."""
    whole = is_whole(shown)
    make = _whole if whole else _overview
    kinds = [{**_words(shown, kind), **make(shown, kind)} for kind in shown.kinds]
    if not whole:
        kind, layer, head = first or (shown.kinds[-1], 0, 0)
        weights = sent(shown.head(kind, layer, head))
        kinds[shown.kinds.index(kind)]["first"] = {"layer": layer, "head": head, "weights": weights}
    return {"version": version, "kinds": kinds}


def is_whole(shown: Shown) -> bool:
    """Return whether all of it is sent at once."""
    return shown.n_bytes <= EXACT_BYTES


def _whole(shown: Shown, kind: str) -> dict[str, Any]:
    weights = np.stack([shown.layer(kind, layer) for layer in range(shown.shape(kind)[0])])
    try:
        measured = measures(shown, kind)
    except UserError:  # rows of more than 1, of which the note tells
        measured = {"labels": None, "entropies": None}
    rolled = None if shown.no_rollout(kind) else shown.rollouts(kind).astype("<f4").tobytes()
    return {
        "dtype": "float32",
        "weights": weights.astype("<f4").tobytes(),
        "rollouts": rolled,
        **measured,
    }


def _overview(shown: Shown, kind: str) -> dict[str, Any]:
    n_heads = sum(np.prod(shown.shape(each)[:2]) for each in shown.kinds)
    side = int(min(32, max(8, (OVERVIEW_BYTES / n_heads) ** 0.5)))
    n_layers, _, rows, cols = shown.shape(kind)
    small = np.stack([strongest(shown.layer(kind, layer), side) for layer in range(n_layers)])
    scaled = 128 + 127 * small if shown.signed else 255 * small
    return {
        "dtype": SENT_AS.name,
        "overview": {
            "rows": min(side, rows),
            "cols": min(side, cols),
            "values": np.rint(scaled).clip(0, 255).astype(np.uint8).tobytes(),
        },
    }


def _words(shown: Shown, kind: str) -> dict[str, Any]:
    queries, keys = shown.words(kind)
    reads = shown.reads(kind)
    return {
        "kind": kind,
        "shape": list(shown.shape(kind)),
        "signed": shown.signed,
        "note": shown.note(kind),
        "noRollout": shown.no_rollout(kind),
        "masked": _bits(shown.masked(kind)),
        "queries": sendable(shown.queries(kind)),
        "keys": sendable(shown.keys(kind)),
        "reads": None if reads is None else sendable(reads),
        "words": {"queries": queries, "keys": keys},
        "special": dict(zip(("queries", "keys"), shown.special(kind), strict=True)),
    }


def _bits(cells: np.ndarray) -> bytes | None:
    return np.packbits(cells).tobytes() if cells.any() else None
