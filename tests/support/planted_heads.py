"""Traces with heads that do one thing each, planted by hand, and the name of each head."""

from __future__ import annotations

import numpy as np

from viz_transformer.trace import ForwardTrace

#: Twelve letters twice, as the detectors of induction heads read them.
REPEATED = ("<sos>", *"abcdefghijkl", *"abcdefghijkl", "m")
#: Words in pieces, commas and a closing token; the comma is punctuation, and so is "…".
PIECES = (
    *("[CLS]", "un", "##bear", "##able", "dog", ",", "re", "##turn", "##ed", "home", "…"),
    *("at", "night", ",", "un", "##bear", "##able", "cat", "slept", "[SEP]"),
)
WORDS = (None, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 9, 9, 10, 11, None)


def looking_at(meant: np.ndarray, share: float = 0.9) -> np.ndarray:
    """Weights ``[query, key]``: `share` on the keys that each query means, the rest on all keys.

    A query that means none looks at all evenly.
    """
    n_meant = meant.sum(axis=1, keepdims=True)
    aimed = np.divide(meant, n_meant, out=np.full(meant.shape, 1 / meant.shape[1]), where=n_meant > 0)
    return share * aimed + (1 - share) / meant.shape[1]


def causal(weights: np.ndarray) -> np.ndarray:
    """Weights of keys up to the query alone, each row scaled to sum to 1."""
    masked = np.tril(weights)
    return masked / masked.sum(axis=-1, keepdims=True)


def shifted(n: int, shift: int) -> np.ndarray:
    """The cells ``[query, key]`` of a head that looks so many positions ahead."""
    return np.eye(n, k=shift, dtype=bool)


def decoder_heads() -> tuple[ForwardTrace, list[str]]:
    """Heads of a decoder that reads tokens which repeat, and their names."""
    n = len(REPEATED)
    names = [*(f"offset −{k}" for k in range(2, 9)), "duplicate token", "induction"]
    meant = [*(shifted(n, -k) for k in range(2, 9)), shifted(n, -12), shifted(n, -11)]
    for copies in meant[-2:]:
        copies[:13] = False
    heads = [causal(looking_at(each)) for each in meant]
    names.append("rests on one token")
    heads.append(causal(looking_at(np.broadcast_to(np.arange(n) == 5, (n, n)), share=0.35)))
    return ForwardTrace(target_tokens=REPEATED, decoder_attention=np.stack(heads)[None]), names


def encoder_heads() -> tuple[ForwardTrace, list[str]]:
    """Heads of an encoder that reads pieces of words and marks, and their names."""
    n = len(PIECES)
    tokens, words = np.array(PIECES), np.array([-1 if word is None else word for word in WORDS])
    other = ~np.eye(n, dtype=bool)
    commas = np.broadcast_to(np.isin(tokens, [",", "…", "[SEP]"]), (n, n))
    meant = {
        **{f"offset −{k}": shifted(n, -k) for k in range(8, 1, -1)},
        **{f"offset +{k}": shifted(n, k) for k in range(2, 9)},
        "duplicate token": (tokens[:, None] == tokens) & other,
        "same word": (words[:, None] == words) & (words[:, None] >= 0) & other,
        "separator": commas,
    }
    heads = np.stack([looking_at(each) for each in meant.values()])
    trace = ForwardTrace(source_tokens=PIECES, source_words=WORDS, encoder_attention=heads[None])
    return trace, [*meant]


def cross_heads() -> tuple[ForwardTrace, list[str | None]]:
    """Heads of cross-attention that rest on separators, and on one word; that move on, and that move back."""
    n_queries, n_keys = len(REPEATED), len(PIECES)
    query, key = np.arange(n_queries)[:, None], np.arange(n_keys)
    line = 3 + query * 8 / n_queries  # through a part of the source, as speech before silence
    meant = {
        "separator": np.broadcast_to(np.isin(np.array(PIECES), [",", "…", "[SEP]"]), (n_queries, n_keys)),
        "rests on one token": (key == 8) & (query >= 0),
        "monotone alignment": np.abs(key - line) <= 1,
        "": np.abs(key - line[::-1]) <= 1,
    }
    weights = np.stack([looking_at(each, 0.45 if "rests" in name else 0.9) for name, each in meant.items()])
    trace = ForwardTrace(source_tokens=PIECES, target_tokens=REPEATED, cross_attention=weights[None])
    return trace, [name or None for name in meant]
