"""Heatmap of one attention matrix with its tokens, and the same in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import (
    difference_digits,
    difference_number,
    fixed_number,
    short_number,
)
from viz_transformer.analysis.combine import SHARES, Scale, scale_of
from viz_transformer.plots.colour import (
    COLOURS,
    ColourScale,
    ScaleChoice,
    colour_scale,
    ink_in,
    note_on_cells,
)
from viz_transformer.plots.figures import new_axes, without_frame
from viz_transformer.plots.labels import label, label_style
from viz_transformer.trace import FloatArray, attention_of
from viz_transformer.trace.times import with_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from viz_transformer.trace import FloatArray, ForwardTrace

_MOST_TOLD = 3


def describe_head(trace: ForwardTrace, kind: str, layer: int, head: int) -> str:
    """Return one head in words: what it is, and its strongest weights.

    The kind, layer and head must be in the trace.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> words = vt.plots.describe_head(trace, "cross", layer=1, head=2)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0.
        head: counted from 0.
    """
    trace = with_times(trace)
    return describe_matrix(
        attention_of(trace, kind)[layer, head],
        trace.query_tokens(kind),
        trace.key_tokens(kind),
        f"{kind} attention, layer {trace.layer_numbers(kind)[layer]}, head {trace.head_numbers[head]}",
        scale=scale_of([trace], kind),
    )


def describe_matrix(
    matrix: FloatArray,
    queries: Sequence[str],
    keys: Sequence[str],
    what: str,
    *,
    scale: Scale = SHARES,
) -> str:
    """Return a matrix in words: what it is, and its strongest weights or largest changes."""
    strongest = np.argsort(-np.abs(matrix), axis=None, kind="stable")[:_MOST_TOLD]
    limit, is_difference = scale.limit, scale.is_difference

    def number(weight: float) -> str:
        if limit is None:
            return fixed_number(weight, 2)
        return difference_number(weight, limit, signed=scale.has_signs)

    pairs = [
        f"{label(queries[query])} to {label(keys[key])} {number(matrix[query, key])}"
        for query, key in zip(*np.unravel_index(strongest, matrix.shape), strict=True)
    ]
    return (
        f"Heatmap of {'the difference in ' * is_difference}{what}: {matrix.shape[0]} queries attend "
        f"to {matrix.shape[1]} keys. The largest {'changes' if is_difference else 'weights'}"
        f"{' (not normalised)' * scale.is_raw}: "
        f"{', '.join(pairs)}."
    )


_MOST_NUMBERS = 12  # a wider matrix has no room for the weights in its cells
_MOST_LABELS = 40  # more tokens than this on an axis, and every second, third … is named
_MOST_STRETCH = 12  # times as many keys as queries, as of sound: then cells are no squares
_MOST_TITLE = 44  # characters in a line of a title
_TITLE_LINE = 0.24  # inches
#: How long labels along the top are turned.
SLANTED: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}


@dataclass(frozen=True, eq=False)
class Picture:
    """A matrix and how it is drawn.

    Attributes:
        weights: ``[query, key]``.
        queries: the tokens that attend.
        keys: the tokens attended to.
        masked: bool ``[query, key]``, the cells that a mask closed.
        title: what it is, in a heading.
        what: what it is, in a sentence: ``"cross attention, layer 1, head 2"``.
        scale: what weights they are, and the usual scale of their colours.
        colours: another scale: ``"row"``, ``"log"`` or limits, see `colour_scale`; None for the usual one.
        threshold: weights of less than this size are left blank; of a scale with a limit, a share of it.
        reads: what a decoder had read when it wrote each query, where that is known.
        merged: whether pieces are merged into words: the weights of a key's summed, of a query's averaged.
    """

    weights: FloatArray
    queries: Sequence[str]
    keys: Sequence[str]
    masked: NDArray[np.bool_]
    title: str
    what: str
    scale: Scale = SHARES
    threshold: float = 0.0
    reads: Sequence[str] | None = None
    merged: bool = False
    colours: ScaleChoice = None


def draw_picture(picture: Picture, ax: Axes | None) -> Axes:
    """Draw a matrix into `ax`, or into a new figure with its describe_picture text; return the axes."""
    weights, limit, note = picture.weights, picture.scale.limit, note_on_cells(picture.scale)
    signed = picture.scale.has_signs
    colours = colour_scale(weights, picture.scale, picture.colours)
    title = broken_title(picture.title, 1.0 + _cell(*weights.shape) * weights.shape[1])
    if ax is None:
        width, height = _size(*weights.shape)
        ax = new_axes(width, height + _TITLE_LINE * title.count("\n"), describe_picture(picture))
    left_out = np.abs(weights) < least_shown(picture)
    values = colours.values
    image = _draw_image(ax, np.ma.masked_where(left_out, values) if left_out.any() else values, colours)
    hatch(ax, picture.masked)
    ax.set_title(title, loc="left", weight="bold")
    _label_axes(ax, picture)
    if max(weights.shape) <= _MOST_NUMBERS:
        for row, col in np.argwhere(~picture.masked & ~left_out):
            weight = weights[row, col]
            colour = ink_in(image, values[row, col])
            text = (
                fixed_number(weight, 2) if limit is None else difference_digits(weight, limit, signed=signed)
            )
            if picture.colours is not None and 0 < abs(weight) < 0.005 and not note:  # not the colour of 0
                tiny = "<0.001" if weight > 0 else ">−0.001"
                text = tiny if abs(weight) < 0.001 else fixed_number(weight, 3, signed=signed)
            ax.text(col, row, text, ha="center", va="center", color=colour)
    colours.draw(ax, image, pad=0.03, note=note)
    return ax


def describe_picture(picture: Picture) -> str:
    """Return a matrix in words, for those who cannot see it."""
    text = describe_matrix(
        picture.weights,
        picture.queries,
        picture.keys,
        picture.what,
        scale=picture.scale,
    )
    if picture.masked.any():
        text += f" {int(picture.masked.sum())} cells are hatched: no head gives them any weight."
    if picture.merged:
        text += " Pieces are merged into words: summed over a key's, averaged over a query's."
    if picture.colours is not None:
        colours = colour_scale(picture.weights, picture.scale, picture.colours)
        meaning = colours.meaning.replace("\n", " ")
        text += f" Colours: {meaning}, from {colours.labels[0]} to {colours.labels[-1]}."
    if picture.threshold:
        text += f" Weights below {short_number(least_shown(picture))} are left out."
    return text


def least_shown(picture: Picture) -> float:
    """Return the size below which a weight is left blank."""
    return picture.threshold * (picture.scale.limit or 1)


def broken_title(title: str, inches: float) -> str:
    """Return a title in lines that are no wider: a narrow picture would cut it off."""
    most = min(_MOST_TITLE, int(10.2 * inches))
    if len(title) <= most:
        return title
    return "\n".join(line for part in title.split(" · ", 1) for line in textwrap.wrap(part, most))


def _cell(n_queries: int, n_keys: int) -> float:
    """Return the side of a cell of a new figure, in inches."""
    return max(0.175, min(0.62, 6.0 / max(n_queries, n_keys)))


def _size(n_queries: int, n_keys: int) -> tuple[float, float]:
    """Return the width and height of a new figure, in inches."""
    side = _cell(n_queries, n_keys)
    least = max(1.2, min(2.4, 0.24 * n_queries))  # so that the words of a few rows do not touch
    return 2.6 + min(9.0, max(3.0, side * n_keys)), 1.4 + min(9.0, max(least, side * n_queries))


def _draw_image(ax: Axes, weights: FloatArray, colours: ColourScale) -> AxesImage:
    image = ax.imshow(
        weights,
        cmap=colours.colormap,
        norm=colours.norm,
        aspect="equal" if weights.shape[1] <= _MOST_STRETCH * weights.shape[0] else "auto",
    )
    without_frame(ax)
    if max(weights.shape) <= _MOST_LABELS:
        ax.set_xticks(np.arange(1, weights.shape[1]) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, weights.shape[0]) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
    return image


def hatch(ax: Axes, masked: NDArray[np.bool_]) -> None:
    """Draw slanted lines over the masked cells [row, column]: one path, however many there are."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not masked.any():
        return
    edges = np.diff(np.pad(masked, ((0, 0), (1, 1))).astype(np.int8), axis=1)  # [query, key + 1]
    rows, starts = np.nonzero(edges == 1)  # where each run of masked cells in a row begins …
    ends = np.nonzero(edges == -1)[1]  # … and ends
    unit = np.asarray(Path.unit_rectangle().vertices)  # [corner, 2]
    boxes = [
        unit * [end - start, 1] + [start - 0.5, row - 0.5]
        for row, start, end in zip(rows, starts, ends, strict=True)
    ]
    path = Path.make_compound_path(*(Path(box, Path.unit_rectangle().codes) for box in boxes))
    ax.add_patch(
        PathPatch(path, fc=COLOURS["raised"], ec=COLOURS["fill"], hatch="/////", linewidth=0, gid="masked")
    )


def _label_axes(ax: Axes, picture: Picture) -> None:
    def some(names: Sequence[str]) -> tuple[range, list[str]]:
        places = range(0, len(names), math.ceil(len(names) / _MOST_LABELS))
        return places, [names[place] for place in places]

    places, labels = some([label(token) for token in picture.keys])
    slanted = len(picture.keys) > _MOST_NUMBERS or max(map(len, labels)) > 7
    ax.set_xticks(places, labels, **label_style(), **(SLANTED if slanted else {}))
    rows = [label(token) for token in picture.queries]
    if picture.reads is not None:
        rows = [f"{label(read)} → {written}" for read, written in zip(picture.reads, rows, strict=True)]
    places, labels = some(rows)
    ax.set_yticks(places, labels, **label_style())
    query = "query" if picture.reads is None else "query: read → written"
    if picture.merged:
        name_query_and_key_axes(ax, f"{query}, mean of pieces", "key (attended to), sum of pieces")
    else:
        name_query_and_key_axes(ax, query)


def name_query_and_key_axes(ax: Axes, query: str = "query", key: str = "key (attended to)") -> None:
    """Name the axes of a matrix, queries down the side and keys along the top."""
    ax.xaxis.set_label_position("top")
    ax.xaxis.tick_top()
    ax.tick_params(which="both", length=0)
    ax.set_xlabel(f"{key} →", color=COLOURS["muted"], loc="left", labelpad=8)
    ax.set_ylabel(f"← {query}", color=COLOURS["muted"], loc="top", labelpad=8)
