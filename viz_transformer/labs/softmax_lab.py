"""The softmax lab: scores set by sliders, and the softmax of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.plots.softmax import plot_softmax
from viz_transformer.widgets.figure_lab.view import FigureLab, figure_lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The values of a score, and of the factor that multiplies all of them.
SCORES = tuple(float(score) for score in np.arange(-5, 5.5, 0.5))
TIMES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def softmax_lab(
    scores: Sequence[float] = (-3, 2, -1, 0),
    labels: Sequence[str] | None = None,
    *,
    times: float = 1.0,
    slopes: bool = False,
) -> FigureLab:
    """Return a view with a slider for each score, and one for a factor that multiplies them all.

    Args:
        scores: the first scores; each from -5 to 5 in halves.
        labels: the keys' names; else their indices.
        times: the first factor: 0, 0.25, 0.5, 1, 2, 4, 8 or 16.
        slopes: show how much each weight moves with its own score.

    Raises:
        UserError: if a score or a label is none of these, or there are not as many labels.
    """
    names = [f"key {place}" for place in range(len(scores))] if labels is None else list(labels)
    if len(names) != len(scores):
        raise UserError(f"there are {len(scores)} scores and {len(names)} labels; give one for each")
    controls = [f"score_{place}" for place in range(len(scores))]

    def draw(times: float, **each: float) -> Figure:
        return plot_softmax([each[name] for name in controls], names, times=times, slopes=slopes)

    return figure_lab(
        draw,
        {**dict.fromkeys(controls, SCORES), "times": TIMES},
        start={**dict(zip(controls, map(float, scores), strict=True)), "times": float(times)},
        labels={**dict(zip(controls, names, strict=True)), "times": "all scores ×"},
        about="One query's scores with a few keys, and the weights that a softmax makes of them: e "
        "to the power of each score, divided by the sum. Move a score, or multiply them all.",
    )
