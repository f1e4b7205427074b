"""Diagram of a whole model: its boxes, and every word's vectors and attention in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import new_figure, set_alt_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FILLS = {
    "tokens": "key-tint",
    "embedding": "key-tint",
    "positions": "key-tint",
    "self_attention": "weight-tint",
    "masked_self_attention": "weight-tint",
    "cross_attention": "weight-tint",
    "feed_forward": "line",
    "output": "key-tint",
}
_WIDTHS = {"tokens": 0.75, "self_attention": 1.1, "masked_self_attention": 1.1, "cross_attention": 1.5,
           "output": 1.15}  # fmt: skip
_WIDTH, _FOLDED, _GAP = 0.62, 0.3, 0.1  # of a box, of folded layers, between boxes; all in inches
_ROW, _ABOVE, _BELOW = 0.24, 0.5, 0.34  # of a word, and beside the boxes of a stack
_STRIP, _CELLS = 0.34, 10
_INCH = 1.3  # of the screen, for one of those above: then letters have room
_LEAST = 0.02  # weaker attention is not drawn


def plot_architecture(boxes: Sequence[Mapping[str, Any]], chosen: str, *, title: str = "") -> Figure:
    """Draw the boxes of a model from left to right, one stack below the other.

    Args:
        boxes: as `widgets.architecture` has them, in the order of the flow. Each has ``key``,
            ``lines`` (its name), ``part``, ``stack``, ``layer``, ``parameters``, ``n_rows`` (how
            many words the stack reads), ``tokens`` (those that have come), and as far as it makes
            them ``vectors`` [position, d_model], ``weights`` [query, key] and ``likeliest``.
        chosen: key of the box to frame. Of each stack, the layer of this box or the last that words
            have reached is drawn, and the others folded.
        title: above it all.

    Raises:
        UserError: if no box has the key.
    """
    if chosen not in [box["key"] for box in boxes]:
        raise UserError(f"there is no box {chosen!r}; the boxes are {', '.join(box['key'] for box in boxes)}")
    stacks = [list(group) for _, group in groupby(boxes, key=lambda box: box["stack"])]
    lanes = [_columns(stack, _open_layer(stack, chosen)) for stack in stacks]
    width = max(lane[-1][1] + _width(lane[-1][0]) for lane in lanes)
    heights = [_ABOVE + _ROW * (stack[0]["n_rows"] + 0.5) + _BELOW for stack in stacks]
    figure = new_figure(_INCH * (width + 0.5), _INCH * (sum(heights) + 0.35))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(-0.1, width + 0.4), ylim=(-sum(heights), 0.35))
    ax.set_axis_off()
    ax.text(0, 0.17, title, weight="bold", va="center")
    ends = []
    top = 0.0
    for lane, height in zip(lanes, heights, strict=True):
        box_top, bottom = top - _ABOVE, top - height + _BELOW
        for column, x in lane:
            _draw_column(ax, column, x, box_top, bottom, chosen)
        ends.append((lane, box_top, bottom))
        top -= height
    _draw_memory(ax, ends)
    set_alt_text(figure, title)
    return figure


def percent_text(share: float) -> str:
    """Return a probability in few characters, as the view has it: 37%, <1%, >99%."""
    if 0.995 < share < 1:
        return ">99%"
    return "<1%" if share < 0.005 else f"{share:.0%}"


def _open_layer(stack: list[Mapping[str, Any]], chosen: str) -> int:
    for box in stack:
        if box["key"] == chosen and box["layer"] is not None:
            return int(box["layer"])
    return max((box["layer"] for box in stack if box["layer"] is not None and box["tokens"]), default=0)


def _columns(stack: list[Mapping[str, Any]], layer: int) -> list[tuple[list[Mapping[str, Any]], float]]:
    """Return the columns from left to right with their places: a box each, or the boxes of folded layers."""
    columns: list[list[Mapping[str, Any]]] = []
    for box in stack:
        folded = box["layer"] is not None and box["layer"] != layer
        before = columns[-1][-1]["layer"] if columns else None
        if folded and before not in (None, layer) and (before < layer) == (box["layer"] < layer):
            columns[-1].append(box)
        else:
            columns.append([box])
    x, placed = 0.0, []
    for column in columns:
        placed.append((column, x))
        x += _width(column) + _GAP
    return placed


def _width(column: list[Mapping[str, Any]]) -> float:
    return _FOLDED if len(column) > 1 else _WIDTHS.get(column[0]["part"], _WIDTH)


def _draw_column(
    ax: Axes, column: list[Mapping[str, Any]], x: float, top: float, bottom: float, chosen: str
) -> None:
    from matplotlib.patches import Rectangle

    box, width, middle = column[0], _width(column), x + _width(column) / 2
    framed = len(column) == 1 and box["key"] == chosen
    fill = COLOURS["raised" if len(column) > 1 else _FILLS.get(box["part"], "raised")]
    edge = COLOURS["ink" if framed else "fill"]
    ax.add_patch(Rectangle((x, bottom), width, top - bottom, fc=fill, ec=edge, lw=2 if framed else 0.8))
    learned = sum(each["parameters"] for each in column)
    ax.text(middle, bottom - 0.13, f"{learned:,}" if learned else "–", ha="center", va="center")
    if len(column) > 1:
        numbers = sorted({each["layer"] for each in column})
        name = f"layer {numbers[0]}" if len(numbers) == 1 else f"layers {numbers[0]}–{numbers[-1]}"
        ax.text(middle, (top + bottom) / 2, name, rotation=90, ha="center", va="center")
        return
    name = box["stack"] if box["part"] == "tokens" else "\n".join(box["lines"])
    weight = "bold" if framed or box["part"] == "tokens" else "normal"
    ax.text(middle, top + 0.05, name, ha="center", va="bottom", weight=weight, linespacing=1)
    rows = [top - _ROW * (row + 0.75) for row in range(box["n_rows"])]
    if box["part"] == "tokens":
        _draw_words(ax, box["tokens"], x + width - 0.06, rows, "right")
    elif box["part"] == "output":
        best = [max(each.items(), key=lambda one: one[1]) for each in box["likeliest"]]
        _draw_words(ax, [f"{word} {percent_text(share)}" for word, share in best], x + 0.06, rows, "left")
    else:
        _draw_vectors(ax, box, x, width, rows, bottom)


def _draw_words(ax: Axes, words: Sequence[str], x: float, rows: list[float], side: Any) -> None:
    for word, y in zip(words, rows, strict=False):
        ax.text(x, y, word, ha=side, va="center", parse_math=False)


def _draw_vectors(
    ax: Axes, box: Mapping[str, Any], x: float, width: float, rows: list[float], bottom: float
) -> None:
    """Draw a strip for each word, and the lines that lead to it."""
    strip = x + width - _STRIP - 0.06
    if box["weights"] is None:
        for y in rows[: len(box["tokens"])]:
            ax.plot([x, strip], [y, y], color=COLOURS["fill"], lw=0.7)
    else:
        _draw_attention(ax, box, (x, strip), rows, bottom)
    values = np.asarray(box["vectors"])[:, :_CELLS]  # [position, cell]
    limit = 2.5 * float(np.sqrt(np.mean(np.square(box["vectors"])))) if values.size else 1.0
    for row, y in zip(values, rows, strict=False):
        extent = (strip, strip + _STRIP, y - 0.07, y + 0.07)
        options: dict[str, Any] = {"vmin": -limit, "vmax": limit, "aspect": "auto", "zorder": 3}
        ax.imshow(row[None], extent=extent, cmap=signed_colormap(), **options)


def _draw_attention(
    ax: Axes, box: Mapping[str, Any], ends: tuple[float, float], rows: list[float], bottom: float
) -> None:
    x, strip = ends
    heights = rows
    if box["part"] == "cross_attention":
        n_keys = len(box["keys"])
        top = rows[0] + 0.75 * _ROW
        heights = [top - (top - bottom) * (key + 0.5) / n_keys for key in range(n_keys)]
        x += 0.62
        if box["tokens"]:
            _draw_words(ax, box["keys"], x - 0.04, heights, "right")
    for query, weights in enumerate(box["weights"]):
        for key, weight in enumerate(weights):
            if weight >= _LEAST:
                style = {"lw": 0.4 + 1.8 * weight, "alpha": float(0.1 + 0.8 * min(1.0, weight))}
                ax.plot([x, strip], [heights[key], rows[query]], color=COLOURS["weight"], **style)


def _draw_memory(
    ax: Axes, ends: list[tuple[list[tuple[list[Mapping[str, Any]], float]], float, float]]
) -> None:
    """Draw the way of the encoder's output to cross-attention."""
    if len(ends) < 2:
        return
    (encoder, top, bottom), (decoder, decoder_top, _) = ends
    crosses = [x for column, x in decoder if len(column) == 1 and column[0]["part"] == "cross_attention"]
    x = encoder[-1][1] + _width(encoder[-1][0])
    middle, gutter, to = (top + bottom) / 2, bottom - _BELOW + 0.08, crosses[0] + 0.15
    path = [(x, middle), (x + 0.2, middle), (x + 0.2, gutter), (to, gutter), (to, decoder_top + 0.02)]
    ax.plot(*zip(*path, strict=True), color=COLOURS["key"], lw=1.6)
    ax.text(x + 0.26, gutter, "memory", color=COLOURS["key"], va="center")
