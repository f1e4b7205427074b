"""Softmax: from scores to weights, for one row, for several ways of scoring, and by the width of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._bounds import SIZE, real_number, whole_number
from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, ink_in, weight_colormap
from viz_transformer.plots.figures import new_axes, new_panels, set_alt_text
from viz_transformer.plots.labels import label, label_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Those of the softmax lab.
_SCORE, _PART, _WEIGHT, _SLOPE, _PLAIN = (
    COLOURS["muted"],
    COLOURS["fill"],
    COLOURS["weight"],
    COLOURS["weight-tint"],
    COLOURS["ink"],
)
_ROWS = 12  # queries whose weights are shown


class Spread(Protocol):
    """What `plot_score_spread` draws of each width; `experiments.ScoreSpread` is one."""

    d_k: int
    variance: float
    scaled_variance: float
    largest_weight: float
    largest_scaled_weight: float


class Slopes(Protocol):
    """What `plot_slope_spread` draws of each width; `experiments.SlopeSpread` is one."""

    d_k: int
    slope: float
    scaled_slope: float


def plot_softmax(
    scores: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    times: float = 1.0,
    slopes: bool = False,
) -> Figure:
    """Draw how a row of scores becomes weights: scores, exponentials, weights.

    >>> import viz_transformer as vt
    >>> figure = vt.plots.plot_softmax([2.0, 1.0, -1.0], ["the", "cat", "sleeps"], slopes=True)

    Args:
        scores: [key].
        labels: the keys' names; else their places.
        times: what all scores are multiplied by first.
        slopes: draw w (1 - w) too: how much each weight moves with its own score.

    Returns:
        The figure, an axes for each step; their bars hold the numbers.

    Raises:
        UserError: if the scores are not a row of numbers, or the labels not as many.
    """
    row = np.asarray(scores, dtype=float) * times  # [key]
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise UserError(f"scores must be a row of finite numbers such as [-3, 2], not {scores!r:.60}")
    names = [str(place) for place in range(len(row))] if labels is None else list(labels)
    if len(names) != len(row):
        raise UserError(f"there are {len(row)} scores and {len(names)} labels; give one for each")
    parts = np.exp(row - row.max())  # [key], none above 1
    weights = parts / parts.sum()
    signs = [COLOURS["below" if score < 0 else "above"] for score in row]
    steps: list[tuple[str, NDArray[np.float64], str | list[str], int]] = [
        ("scores s" if times == 1 else f"scores s × {times:g}", row, signs, 2),
        ("e^(s − largest)", parts, _PART, 3),
        ("weights: shares of the sum", weights, _WEIGHT, 3),
    ]
    if slopes:
        steps.append(("slopes w (1 − w)", weights * (1 - weights), _SLOPE, 3))
    figure, (axes,) = new_panels(1, len(steps), (3.1 * len(steps), 2.9))
    for ax, (title, values, colour, digits) in zip(axes, steps, strict=True):
        _bars(ax, values, names, colour, digits)
        ax.set_title(title, loc="left", weight="bold")
    limit = max(3.0, float(np.abs(row).max())) * 1.25
    axes[0].set_ylim(-limit, limit)
    for ax in axes[1:3]:
        ax.set_ylim(0, 1.15)
    if slopes:
        axes[3].set_ylim(0, 0.29)
        axes[3].axhline(0.25, color=COLOURS["fill"], linewidth=0.8, linestyle="--")
    told = ", ".join(f"{label(name)} {weight:.3f}" for name, weight in zip(names, weights, strict=True))
    set_alt_text(figure, f"Bars of scores, their exponentials and their softmax: {told}.")
    return figure


def plot_drawn_scores(scores: ArrayLike, d_k: int, *, power: float = 0.0) -> Figure:
    """Draw how scores spread, and the weights that a softmax makes of the first few rows.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> query, key = np.random.default_rng(0).normal(size=(2, 20, 64))
    >>> figure = vt.plots.plot_drawn_scores(query @ key.T, d_k=64, power=0.5)

    Args:
        scores: q·k [query, key], not divided.
        d_k: width of the queries and keys.
        power: the scores are divided by d_k to this power: 0.5 divides by √d_k.

    Returns:
        The figure; the image of its second axes holds the weights [query, key].
    """
    every, weights = _divided(scores, d_k, power)
    figure, ((left, right),) = new_panels(1, 2, (9.2, 3.1), width_ratios=[1.25, 1])
    left.hist(every.ravel(), bins=np.linspace(-60, 60, 81), color=_SCORE)
    left.set(xlim=(-60, 60), yticks=[], xlabel="score")
    left.set_title(
        f"{_quotient(power)} at d_k = {d_k}: variance {short_number(every.var(), 3)}",
        loc="left",
        weight="bold",
    )
    right.imshow(weights[:_ROWS], cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
    right.set(xticks=[], yticks=[], xlabel="key", ylabel="query")
    largest = weights.max(-1).mean()
    right.set_title(f"weights; largest of a row, mean {largest:.2f}", loc="left", weight="bold")
    for ax in (left, right):
        ax.spines[["top", "right", "left"]].set_visible(False)
    set_alt_text(figure, describe_drawn_scores(scores, d_k, power=power))
    return figure


def describe_drawn_scores(scores: ArrayLike, d_k: int, *, power: float = 0.0) -> str:
    """Return in words what `plot_drawn_scores` draws."""
    every, weights = _divided(scores, d_k, power)
    return (
        f"Histogram of the scores {_quotient(power)} at d_k {d_k}, variance "
        f"{short_number(every.var(), 3)}, and a heatmap of {min(_ROWS, len(weights))} rows "
        f"of weights; the largest of a row is {weights.max(-1).mean():.2f} on average."
    )


def _divided(scores: ArrayLike, d_k: int, power: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the scores divided by a power of d_k, and the softmax of each row, both [query, key]."""
    whole_number("d_k", d_k, SIZE)
    real_number("power", power, 0, 1)
    every = np.asarray(scores, dtype=float) / float(d_k) ** power
    return every, _softmax_of_rows(every)


def _quotient(power: float) -> str:
    names = {0.0: "q·k", 0.5: "q·k / √d_k", 1.0: "q·k / d_k"}
    return names.get(power, f"q·k / d_k^{power:g}")


def plot_score_spread(spreads: Sequence[Spread]) -> Figure:
    """Draw variance and largest weight against d_k, with and without the division by √d_k.

    >>> import viz_transformer as vt
    >>> from viz_transformer.experiments import score_spread
    >>> figure = vt.plots.plot_score_spread([score_spread(d_k, n_queries=20) for d_k in (4, 16)])

    Args:
        spreads: what `experiments.score_spread` measured, one for each width.
    """
    widths = [each.d_k for each in spreads]
    figure, ((left, right),) = new_panels(1, 2, (9.2, 3.1))
    _two_lines(left, widths, [e.variance for e in spreads], [e.scaled_variance for e in spreads])
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(lambda x, _: short_number(x))
    left.set_title("variance of the scores", loc="left", weight="bold")
    weights = [e.largest_weight for e in spreads], [e.largest_scaled_weight for e in spreads]
    _two_lines(right, widths, *weights)
    right.set_ylim(0, 1.02)
    right.set_title("largest weight of a query, mean", loc="left", weight="bold")
    first, last = spreads[0], spreads[-1]
    set_alt_text(
        figure,
        f"From d_k {first.d_k} to {last.d_k} the variance of q·k grows from {first.variance:.2f} "
        f"to {short_number(last.variance, 3)} and the mean largest weight from {first.largest_weight:.2f} to "
        f"{last.largest_weight:.2f}. Divided by √d_k they stay: {last.scaled_variance:.2f} and "
        f"{last.largest_scaled_weight:.2f}.",
    )
    return figure


def plot_slope_spread(spreads: Sequence[Slopes], ax: Axes | None = None) -> Axes:
    """Draw the median slope of the steepest weight against d_k, divided by √d_k and not.

    >>> import viz_transformer as vt
    >>> from viz_transformer.experiments import slope_spread
    >>> axes = vt.plots.plot_slope_spread([slope_spread(d_k, n_queries=20) for d_k in (4, 16)])

    Args:
        spreads: what `experiments.slope_spread` measured, one for each width.
        ax: where to draw; a new figure if None.
    """
    if ax is None:
        last = spreads[-1]
        ax = new_axes(
            6.4,
            3.0,
            f"At d_k {last.d_k} the median slope is {short_number(last.slope, 2)} from q·k and "
            f"{short_number(last.scaled_slope, 2)} from q·k / √d_k.",
        )
    slopes = [e.slope for e in spreads], [e.scaled_slope for e in spreads]
    _two_lines(ax, [each.d_k for each in spreads], *slopes)
    ax.set_yscale("log")
    ax.set_ylim(1e-6, 1)
    ax.axhline(0.25, color=COLOURS["fill"], linewidth=0.8, linestyle="--")
    ax.set_title("slope of the steepest weight, median", loc="left", weight="bold")
    return ax


def _bars(
    ax: Axes, values: NDArray[np.float64], names: Sequence[str], colour: str | list[str], digits: int
) -> None:
    edge = _WEIGHT if colour == _SLOPE else "none"
    drawn = ax.bar(range(len(values)), values, color=colour, edgecolor=edge, width=0.66)
    texts = [f"{value:.{digits}f}".replace("-", "−") for value in values]
    ax.bar_label(drawn, texts, padding=2)
    ax.set_xticks(range(len(values)), [label(name) for name in names], **label_style())
    ax.axhline(0, color=COLOURS["ink"], linewidth=0.8)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(axis="x", length=0)


def _two_lines(ax: Axes, widths: Sequence[int], plain: Sequence[float], scaled: Sequence[float]) -> None:
    ax.plot(widths, plain, "o-", color=_PLAIN, markersize=4, label="q·k")
    ax.plot(widths, scaled, "s--", color=_WEIGHT, markersize=4, label="q·k / √d_k")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda x, _: short_number(x))
    ax.set_xlabel("d_k")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)


_MOST_COLUMNS = 8  # a wider matrix has no room for the weights in its cells


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
        0 to 1. Its title has the standard deviation of the scores.

    Raises:
        UserError: if there are no scores, or some are no table of finite numbers.
    """
    tables = {name: _table(name, each) for name, each in scores.items()}
    if not tables:
        raise UserError("plot_scorings was given no scores; give {'dot': scores, …}")
    n_rows = max(len(table) for table in tables.values())
    figure, axes = new_panels(1, len(tables), (3.1 * len(tables), 1.1 + 0.3 * n_rows))
    told = []
    for ax, (name, table) in zip(axes[0], tables.items(), strict=True):
        weights = _softmax_of_rows(table)  # [query, key]
        image = ax.imshow(weights, cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
        ax.set_title(f"{name}\nscores spread by {table.std():.2f}", loc="left")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel("key →", color=COLOURS["muted"], loc="left")
        ax.spines[:].set_visible(False)
        if max(weights.shape) <= _MOST_COLUMNS:
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


def _softmax_of_rows(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
