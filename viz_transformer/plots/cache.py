"""One step of decoding with a key/value cache: what is computed, and what is kept from the steps before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, weight_colormap
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import SLANTED, name_query_and_key_axes
from viz_transformer.trace import ForwardTrace, attention_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_cached_step(
    trace: ForwardTrace, step: int, layer: int = 0, head: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw one head's weights at one step of decoding: the new row in colour, and the rows before it hatched.

    With a cache only the new row is computed, from the keys and values that are kept. Without one the
    model reads the whole text again at each step and computes the hatched cells again.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_cached_step(vt.load_language_model().trace("la maestra perdió su libro"), 3)

    Args:
        trace: of a decoder.
        step: how many tokens have been read, from 1.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the weights of the new row, ``[query, key]``, and NaN elsewhere.

    Raises:
        UserError: if the trace is of no decoder, or has no such step, layer or head.
    """
    weights = attention_of(trace, "decoder")  # [layer, head, query, key]
    n_layers, n_heads, length, _ = weights.shape
    for name, index, least, most in (
        ("step", step, 1, length),
        ("layer", layer, 0, n_layers - 1),
        ("head", head, 0, n_heads - 1),
    ):
        if index not in range(least, most + 1):
            raise UserError(f"there is no {name} {index!r:.40}; give one from {least} to {most}")
    tokens = trace.key_tokens("decoder")
    title = f"Token {step}: {step} scores with a cache, {step} × {step} = {step * step} without"
    if ax is None:
        figure, ax = new_axes(7.4, 5.2, close=True)
        kept = ", ".join(map(label, tokens[: step - 1])) or "none"
        set_alt_text(figure, f"{title}. Keys and values kept from the steps before: {kept}.")
    new = np.full((length, length), np.nan)
    new[step - 1, :step] = weights[layer, head, step - 1, :step]
    ax.imshow(new, cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
    _draw_old_cells(ax, step)
    _write_weights(ax, new[step - 1, :step], step)
    shown = [label(token) for token in tokens]
    ax.set_xticks(range(length), shown, **label_style(), **SLANTED)
    ax.set_yticks(range(length), shown, **label_style())
    for at, tick in enumerate(ax.get_xticklabels()):
        tick.set_fontweight("bold" if at == step - 1 else "normal")
        tick.set_color(COLOURS["ink"] if at < step else COLOURS["muted"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    name_query_and_key_axes(ax)
    ax.set_title(title, loc="left", weight="bold", pad=12)
    note = "colour: computed at this step    hatched: computed again at this step without a cache"
    ax.text(0, -0.04, note, transform=ax.transAxes, va="top", color=COLOURS["muted"])
    return ax


def _draw_old_cells(ax: Axes, step: int) -> None:
    """Frame the new row, and hatch the scores of the rows before it, those behind the mask too."""
    from matplotlib.patches import Rectangle

    hatched = Rectangle(
        (-0.5, -0.5), step, step - 1, fill=False, edgecolor=COLOURS["muted"], hatch="///", lw=0
    )
    if step > 1:
        ax.add_patch(hatched)
    ax.add_patch(Rectangle((-0.5, step - 1.5), step, 1, fill=False, edgecolor=COLOURS["ink"], linewidth=1.5))


def _write_weights(ax: Axes, row: np.ndarray, step: int) -> None:
    """Write each weight of the new row into its cell."""
    for key, weight in enumerate(row):
        ink = "white" if weight > 0.55 else COLOURS["ink"]
        ax.text(key, step - 1, f"{weight:.2f}", ha="center", va="center", color=ink)
