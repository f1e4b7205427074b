"""Alternative text: what a picture shows, for those who cannot see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz_transformer.plots.labels import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from viz_transformer.trace import ForwardTrace

_MOST_PAIRS = 3


def set_alt_text(figure: Figure, text: str) -> None:
    """Give a figure its alternative text; `save_figure` writes it into the file."""
    figure.alt_text = text


def describe_head(trace: ForwardTrace, kind: str, layer: int, head: int) -> str:
    """Return one head in words: what it is, and its strongest weights.

    The kind, layer and head must be in the trace.
    """
    matrix = trace.attention(kind)[layer, head]  # [query, key]
    strongest = np.argsort(-matrix, axis=None, kind="stable")[:_MOST_PAIRS]
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    pairs = [
        f"{label(queries[query])} to {label(keys[key])} {matrix[query, key]:.2f}"
        for query, key in zip(*np.unravel_index(strongest, matrix.shape), strict=True)
    ]
    return (
        f"Heatmap of {kind} attention, layer {layer}, head {head}: {matrix.shape[0]} queries look "
        f"at {matrix.shape[1]} keys. The largest weights: {', '.join(pairs)}."
    )
