"""Small heatmaps of all the heads of a kind, in one image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import shown
from viz_transformer.analysis.combine import scale_of, strongest
from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour_scale import ScaleChoice, colour_scale
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import label, label_style
from viz_transformer.trace import KINDS, ForwardTrace, attention_of
from viz_transformer.trace.arrays import given_sequence
from viz_transformer.trace.times import with_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES = 16  # a small matrix has no room for the names of more tokens
_SLIDE = (13.3, 7.5)  # inches, 16:9 as PowerPoint and Keynote have it
_MOST_CELLS = 96  # of a small matrix a side: a picture has no more pixels for it


def plot_heads(
    trace: ForwardTrace,
    kind: str,
    ax: Axes | None = None,
    *,
    layers: Sequence[int] | None = None,
    scale: ScaleChoice = None,
) -> Figure:
    """Draw all the heads of one kind, small: rows are layers, columns are heads.

    A head of more than 96 tokens is drawn as 96 × 96 cells, each the strongest weight in it.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> figure = vt.plots.plot_heads(trace, "cross")

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        ax: where to draw; a new figure if None.
        layers: indices of the layers to draw, from 0, in this order. A new figure of them is as large as a
            slide holds, at most 13.3 by 7.5 inches. None draws all, however high that becomes.
        scale: of the colours, as in `plot_head`.

    Returns:
        The figure. The image on its first axes holds the weights of all heads beside each other,
        NaN between them.

    Raises:
        UserError: if the trace has no such attention or layers, or there is no such `scale`.
    """
    weights = attention_of(trace, kind)
    chosen: Sequence[int] = range(len(weights))
    if layers is not None:
        chosen = _chosen_layers(layers, len(weights))
        weights = weights[list(chosen)]  # [chosen layer, head, query, key]
    n_layers, n_heads, n_queries, n_keys = weights.shape
    named = max(n_queries, n_keys) <= _MOST_NAMES and n_heads <= 8
    # In inches; a cell is side / n_keys high, and a name needs a sixth.
    side = max(1.7, n_keys / 6) if named else max(0.55, min(1.4, 14 / n_heads))
    letters = size = 10.0  # points, of a token's name and of all else
    if layers is not None:
        side = min((_SLIDE[0] - 2.2) / n_heads, (_SLIDE[1] - 1.6) / n_layers * n_keys / n_queries)
        letters = min(14.0, 0.72 * 72 * side / n_keys)
        named, size = letters >= 9.4, 14.0  # 13 pixels at 100 dots an inch
    if ax is None:
        figure, ax = new_axes(2.2 + side * n_heads, 1.6 + side * n_layers * n_queries / n_keys, close=True)
        set_alt_text(
            figure,
            f"{KINDS[kind].title}: {n_layers} layers of {n_heads} heads, each a small heatmap of "
            f"{n_queries} queries and {n_keys} keys.",
        )
    colours = colour_scale(weights, scale_of([trace], kind), scale)
    small = np.stack([strongest(layer, _MOST_CELLS) for layer in colours.values])
    sheet, rows, cols = _mosaic(small)
    image = ax.imshow(sheet, cmap=colours.colormap, norm=colours.norm, interpolation="nearest")
    ax.spines[:].set_visible(False)
    height, width = small.shape[2:]
    if named:
        trace = with_times(trace)
        names = [label(token) for token in trace.key_tokens(kind)]
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(_cells_after(cols, width), names * n_heads, **label_style(size=letters), **turn)
        names = [label(token) for token in trace.query_tokens(kind)]
        ax.set_yticks(_cells_after(rows, height), names * n_layers, **label_style(size=letters))
    else:
        ax.set(xticks=[], yticks=[])
    top, right = ax.secondary_xaxis("top"), ax.secondary_yaxis("right")
    numbers, numbers_of_layers = trace.head_numbers[:n_heads], trace.layer_numbers(kind)
    heads = [f"head {each}" if n_heads <= 8 or i == 0 else str(each) for i, each in enumerate(numbers)]
    top.set_xticks(cols + (width - 1) / 2, heads, size=size)
    right.set_yticks(rows + (height - 1) / 2, [f"layer {numbers_of_layers[i]}" for i in chosen], size=size)
    for each in (ax, top, right):
        each.tick_params(length=0)
        each.spines[:].set_visible(False)
    ax.set_title(KINDS[kind].title, loc="left", weight="bold", size=size + 2)
    colours.draw(ax, image, pad=0.02, size=size)
    return cast("Figure", ax.figure)


def _chosen_layers(layers: Any, n_layers: int) -> tuple[int, ...]:
    """Return the layers that were chosen, which must be there, each once."""
    chosen = given_sequence(layers)
    there = all(type(each) is int and 0 <= each < n_layers for each in chosen)
    if not chosen or not there or len(set(chosen)) != len(chosen):
        raise UserError(
            f"layers={shown(layers)}; give different layers from 0 to {n_layers - 1}, such as layers=[0]"
        )
    return chosen


def _mosaic(
    small: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Lay matrices ``[layer, head, query, key]`` out; also where each row and column begins."""
    n_layers, n_heads, height, width = small.shape
    gap = max(1, round(max(height, width) / 14))
    rows, cols = np.arange(n_layers) * (height + gap), np.arange(n_heads) * (width + gap)
    sheet = np.full((rows[-1] + height, cols[-1] + width), np.nan, dtype=np.float32)
    for layer, top in enumerate(rows):
        for head, left in enumerate(cols):
            sheet[top : top + height, left : left + width] = small[layer, head]
    return sheet, rows, cols


def _cells_after(starts: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of `count` cells after each start."""
    return (starts[:, None] + np.arange(count)).ravel()
