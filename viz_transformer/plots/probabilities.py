"""Probabilities as bars, one below the other."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from viz_transformer._text import given_heading
from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 44


def plot_probabilities(probabilities: Mapping[str, float], title: str = "", ax: Axes | None = None) -> Axes:
    """Draw probabilities as bars with their numbers.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_probabilities({"el gato duerme": 0.7, "la gata duerme": 0.3})

    Args:
        probabilities: each by its name, such as a translation.
        title: above them.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if there is none, or one is not between 0 and 1.
    """
    title = given_heading(title)
    if not probabilities:
        raise UserError("plot_probabilities was given no probability; give {'name': 0.5, …}")
    for name, each in probabilities.items():
        if not 0 <= each <= 1:
            raise UserError(f"the probability of {name!r:.40} is {each}; give numbers from 0 to 1")
    if ax is None:
        figure, ax = new_axes(7.2, 0.9 + 0.34 * len(probabilities), close=True)
        told = "; ".join(f"{name} {each:.3f}" for name, each in probabilities.items())
        set_alt_text(figure, f"Bars of probabilities. {title + ': ' if title else ''}{told}.")
    rows = range(len(probabilities))
    ax.barh(rows, list(probabilities.values()), 0.66, color=COLOURS["query"])
    for row, each in zip(rows, probabilities.values(), strict=True):
        ax.text(each + 0.01, row, f"{each:.3f}", va="center")
    names = [visible(textwrap.shorten(name, _LONGEST_NAME, placeholder="…")) for name in probabilities]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set(xlim=(0, 1.08), ylim=(len(probabilities) - 0.5, -0.5), xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("probability")
    ax.set_title(title, loc="left", weight="bold", parse_math=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax
