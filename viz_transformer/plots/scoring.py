"""Softmax weights of several scoring functions, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, ink_in, weight_colormap
from viz_transformer.plots.text_in_files import TextFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NUMBERS = 8  # a wider matrix has no room for the weights in its cells


def plot_scorings(scores: Mapping[str, ArrayLike]) -> Figure:
    """Draw the weights that each way of scoring leads to, side by side.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> scores = np.random.default_rng(0).normal(size=(4, 4))
    >>> figure = vt.plots.plot_scorings({"as they are": scores, "divided by √d": scores / 2})

    Args:
        scores: the scores by the name of the way, each ``[query, key]``.

    Returns:
        A figure with one axes a way, whose image holds the weights ``[query, key]``, coloured from
        0 to 1. Its title tells the standard deviation of the scores.

    Raises:
        UserError: if there are no scores, or some are no table of finite numbers.
    """
    import matplotlib.pyplot as plt

    tables = {name: _table(name, each) for name, each in scores.items()}
    if not tables:
        raise UserError("plot_scorings was given no scores; give {'dot': scores, …}")
    n_rows = max(len(table) for table in tables.values())
    figure, axes = plt.subplots(
        1,
        len(tables),
        figsize=(3.1 * len(tables), 1.1 + 0.3 * n_rows),
        squeeze=False,
        layout="constrained",
        FigureClass=TextFigure,
    )
    # Returned, it is shown once by a notebook; left with pyplot, it would be shown twice.
    plt.close(figure)
    told = []
    for ax, (name, table) in zip(axes[0], tables.items(), strict=True):
        weights = _softmax(table)  # [query, key]
        image = ax.imshow(weights, cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
        ax.set_title(f"{name}\nscores spread by {table.std():.2f}", loc="left")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel("key →", color=COLOURS["muted"], loc="left")
        ax.spines[:].set_visible(False)
        if max(weights.shape) <= _MOST_NUMBERS:
            for (row, col), weight in np.ndenumerate(weights):
                colour = ink_in(image, weight)
                ax.text(col, row, f"{weight:.2f}", ha="center", va="center", color=colour)
        told.append(
            f"{name}: scores spread by {table.std():.2f}, largest weight of a row "
            f"{weights.max(-1).mean():.2f} on average"
        )
    axes[0, 0].set_ylabel("← query", color=COLOURS["muted"], loc="top")
    set_alt_text(figure, f"Heatmaps of weights side by side. {'; '.join(told)}.")
    return figure


def _table(name: str, scores: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise UserError(
            f"the scores of {name!r} have the shape {list(table.shape)}; give finite numbers, [query, key]"
        )
    return table


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
