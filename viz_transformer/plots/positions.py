"""Positional encodings: the table, one pair of its dimensions, dot products by offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer._numbers import fixed_number
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
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import add_scale, legend_below, new_axes
from viz_transformer.plots.text_in_files import TextFigure
from viz_transformer.trace import ForwardTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    figure, ax = (None, ax) if ax is not None else new_axes(6.4, 1.6 + min(6.0, 0.08 * len(table) + 1.2))
    limit = float(np.abs(table).max()) or 1.0
    image = ax.imshow(
        table, cmap=signed_colormap(), vmin=-limit, vmax=limit, aspect="auto", interpolation="none"
    )
    if position is not None:
        _check_position(position, table)
        ax.axhline(position, color=_MARK, linewidth=1)
    _hide_frame(ax)
    _set_title(ax, "Positional encoding")
    ax.set_xlabel("dimension")
    ax.set_ylabel("position")
    add_scale(ax, image, "value")
    if figure is not None:
        set_alt_text(
            figure,
            f"Heatmap of positional encodings: {len(table)} positions by {table.shape[1]} dimensions, "
            f"values from {fixed_number(table.min(), 2)} to {fixed_number(table.max(), 2)}.",
        )
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
        position: a position to mark, with those that the pair can hardly tell from it; or None.

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
    figure, ax = (None, ax) if ax is not None else new_axes(6.4, 3.0)
    even, odd = 2 * pair, 2 * pair + 1
    sinusoidal = is_sinusoidal(table)
    names = ("sine", "cosine") if sinusoidal else ("value", "value")
    for dimension, name, colour, dash in (
        (even, names[0], _SINE, "-"),
        (odd, names[1], _COSINE, "--"),
    ):
        ax.plot(table[:, dimension], dash, color=colour, label=f"dimension {dimension} ({name})")
    if position is not None:
        _check_position(position, table)
        alike = look_alikes(table, position, pair)
        ax.axvline(position, color=_MARK, linewidth=1)
        for dimension in (even, odd):
            ax.plot(alike, table[list(alike), dimension], "o", color=_MARK, mfc="white", markersize=5)
        ax.plot([], [], "o", color=_MARK, mfc="white", markersize=5, label=f"looks like {position}")
    _hide_frame(ax)
    _set_title(ax, f"Dimensions {even} and {odd}{_turn(table, pair)}")
    ax.set_xlabel("position")
    legend_below(ax)
    if figure is not None:
        set_alt_text(figure, describe_wavelength(table, pair, position=position))
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
    figure, ax = (None, ax) if ax is not None else new_axes(6.4, 2.8)
    places = np.arange(len(matrix))
    for row in places[:: -(-len(matrix) // _MOST_LINES)]:
        ax.plot(places - row, matrix[row], color=COLOURS["line"], linewidth=0.8)
    ax.plot(places - position, matrix[position], color=_SINE, linewidth=1.8)
    _hide_frame(ax)
    _set_title(ax, f"From position {position}; pale, from every other")
    ax.set_xlabel("offset in tokens")
    ax.set_ylabel(of)
    spread = offset_spread(matrix)
    if figure is not None:
        set_alt_text(
            figure,
            f"Line chart of the {of} by offset, from position {position}. At one offset the positions "
            f"differ by up to {spread:.3f}.",
        )
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
    figure = None
    if axes is None:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(8, 3.2), layout="constrained", FigureClass=TextFigure)
        plt.close(figure)
    named = (("scores here", here), (f"moved by {shift}", shifted), ("difference", shifted - here))
    limit = max(float(np.abs(matrix).max()) for _, matrix in named) or 1.0
    for ax, (name, matrix) in zip(axes, named, strict=True):
        ax.imshow(matrix, cmap=signed_colormap(), vmin=-limit, vmax=limit)
        _hide_frame(ax)
        ax.set_title(f"{name}\nrms {rms(matrix):.2f}", loc="left")
        ax.set(xticks=[], yticks=[], xlabel="key", ylabel="query")
    text = (
        f"Three heatmaps of scores: here (rms {rms(here):.2f}), moved by {shift} tokens "
        f"(rms {rms(shifted):.2f}), and their difference (rms {rms(shifted - here):.2f})."
    )
    if figure is not None:
        set_alt_text(figure, text)
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


def _hide_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=2)


def _set_title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", weight="bold")
