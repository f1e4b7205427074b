"""Probabilities as bars, and the reliability diagram: predictions against what came true."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer._numbers import short_number
from viz_transformer._text import given_heading
from viz_transformer.analysis.calibration import Reliability, reliability
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes, new_panels, set_alt_text
from viz_transformer.plots.labels import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        told = "; ".join(f"{name} {each:.3f}" for name, each in probabilities.items())
        ax = new_axes(
            7.2,
            0.9 + 0.34 * len(probabilities),
            f"Bars of probabilities. {title + ': ' if title else ''}{told}.",
            close=True,
        )
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


_COLOUR = COLOURS["query"]
_GAP = COLOURS["fill"]


def plot_reliability(
    predicted: ArrayLike,
    happened: ArrayLike | None = None,
    *,
    expected: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
    title: str = "Reliability",
) -> Figure:
    """Draw how often predictions of each probability came true, and how many there are.

    A calibrated model's points lie on the diagonal: above it the model is less sure than it could
    be, below it surer than it should be. What each bin is off by is drawn as a line to the
    diagonal. The figure's title has the expected calibration error.

    >>> import viz_transformer as vt
    >>> figure = vt.plots.plot_reliability([0.2, 0.7, 0.9, 0.4], happened=[False, True, True, False])

    Args:
        predicted: probabilities, in any shape.
        happened: for each, whether it came true, as bool or as 0 and 1.
        expected: in its place, the true probability of each, where that is known.
        weights: how much each counts, at least 0; by default all alike.
        n_bins: bins of equal width between 0 and 1.
        title: what is shown.

    Returns:
        The figure, with two axes: the diagram, and the number of predictions in each bin.

    Raises:
        UserError: as `analysis.reliability`.

    Source: DeGroot & Fienberg 1983; Guo et al. 2017, section 2 and figure 1.
    """
    title = given_heading(title)
    bins = reliability(predicted, happened, expected=expected, weights=weights, n_bins=n_bins)
    figure, ((diagram,), (counts,)) = new_panels(2, 1, (5, 5.8), sharex=True, height_ratios=[3, 1])
    true = "share that came true" if expected is None else "true probability"
    _draw_diagram(diagram, bins, true)
    _draw_counts(counts, bins)
    figure.suptitle(
        f"{title} · expected calibration error {bins.error:.3f}",
        x=0.01,
        ha="left",
        weight="bold",
        parse_math=False,
    )
    set_alt_text(figure, describe_reliability(bins, true))
    return figure


def _draw_diagram(ax: Axes, bins: Reliability, true: str) -> None:
    ax.plot([0, 1], [0, 1], color=COLOURS["fill"], linewidth=1, linestyle=(0, (4, 3)), label="calibrated")
    filled = bins.counts > 0
    x, y = bins.predicted[filled], bins.observed[filled]
    ax.vlines(x, np.minimum(x, y), np.maximum(x, y), color=_GAP, linewidth=2, label="off by")
    ax.plot(x, y, "o-", color=_COLOUR, linewidth=1.6, markersize=5, label="the model")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_ylabel(f"{true}, mean of the bin", color=COLOURS["muted"])
    ax.legend(frameon=False, loc="upper left")
    _tidy(ax, alpha=0.25)


def _draw_counts(ax: Axes, bins: Reliability) -> None:
    centres = (bins.edges[:-1] + bins.edges[1:]) / 2
    width = bins.edges[1] - bins.edges[0]
    bars = ax.bar(centres, bins.counts, 0.9 * width, color=COLOURS["fill"])
    if len(centres) <= 12:  # more bars have no room for their numbers
        named = [f"{count:,}" if count else "" for count in bins.counts]
        ax.bar_label(bars, labels=named, padding=1)
    ax.margins(y=0.25)
    if bins.counts.max() > 100:  # most predictions are nearly 0 or nearly 1
        ax.set_yscale("log")
        ax.set_ylim(0.8, 6 * bins.counts.max())
        ax.yaxis.set_major_formatter(lambda x, _: short_number(x))
        ax.minorticks_off()
    ax.set_xlabel("predicted probability", color=COLOURS["muted"])
    ax.set_ylabel("predictions", color=COLOURS["muted"])
    _tidy(ax, alpha=0)


def _tidy(ax: Axes, **grid: Any) -> None:
    if grid["alpha"]:
        ax.grid(**grid)
    ax.spines[["top", "right"]].set_visible(False)


def describe_reliability(bins: Reliability, true: str = "share that came true") -> str:
    """Return in words how far predictions in each bin were from what came true.

    >>> import viz_transformer as vt
    >>> bins = vt.analysis.reliability([0.25, 0.75], [False, True], n_bins=2)
    >>> words = vt.plots.describe_reliability(bins)

    Args:
        bins: what `vt.analysis.reliability` returned.
        true: what its `observed` is, in words.
    """
    told = [
        f"{lower:.2g} to {upper:.2g}: predicted {predicted:.2f}, {true} {observed:.2f} ({count:,})"
        for lower, upper, predicted, observed, count in zip(
            bins.edges[:-1], bins.edges[1:], bins.predicted, bins.observed, bins.counts, strict=True
        )
        if count
    ]
    return (
        f"Reliability diagram of {bins.counts.sum():,} predictions, expected calibration error "
        f"{bins.error:.3f}. By bin, with the number of predictions: {'; '.join(told)}."
    )
