"""What each head adds to its scores for relative positions, as T5's do: a heat map of heads and distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import fixed_number
from viz_transformer.analysis.position_bias import bias_by_distance, bias_by_offset
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import add_scale, new_axes
from viz_transformer.trace import ForwardTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

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
    figure, ax = (None, ax) if ax is not None else new_axes(*size)
    heads = trace.head_numbers[: len(biases)] or range(len(biases))
    image = _draw_offsets(ax, biases, heads) if grid else _draw_distances(ax, distances, biases, heads)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    given = trace.position_bias(kind)
    shared = given is not None and len(given) == 1
    of_layer = "in every layer" if shared else f"in layer {trace.layer_numbers(kind)[layer]}"
    ax.set_title(f"Added to the scores of the {kind}, {of_layer}", loc="left", weight="bold")
    add_scale(ax, image, "added to the score")
    if figure is not None:
        set_alt_text(
            figure,
            f"Heat map of what {len(biases)} heads of the {kind} add to their scores at {where}: from "
            f"{fixed_number(float(np.nanmin(biases)), 2)} to {fixed_number(float(np.nanmax(biases)), 2)}.",
        )
    return ax


def _draw_distances(
    ax: Axes, distances: NDArray[np.int64], biases: NDArray[np.float32], heads: Sequence[int]
) -> AxesImage:
    """Draw a row for each head, [head, distance]."""
    n_heads = len(biases)
    extent = (distances[0] - 0.5, distances[-1] + 0.5, n_heads - 0.5, -0.5)
    image = _draw(ax, biases, aspect="auto", extent=extent)
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
    return _draw(ax, sheet)


def _draw(ax: Axes, biases: NDArray[np.float32], **how: Any) -> AxesImage:
    """Draw biases in colours that are even around 0."""
    limit = float(np.nanmax(np.abs(biases))) or 1.0
    return ax.imshow(biases, cmap=signed_colormap(), vmin=-limit, vmax=limit, interpolation="none", **how)
