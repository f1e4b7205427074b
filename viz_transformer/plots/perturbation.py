"""Perturbation of one word's vector: how far each word's output moves, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, change_colormap, ink_on
from viz_transformer.plots.figures import new_axes, without_frame
from viz_transformer.plots.labels import label, label_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A change of this share of a vector's length has the darkest colour.
_MOST = 2.0
#: What float32 rounding may move a vector by, as a share of its length.
UNMOVED = 1e-5


def plot_spread(
    words: Sequence[str],
    changed: int,
    spread: Mapping[str, ArrayLike],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw, for each part of a block, how far each word's output moved: a column a part, a row a word.

    `spread` has for each part the change of each word's output [word], as a share of its length, after the
    vector of the word at `changed` was changed. The image of the axes holds the changes [word, part].
    """
    if not spread:
        raise UserError("plot_spread was given no part; give {'name': changes, …}")
    table = [np.asarray(changes, float) for changes in spread.values()]
    if any(column.shape != (len(words),) for column in table) or not 0 <= changed < len(words):
        raise UserError(
            f"there are {len(words)} words, changed={changed} and changes of the shapes "
            f"{[list(column.shape) for column in table]}; give one change for each word"
        )
    moved = np.stack(table, axis=1)  # [word, part]
    if ax is None:
        ax = new_axes(
            2.2 + 1.45 * len(table),
            1.1 + 0.48 * len(words),
            describe_spread(words, changed, spread),
            close=True,
        )
    colours = change_colormap()
    ax.imshow(moved, cmap=colours, vmin=0, vmax=_MOST, aspect="auto")
    for (row, column), share in np.ndenumerate(moved):
        text = f"{share:.2f}" if share >= 0.005 else "< 0.01" if share >= UNMOVED else "0"
        ink = ink_on(colours(float(min(share / _MOST, 1.0)))[:3])
        ax.text(column, row, text, ha="center", va="center", color=ink)
    ax.set_xticks(range(len(table)), list(spread))
    names = [label(word) + (" ✎" if place == changed else "") for place, word in enumerate(words)]
    ax.set_yticks(range(len(words)), names, **label_style())
    ax.xaxis.tick_top()
    without_frame(ax)
    ax.set_xlabel(
        "how far each word's output moved, as a share of its length; ✎: the word that was changed",
        color=COLOURS["muted"],
        loc="left",
    )
    return ax


def describe_spread(words: Sequence[str], changed: int, spread: Mapping[str, ArrayLike]) -> str:
    """Return the picture in words."""
    told = []
    for name, changes in spread.items():
        moved = np.flatnonzero(np.asarray(changes, float) >= UNMOVED)
        others = [place for place in moved if place != changed]
        reach = f"{len(others)} of {len(words) - 1} other words" if others else "no other word"
        told.append(f"{name}: {reach} moved")
    return f"Table of what changes where “{label(words[changed])}” is changed. {'; '.join(told)}."
