"""Positional encodings and biases: tables, pairs of dimensions, and scores by offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._numbers import fixed_number
from viz_transformer.analysis.position_bias import bias_by_distance, bias_by_offset
from viz_transformer.analysis.positions import (
    as_table,
    is_sinusoidal,
    look_alikes,
    offset_spread,
    rms,
    similarity,
    wavelength,
)
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import (
    add_scale,
    left_and_bottom,
    legend_below,
    new_axes,
    new_panels,
    set_alt_text,
    without_frame,
)
from viz_transformer.trace import ForwardTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_SINE, _COSINE, _MARK = COLOURS["ink"], COLOURS["muted"], COLOURS["ink"]
_MOST_LINES = 64  # of other positions behind the chosen one's


def plot_positions(
    source: ForwardTrace | ArrayLike, ax: Axes | None = None, *, position: int | None = None
) -> Axes:
    """Draw a table of positions: a row for each position, a column for each dimension.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> axes = vt.plots.plot_positions(trace, position=2)

    Args:
        source: a table [position, d_model], or a trace that holds the encoder's
            (`source_positions`), else the decoder's.
        ax: where to draw; a new figure if None.
        position: a row to mark, or None.

    Returns:
        The axes. Their image holds the table; its colours are even around 0.

    Raises:
        UserError: if it is no table, or the trace holds none, or lacks the position.
    """
    table = _table_of(source)
    if ax is None:
        ax = new_axes(
            6.4,
            1.6 + min(6.0, 0.08 * len(table) + 1.2),
            f"Heatmap of positional encodings: {len(table)} positions by {table.shape[1]} dimensions, "
            f"values from {fixed_number(table.min(), 2)} to {fixed_number(table.max(), 2)}.",
        )
    limit = float(np.abs(table).max()) or 1.0
    image = ax.imshow(
        table, cmap=signed_colormap(), vmin=-limit, vmax=limit, aspect="auto", interpolation="none"
    )
    if position is not None:
        _check_position(position, table)
        ax.axhline(position, color=_MARK, linewidth=1)
    left_and_bottom(ax)
    ax.set_title("Positional encoding", loc="left", weight="bold")
    ax.set_xlabel("dimension")
    ax.set_ylabel("position")
    add_scale(ax, image, "value")
    return ax


def plot_wavelength(
    source: ForwardTrace | ArrayLike,
    pair: int,
    ax: Axes | None = None,
    *,
    position: int | None = None,
) -> Axes:
    """Draw the two dimensions of one pair over the positions.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> axes = vt.plots.plot_wavelength(trace, pair=1)

    Args:
        source: as for `plot_positions`.
        pair: i of the dimensions 2i and 2i + 1.
        ax: where to draw; a new figure if None.
        position: a position to mark, with those that are nearly alike to the pair; or None.

    Returns:
        The axes; their first two lines hold the dimensions 2i and 2i + 1. The title names the
        wavelength where the table is the paper's.

    Raises:
        UserError: as `plot_positions`, or if there is no such pair.

    Source: Vaswani et al. 2017, section 3.5.
    """
    table = _table_of(source)
    n_pairs = table.shape[1] // 2
    if not 0 <= pair < n_pairs:
        raise UserError(
            f"pair={pair}, but {table.shape[1]} dimensions are {n_pairs} pairs; choose 0 to {n_pairs - 1}"
        )
    if position is not None:
        _check_position(position, table)
    if ax is None:
        ax = new_axes(6.4, 3.0, describe_wavelength(table, pair, position=position))
    even, odd = 2 * pair, 2 * pair + 1
    sinusoidal = is_sinusoidal(table)
    names = ("sine", "cosine") if sinusoidal else ("value", "value")
    for dimension, name, colour, dash in (
        (even, names[0], _SINE, "-"),
        (odd, names[1], _COSINE, "--"),
    ):
        ax.plot(table[:, dimension], dash, color=colour, label=f"dimension {dimension} ({name})")
    if position is not None:
        alike = look_alikes(table, position, pair)
        ax.axvline(position, color=_MARK, linewidth=1)
        for dimension in (even, odd):
            ax.plot(alike, table[list(alike), dimension], "o", color=_MARK, mfc="white", markersize=5)
        ax.plot([], [], "o", color=_MARK, mfc="white", markersize=5, label=f"looks like {position}")
    left_and_bottom(ax)
    ax.set_title(f"Dimensions {even} and {odd}{_turn(table, pair)}", loc="left", weight="bold")
    ax.set_xlabel("position")
    legend_below(ax)
    return ax


def describe_wavelength(table: ArrayLike, pair: int, *, position: int | None = None) -> str:
    """Return in words what `plot_wavelength` draws of a table."""
    table = as_table(table)
    even, odd = 2 * pair, 2 * pair + 1
    text = f"Dimensions {even} and {odd} over {len(table)} positions{_turn(table, pair)}."
    if position is not None:
        n_alike = len(look_alikes(table, position, pair))
        text += f" This pair can hardly tell position {position} from {n_alike} others."
    return text


def _turn(table: np.ndarray, pair: int) -> str:
    """How often a pair turns, where the table is the paper's."""
    turn = wavelength(pair, table.shape[1])
    return f", one turn every {turn:,.1f} tokens" if is_sinusoidal(table) else ""


def plot_similarity(source: ForwardTrace | ArrayLike, position: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the dot product of a position's vector with those before and after it, by offset.

    Behind it, pale, the same of every other position: one line where only the offset counts, a
    tangle where the place counts too.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> axes = vt.plots.plot_similarity(trace, position=2)

    Args:
        source: as for `plot_positions`.
        position: the position whose line is drawn strong.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: as `plot_positions`.
    """
    return plot_by_offset(similarity(_table_of(source)), position, ax, of="dot product")


def plot_by_offset(
    scores: ArrayLike, position: int = 0, ax: Axes | None = None, *, of: str = "score"
) -> Axes:
    """Draw scores [position, position] by offset: from each position to the others around it.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> distances = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    >>> axes = vt.plots.plot_by_offset(-distances, position=2)

    Args:
        scores: [position, position].
        position: the row whose line is drawn strong.
        ax: where to draw; a new figure if None.
        of: what the scores are, for the axis.

    Returns:
        The axes; their last line holds the chosen row.

    Raises:
        UserError: if the scores are not square, or lack the position.
    """
    matrix = as_table(scores, "scores")
    if matrix.shape[0] != matrix.shape[1]:
        raise UserError(f"scores has shape {list(matrix.shape)}; it must be [position, position]")
    _check_position(position, matrix)
    if ax is None:
        ax = new_axes(
            6.4,
            2.8,
            f"Line chart of the {of} by offset, from position {position}. At one offset the positions "
            f"differ by up to {offset_spread(matrix):.3f}.",
        )
    places = np.arange(len(matrix))
    for row in places[:: -(-len(matrix) // _MOST_LINES)]:
        ax.plot(places - row, matrix[row], color=COLOURS["line"], linewidth=0.8)
    ax.plot(places - position, matrix[position], color=_SINE, linewidth=1.8)
    left_and_bottom(ax)
    ax.set_title(f"From position {position}; pale, from every other", loc="left", weight="bold")
    ax.set_xlabel("offset in tokens")
    ax.set_ylabel(of)
    return ax


def plot_shift(here: ArrayLike, shifted: ArrayLike, shift: int, axes: Any = None) -> Figure:
    """Draw the scores of a sentence, those of the same sentence further on, and the difference.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> scores = np.eye(4)
    >>> figure = vt.plots.plot_shift(scores, scores, shift=10)

    Args:
        here: scores [query, key] at the positions 0, 1, ….
        shifted: the same, `shift` positions further on.
        shift: for the titles.
        axes: three axes to draw in; a new figure if None.

    Returns:
        The figure; its images hold the three matrices, in colours of one scale.
    """
    here, shifted = as_table(here, "here"), as_table(shifted, "shifted")
    if here.shape != shifted.shape:
        raise UserError(
            f"here has shape {list(here.shape)} and shifted {list(shifted.shape)}; give the scores "
            "of the same words twice"
        )
    if axes is None:
        figure, (axes,) = new_panels(1, 3, (8, 3.2))
        set_alt_text(
            figure,
            f"Three heatmaps of scores: here (rms {rms(here):.2f}), moved by {shift} tokens "
            f"(rms {rms(shifted):.2f}), and their difference (rms {rms(shifted - here):.2f}).",
        )
    named = (("scores here", here), (f"moved by {shift}", shifted), ("difference", shifted - here))
    limit = max(float(np.abs(matrix).max()) for _, matrix in named) or 1.0
    for ax, (name, matrix) in zip(axes, named, strict=True):
        ax.imshow(matrix, cmap=signed_colormap(), vmin=-limit, vmax=limit)
        left_and_bottom(ax)
        ax.set_title(f"{name}\nrms {rms(matrix):.2f}", loc="left")
        ax.set(xticks=[], yticks=[], xlabel="key", ylabel="query")
    return axes[0].figure


def _table_of(source: ForwardTrace | ArrayLike) -> np.ndarray:
    if not isinstance(source, ForwardTrace):
        return as_table(source)
    for table in (source.source_positions, source.target_positions):
        if table is not None:
            return as_table(table)
    raise UserError("this trace holds no positions; give source_positions or target_positions")


def _check_position(position: int, table: np.ndarray) -> None:
    if not 0 <= position < len(table):
        raise UserError(f"position={position}, but there are {len(table)}; choose 0 to {len(table) - 1}")


_MOST_NAMED = 32  # heads that each get a number of their own
_IN_A_ROW = 6  # heads, of a picture's model


def plot_position_bias(
    trace: ForwardTrace,
    kind: str,
    layer: int = 0,
    ax: Axes | None = None,
    *,
    grid: Sequence[int] | None = None,
) -> Axes:
    """Draw what each head adds to its scores at each distance: a row for each head, in a picture a map.

    Green raises the score of a key at that distance, brown lowers it. A row of one colour treats all
    positions alike; one that is green left of 0 looks back.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> distances = np.subtract.outer(np.arange(3), np.arange(3))[None, None]  # [layer, head, query, key]
    >>> even = np.full((1, 1, 3, 3), 1 / 3)
    >>> trace = vt.ForwardTrace(
    ...     source_tokens=("the", "cat", "sat"), encoder_attention=even, encoder_position_bias=-abs(distances)
    ... )
    >>> axes = vt.plots.plot_position_bias(trace, "encoder")

    Args:
        trace: of a model with relative biases, such as T5, Bloom or Swin.
        kind: ``"encoder"`` or ``"decoder"``.
        layer: the index of the layer; of biases that all layers share, any.
        ax: where to draw; a new figure if None.
        grid: of a vision model, as `explore` takes it: then each head is a map of offsets, the
            query's own patch in its middle.

    Returns:
        The axes. Their image holds the biases [head, distance], or the heads' maps [down, right] beside
        each other; its colours are even around 0.

    Raises:
        UserError: as `viz_transformer.analysis.bias_by_distance`, or with a grid as `bias_by_offset`.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1; Liu et al. 2021,
    *Swin Transformer*, section 3.2.
    """
    if grid is None:
        distances, biases = bias_by_distance(trace, kind, layer)
        size = 6.4, 1.5 + min(6.0, 0.26 * len(biases))
        where = f"distances of {fixed_number(distances[0], 0)} to {fixed_number(distances[-1], 0)} positions"
    else:
        biases = bias_by_offset(trace, kind, grid, layer)
        size = 6.4, 1.5 + 1.3 * -(-len(biases) // _IN_A_ROW)
        where = f"the offsets between {grid[0]} by {grid[1]} patches"
    if ax is None:
        ax = new_axes(
            *size,
            f"Heat map of what {len(biases)} heads of the {kind} add to their scores at {where}: from "
            f"{fixed_number(float(np.nanmin(biases)), 2)} to {fixed_number(float(np.nanmax(biases)), 2)}.",
        )
    heads = trace.head_numbers[: len(biases)] or range(len(biases))
    image = _draw_offsets(ax, biases, heads) if grid else _draw_distances(ax, distances, biases, heads)
    without_frame(ax)
    given = trace.position_bias(kind)
    shared = given is not None and len(given) == 1
    of_layer = "in every layer" if shared else f"in layer {trace.layer_numbers(kind)[layer]}"
    ax.set_title(f"Added to the scores of the {kind}, {of_layer}", loc="left", weight="bold")
    add_scale(ax, image, "added to the score")
    return ax


def _draw_distances(
    ax: Axes, distances: NDArray[np.int64], biases: NDArray[np.float32], heads: Sequence[int]
) -> AxesImage:
    """Draw a row for each head, [head, distance]."""
    n_heads = len(biases)
    extent = (distances[0] - 0.5, distances[-1] + 0.5, n_heads - 0.5, -0.5)
    image = _draw_biases(ax, biases, aspect="auto", extent=extent)
    ax.axvline(0, color=COLOURS["ink"], linewidth=0.8, linestyle=":")
    if n_heads <= _MOST_NAMED:
        ax.set_yticks(range(n_heads), [str(head) for head in heads])
    ax.set_ylabel("head")
    ax.set_xlabel("distance from query to key, in positions")
    return image


def _draw_offsets(ax: Axes, biases: NDArray[np.float32], heads: Sequence[int]) -> AxesImage:
    """Draw a map for each head, [head, down, right], with a ring where query and key are one patch."""
    known = np.isfinite(biases[0])
    biases = biases[:, known.any(axis=1)][:, :, known.any(axis=0)]  # as far as a window reaches
    n_heads, height, width = biases.shape
    columns = min(n_heads, _IN_A_ROW)
    rows = -(-n_heads // columns)
    gap = max(2, round(0.3 * height))
    sheet = np.full((rows * (height + gap), columns * (width + gap) - gap), np.nan, dtype=np.float32)
    for i, (head, bias) in enumerate(zip(heads, biases, strict=True)):
        top, left = i // columns * (height + gap) + gap, i % columns * (width + gap)
        sheet[top : top + height, left : left + width] = bias
        ax.text(left - 0.5, top - 0.7, f"head {head}", va="bottom")
        centre = left + (width - 1) / 2, top + (height - 1) / 2
        ax.plot(*centre, "o", color=COLOURS["ink"], fillstyle="none", markersize=4, markeredgewidth=0.8)
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel("offset from query to key, in patches: right →")
    ax.set_ylabel("← down")
    return _draw_biases(ax, sheet)


def _draw_biases(ax: Axes, biases: NDArray[np.float32], **how: Any) -> AxesImage:
    """Draw biases in colours that are even around 0."""
    limit = float(np.nanmax(np.abs(biases))) or 1.0
    return ax.imshow(biases, cmap=signed_colormap(), vmin=-limit, vmax=limit, interpolation="none", **how)
