"""Attention weights as heatmaps: one head with its words, or all the heads of a kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from viz_transformer.errors import UserError
from viz_transformer.plots.alt import describe_head, set_alt_text
from viz_transformer.plots.colour import ink_on, weight_colormap
from viz_transformer.plots.labels import label, label_font
from viz_transformer.trace import FloatArray, ForwardTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

KIND_NAMES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}

_MOST_NUMBERS = 12  # a wider matrix has no room for the weights in its cells
_MOST_SMALL_LABELS = 16  # a small matrix has no room for the names of more tokens
_MOST_LABELS = 40  # more tokens than this on an axis, and every second, third … is named


def plot_head(
    trace: ForwardTrace, kind: str, layer: int, head: int, ax: Axes | None = None
) -> Axes:
    """Draw one head's weights as a heatmap: queries down the side, keys along the top.

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the weights, ``[query, key]``, coloured from 0 to 1.

    Raises:
        UserError: if the trace has no such attention, layer or head.
    """
    weights = _weights(trace, kind)
    for name, index, size in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
        if not 0 <= index < size:
            raise UserError(
                f"{name}={index}, but the {kind} attention of this trace has {size}; "
                f"choose 0 to {size - 1}"
            )
    matrix = weights[layer, head]  # [query, key]
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    if ax is None:
        ax = _new_axes(*matrix.shape)
        set_alt_text(ax.figure, describe_head(trace, kind, layer, head))
    image = _draw(ax, matrix, seams=max(matrix.shape) <= _MOST_LABELS)
    ax.set_title(f"{KIND_NAMES[kind]} · layer {layer} · head {head}", loc="left", weight="bold")
    _label_axes(ax, queries, keys, size=10 if max(matrix.shape) <= 24 else 8)
    ax.set_xlabel("key (is looked at) →", color="0.35", loc="left", labelpad=8)
    ax.set_ylabel("← query (looks)", color="0.35", loc="top", labelpad=8)
    if max(matrix.shape) <= _MOST_NUMBERS:
        for (row, col), weight in zip(_cells(matrix), matrix.ravel(), strict=True):
            colour = ink_on(image.cmap(image.norm(weight))[:3])
            ax.text(col, row, f"{weight:.2f}", ha="center", va="center", color=colour, size=9)
    _add_scale(image, [ax])
    return ax


def plot_heads(trace: ForwardTrace, kind: str) -> Figure:
    """Draw all the heads of one kind, small: rows are layers, columns are heads.

    Raises:
        UserError: if the trace has no such attention.
    """
    import matplotlib.pyplot as plt

    weights = _weights(trace, kind)
    n_layers, n_heads, n_queries, n_keys = weights.shape
    labelled = max(n_queries, n_keys) <= _MOST_SMALL_LABELS and n_heads <= 8
    side = 1.7 if labelled else max(0.55, min(1.4, 14 / n_heads))  # inches
    figure, axes = plt.subplots(
        n_layers,
        n_heads,
        figsize=(1.6 + side * n_heads, 1.1 + side * n_layers),
        squeeze=False,
        layout="constrained",
    )
    # Returned, it is shown once by a notebook; left with pyplot, it would be shown twice.
    plt.close(figure)
    for layer, head in _cells(weights):
        ax = axes[layer, head]
        image = _draw(ax, weights[layer, head], seams=labelled)
        outer_left, outer_bottom = head == 0, layer == n_layers - 1
        if labelled and (outer_left or outer_bottom):
            _label_axes(ax, trace.query_tokens(kind), trace.key_tokens(kind), size=7, top=False)
            ax.tick_params(labelleft=outer_left, labelbottom=outer_bottom)
        else:
            ax.set(xticks=[], yticks=[])
        if layer == 0:
            ax.set_title(f"head {head}" if n_heads <= 8 else f"{head}", size=10)
        if outer_left:
            ax.set_ylabel(f"layer {layer}" if n_layers <= 8 else f"{layer}", size=10)
    set_alt_text(
        figure,
        f"{KIND_NAMES[kind]}: {n_layers} layers of {n_heads} heads, each a small heatmap of "
        f"{n_queries} queries and {n_keys} keys.",
    )
    figure.suptitle(KIND_NAMES[kind], x=0.01, ha="left", weight="bold")
    _add_scale(image, axes.ravel().tolist())
    return figure


def _weights(trace: ForwardTrace, kind: str) -> FloatArray:
    weights = trace.attention(kind)
    if weights is None:
        raise UserError(f"this trace holds no {kind} attention; it holds {list(trace.kinds)}")
    return weights


def _cells(matrix: FloatArray) -> list[tuple[int, int]]:
    """The indices of the first two axes, row by row."""
    return [(row, col) for row in range(matrix.shape[0]) for col in range(matrix.shape[1])]


def _new_axes(n_queries: int, n_keys: int) -> Axes:
    import matplotlib.pyplot as plt

    side = max(0.16, min(0.62, 6.0 / max(n_queries, n_keys)))  # inches a cell
    size = (2.6 + min(9.0, max(2.4, side * n_keys)), 1.4 + min(9.0, max(1.2, side * n_queries)))
    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def _draw(ax: Axes, matrix: FloatArray, seams: bool) -> AxesImage:
    image = ax.imshow(matrix, cmap=weight_colormap(), vmin=0, vmax=1, aspect="equal")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if seams:
        ax.set_xticks([col - 0.5 for col in range(1, matrix.shape[1])], minor=True)
        ax.set_yticks([row - 0.5 for row in range(1, matrix.shape[0])], minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
    return image


def _add_scale(image: AxesImage, axes: list[Axes]) -> None:
    bar = axes[0].figure.colorbar(
        image, ax=axes, shrink=0.5, aspect=22, pad=0.03, ticks=[0, 0.5, 1], format="%g"
    )
    bar.outline.set_visible(False)
    bar.set_label("weight")


def _label_axes(
    ax: Axes, queries: tuple[str, ...], keys: tuple[str, ...], size: float, top: bool = True
) -> None:
    def named(tokens: tuple[str, ...]) -> tuple[range, list[str]]:
        places = range(0, len(tokens), math.ceil(len(tokens) / _MOST_LABELS))
        return places, [label(tokens[place]) for place in places]

    # parse_math=False: a token with two dollar signs is no formula.
    text = {"fontproperties": label_font(size), "parse_math": False}
    places, labels = named(keys)
    slanted = len(keys) > _MOST_NUMBERS or max(map(len, labels)) > 7
    turn = {"rotation": 45, "ha": "left" if top else "right", "rotation_mode": "anchor"}
    ax.set_xticks(places, labels, **text, **(turn if slanted or not top else {}))
    places, labels = named(queries)
    ax.set_yticks(places, labels, **text)
    if top:
        ax.xaxis.set_label_position("top")
        ax.xaxis.tick_top()
        ax.tick_params(which="both", length=0)
