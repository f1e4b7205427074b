"""What the page reads of a trace: words, sizes, marks, and the weights as bytes.

A small trace is sent whole and exact. Of a large one an overview and one head are sent; the other
heads when they are looked at (see `requests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.widgets.explorer.shown import Shown

#: Traces that take no more bytes than this as float32 are sent exactly, all heads at once.
EXACT_BYTES = 256 * 1024


def pack(shown: Any, compare: Any = None, *, version: int = 0) -> dict[str, Any]:
    """Return what the page reads, of a trace or of the difference of two.

    Weights are little-endian bytes, ``[layer, head, query, key]`` in C order.

    Args:
        shown: a ForwardTrace.
        compare: another of the same shape, whose weights are subtracted; or None.
        version: which of the view's traces it is: what the page asks for names it.

    Raises:
        UserError: if they cannot be shown (see `Shown`).
    """
    return pack_shown(Shown(shown, compare), version)


def pack_shown(shown: Shown, version: int) -> dict[str, Any]:
    """Return what the page reads of what has been checked already."""
    return {"version": version, "kinds": [_kind(shown, kind) for kind in shown.kinds]}


def _kind(shown: Shown, kind: str) -> dict[str, Any]:
    shape = shown.shape(kind)
    dtype = np.dtype("<f4" if shown.n_bytes <= EXACT_BYTES else "<f2")
    no_rollout = shown.no_rollout(kind)
    weights = np.stack([shown.layer(kind, layer) for layer in range(shape[0])])
    return {
        **_words(shown, kind),
        "shape": list(shape),
        "signed": shown.signed,
        "dtype": dtype.name,
        "weights": weights.astype(dtype).tobytes(),
        "masked": _bits(shown.masked(kind)),
        "labels": shown.labels(kind),
        "entropies": shown.entropies(kind).astype("<f4").tobytes(),
        "rollouts": None if no_rollout else shown.rollouts(kind).astype(dtype).tobytes(),
        "noRollout": no_rollout,
    }


def _words(shown: Shown, kind: str) -> dict[str, Any]:
    queries, keys = shown.words(kind)
    return {
        "kind": kind,
        "queries": _sendable(shown.queries(kind)),
        "keys": _sendable(shown.keys(kind)),
        "reads": _sendable(shown.reads(kind)),
        "words": {"queries": queries, "keys": keys},
        "special": dict(zip(("queries", "keys"), shown.special(kind), strict=True)),
    }


def _bits(cells: np.ndarray) -> bytes | None:
    return np.packbits(cells).tobytes() if cells.any() else None


def _sendable(tokens: tuple[str, ...] | None) -> list[str] | None:
    # Half of a surrogate pair is no character, and a message that holds one cannot be encoded.
    if tokens is None:
        return None
    return [token.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for token in tokens]
