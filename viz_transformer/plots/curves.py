"""Curves over one axis: losses of several trainings, rates of several schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._numbers import short_number
from viz_transformer._text import given_heading
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import label_font, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Each has dashes of its own, so that colour is not needed to distinguish them.
_LINES: tuple[dict[str, Any], ...] = (
    {"color": COLOURS["ink"]},
    {"color": COLOURS["muted"], "linestyle": (0, (5, 2))},
    {"color": COLOURS["ink"], "linestyle": (0, (1, 1.5))},
    {"color": COLOURS["fill"], "linestyle": (0, (6, 2, 1, 2))},
)


def plot_curves(
    curves: Mapping[str, Sequence[float]],
    x: Sequence[float] | None = None,
    *,
    xlabel: str = "optimiser step",
    ylabel: str = "loss (nats per token)",
    title: str = "",
    log: bool = False,
    level: tuple[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw up to four curves over one axis, each with its name and dashes of its own.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_curves({"training": [3.2, 1.4, 0.9], "validation": [3.3, 1.6, 1.2]})

    Args:
        curves: a value for each x, by name; as many for each.
        x: of each value, rising; by default 1, 2, 3 and so on.
        xlabel: what x is, with its unit.
        ylabel: what the values are, with their unit.
        title: what is shown; may be empty.
        log: whether the axis of the values is logarithmic.
        level: a name and a height to compare with, drawn as a thin line across.
        ax: where to draw; a new figure if None.

    Returns:
        The axes, with one line for each curve, in their order, and then that of the level.

    Raises:
        UserError: if there is no curve or more than four, or they differ in length.
    """
    title = given_heading(title)
    xlabel, ylabel = given_heading(xlabel, "xlabel"), given_heading(ylabel, "ylabel")
    places, values = _checked(curves, x)
    if ax is None:
        ax = new_axes(7.4, 3.6, describe_curves(curves, places, xlabel=xlabel, ylabel=ylabel), close=True)
    for (name, each), line in zip(values.items(), _LINES, strict=False):
        ax.plot(places, each, linewidth=1.8, label=visible(name), **line)
    if level is not None:
        name, height = level
        ax.axhline(height, color=COLOURS["muted"], linewidth=1, linestyle=(0, (2, 3)), label=visible(name))
    if log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda x, _: short_number(x))
    else:
        ax.set_ylim(bottom=min(0.0, *(np.nanmin(each) for each in values.values())))
    ax.set_xlabel(xlabel, color=COLOURS["muted"])
    ax.set_ylabel(ylabel, color=COLOURS["muted"])
    if title:
        ax.set_title(title, loc="left", weight="bold", parse_math=False)
    for text in ax.legend(frameon=False, prop=label_font()).get_texts():
        text.set_parse_math(False)
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _checked(
    curves: Mapping[str, Sequence[float]], x: Sequence[float] | None
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return x, and the values of each curve, which must be as many."""
    if not 1 <= len(curves) <= len(_LINES):
        raise UserError(f"plot_curves was given {len(curves)} curves; give 1 to {len(_LINES)}")
    values = {name: np.asarray(each, dtype=float) for name, each in curves.items()}
    n_points = len(next(iter(values.values())))
    places = np.arange(1.0, n_points + 1) if x is None else np.asarray(x, dtype=float)
    lengths = {"x": places.shape, **{name: each.shape for name, each in values.items()}}
    if not n_points or any(shape != (n_points,) for shape in lengths.values()):
        told = ", ".join(f"{name} {shape}" for name, shape in lengths.items())
        raise UserError(f"curves need one value for each x, and the shapes are {told}")
    return places, values


def describe_curves(
    curves: Mapping[str, Sequence[float]],
    x: ArrayLike,
    *,
    xlabel: str = "optimiser step",
    ylabel: str = "loss (nats per token)",
) -> str:
    """Return in words where each curve begins and ends, and how high and low it gets.

    >>> import viz_transformer as vt
    >>> words = vt.plots.describe_curves({"small": [3.0, 1.0, 0.5]}, [0, 1, 2])

    Args:
        curves: the numbers of each curve, by its name.
        x: of each number, as many.
        xlabel: what `x` counts.
        ylabel: what the numbers are.
    """
    told = []
    for name, each in curves.items():
        values = np.asarray(each, dtype=float)
        told.append(
            f"{visible(name)} goes from {short_number(values[0], 3)} to {short_number(values[-1], 3)}, "
            f"between {short_number(np.nanmin(values), 3)} and {short_number(np.nanmax(values), 3)}."
        )
    places = np.asarray(x, dtype=float)
    ends = f"{short_number(places[0])} to {short_number(places[-1])}"
    return f"Curves of {ylabel} over {xlabel}, from {ends}. {' '.join(told)}"
