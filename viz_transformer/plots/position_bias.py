"""What each head adds to its scores for relative positions, as T5's do: a heat map of heads and distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz_transformer._numbers import fixed_number
from viz_transformer.analysis.position_bias import bias_by_distance
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import add_scale, new_axes
from viz_transformer.trace import ForwardTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 32  # heads that each get a number of their own


def plot_position_bias(trace: ForwardTrace, kind: str, layer: int = 0, ax: Axes | None = None) -> Axes:
    """Draw what each head adds to its scores at each distance: a row for each head.

    Blue raises the score of a key at that distance, orange lowers it. A row of one colour treats all
    positions alike; one that is blue left of 0 looks back.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> distances = np.subtract.outer(np.arange(3), np.arange(3))[None, None]  # [layer, head, query, key]
    >>> even = np.full((1, 1, 3, 3), 1 / 3)
    >>> trace = vt.ForwardTrace(
    ...     source_tokens=("the", "cat", "sat"), encoder_attention=even, encoder_position_bias=-abs(distances)
    ... )
    >>> axes = vt.plots.plot_position_bias(trace, "encoder")

    Args:
        trace: of a model with relative biases, such as T5.
        kind: ``"encoder"`` or ``"decoder"``.
        layer: the index of the layer; of biases that all layers share, any.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the biases [head, distance]; its colours are even around 0.

    Raises:
        UserError: as `viz_transformer.analysis.bias_by_distance`.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1.
    """
    distances, biases = bias_by_distance(trace, kind, layer)
    n_heads = len(biases)
    figure, ax = (None, ax) if ax is not None else new_axes(6.4, 1.5 + min(6.0, 0.26 * n_heads))
    limit = float(np.abs(biases).max()) or 1.0
    image = ax.imshow(
        biases,
        cmap=signed_colormap(),
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        interpolation="none",
        extent=(distances[0] - 0.5, distances[-1] + 0.5, n_heads - 0.5, -0.5),
    )
    ax.axvline(0, color=COLOURS["text"], linewidth=0.8, linestyle=":")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if n_heads <= _MOST_NAMED:
        ax.set_yticks(range(n_heads), [str(head) for head in trace.head_numbers[:n_heads] or range(n_heads)])
    ax.set_ylabel("head")
    ax.set_xlabel("distance from query to key, in positions")
    given = trace.position_bias(kind)
    shared = given is not None and len(given) == 1
    of_layer = "in every layer" if shared else f"in layer {trace.layer_numbers(kind)[layer]}"
    ax.set_title(f"Added to the scores of the {kind}, {of_layer}", loc="left", weight="bold", size=11)
    add_scale(ax, image, "added to the score")
    if figure is not None:
        set_alt_text(
            figure,
            f"Heat map of what {n_heads} heads of the {kind} add to their scores at distances of "
            f"{fixed_number(distances[0], 0)} to {fixed_number(distances[-1], 0)} positions: from "
            f"{fixed_number(biases.min(), 2)} to {fixed_number(biases.max(), 2)}.",
        )
    return ax
