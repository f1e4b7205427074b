"""Gradient norms of a stack of layers, from the first to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What is smaller or larger is drawn at the edge: the axis stays, so that pictures compare.
LOWEST, HIGHEST = 1e-6, 1e3
_STACKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("decoder", {"color": COLOURS["query"], "marker": "o"}),
    ("encoder", {"color": COLOURS["key"], "marker": "s", "linestyle": (0, (5, 2))}),
)


def plot_gradients(
    encoder: Sequence[float],
    decoder: Sequence[float],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the norm of each layer's gradient, on a logarithmic axis that never changes; layers count from 0.

    Either stack may be empty, but not both. The axes have one line for each stack; what is beyond the axis,
    infinite or not a number is drawn at its edge. A norm below 0 is refused.
    """
    stacks = {"decoder": np.asarray(decoder, float), "encoder": np.asarray(encoder, float)}
    if not any(norms.size for norms in stacks.values()):
        raise UserError("plot_gradients was given no layer; give a norm for each")
    if any((norms < 0).any() for norms in stacks.values()):
        raise UserError("a gradient's norm is never below 0; give norms, not gradients")
    if ax is None:
        ax = new_axes(7.4, 4.2, describe_gradients(encoder, decoder, title=title), close=True)
    heights = {
        name: np.clip(np.nan_to_num(norms, nan=np.inf), LOWEST, HIGHEST) for name, norms in stacks.items()
    }
    for name, style in _STACKS:
        if stacks[name].size:
            other = heights["encoder" if name == "decoder" else "decoder"]
            _draw_stack(ax, name, stacks[name], heights[name], other, style)
    ax.set_yscale("log")
    ax.set_ylim(LOWEST / 30, HIGHEST * 5)  # with room for a number under the lowest point
    n_layers = max(norms.size for norms in stacks.values())
    every = -(-n_layers // 8)  # the last layer has its number too, and none is close to it
    ax.set_xticks([*range(0, n_layers - 1 - every // 2, every), n_layers - 1])
    ax.set_xlim(-0.06 * n_layers, 1.06 * n_layers - 1)
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("layer (0 reads the words)", color=COLOURS["muted"])
    ax.set_ylabel("size of the layer's gradient", color=COLOURS["muted"])
    ax.set_title(title, loc="left", weight="bold")
    ax.legend(frameon=False, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.14))
    return ax


def _draw_stack(
    ax: Axes,
    name: str,
    norms: NDArray[np.float64],
    shown: NDArray[np.float64],
    other: NDArray[np.float64],
    style: dict[str, Any],
) -> None:
    """Draw the norms [layer] of a stack at the heights `shown`, the first and the last with their numbers.

    A number is over or under its line, on the side where the `other` line is not.
    """
    ax.plot(shown, markersize=4, label=name, **style)
    for layer in {0, norms.size - 1}:
        apart = shown[layer] - other[layer] if layer < other.size else 0.0
        is_over = apart > 0 or (apart == 0 and name == "decoder")
        ax.annotate(
            _format_norm(norms[layer]),
            (layer, shown[layer]),
            (-5 if layer == 0 and norms.size > 1 else 0, 7 if is_over else -14),
            textcoords="offset points",
            # Under the first point a long number would cross the axis.
            ha="left" if layer == 0 and norms.size > 1 else "center",
            color=style["color"],
        )


def describe_gradients(encoder: Sequence[float], decoder: Sequence[float], *, title: str = "") -> str:
    """Return the picture in words."""
    said = [
        f"{name}: {_format_norm(norms[0])} in layer 0, {_format_norm(norms[-1])} in layer {len(norms) - 1}"
        for name, norms in (("decoder", decoder), ("encoder", encoder))
        if len(norms)
    ]
    of = f" of {title}" if title else ""
    return f"Line chart of the gradient by layer{of}. {'; '.join(said).capitalize()}."


def _format_norm(norm: float) -> str:
    """A norm in few characters."""
    if not np.isfinite(norm):
        return "overflow"
    if norm > HIGHEST:
        return short_number(norm, 1)
    return short_number(norm, 2) if norm >= LOWEST else f"below {LOWEST:.6f}"
