"""A figure of why a head looks there: the parts of a query and of a key, and a line for each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import label, label_style
from viz_transformer.trace import ScoreParts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 9  # parts of a side
_FAINTEST = 0.02  # of the strongest pair; fainter ones have no line
_NAMED = 3  # strongest pairs in the alternative text


def plot_score_parts(parts: ScoreParts, ax: Axes | None = None) -> Axes:
    """Draw the parts of a query at the left, those of a key at the right, and what each pair adds.

    A line is as wide as what its pair adds to the score: green raises it, brown lowers it. Beside each part
    is what it adds with all of the other side. Small parts are drawn as one.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> axes = vt.plots.plot_score_parts(parts)

    Args:
        parts: what `vt.attribution.score_parts` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. The gid of each line names its pair: ``"network 0 × word"``.
    """
    few = parts.shortened(_MOST)
    if ax is None:
        _, ax = new_axes(7.5, 1.6 + 0.36 * max(few.values.shape), close=True)
        set_alt_text(ax.figure, describe_score_parts(parts))  # type: ignore[arg-type]
    heights = [np.linspace(1, 0, n) if n > 1 else np.array([0.5]) for n in few.values.shape]
    strongest = float(np.abs(few.values).max()) or 1.0
    for i, j in np.argwhere(np.abs(few.values) >= _FAINTEST * strongest):
        value = float(few.values[i, j])
        ax.plot(
            [0, 1],
            [heights[0][i], heights[1][j]],
            color=COLOURS["above" if value > 0 else "below"],
            linewidth=12 * abs(value) / strongest,
            alpha=0.6,
            solid_capstyle="butt",
            gid=f"{few.query_parts[i]} × {few.key_parts[j]}",
        )
    sides = ((0, "right", -0.03, few.query_parts, few.by_query), (1, "left", 1.03, few.key_parts, few.by_key))
    for side, align, x, names, sums in sides:
        for name, total, y in zip(names, sums, heights[side], strict=True):
            text = f"{name}  {_signed(total)}" if side == 0 else f"{_signed(total)}  {name}"
            ax.text(x, y, text, ha=align, va="center", color=COLOURS["ink"], parse_math=False)
        token = (parts.query_tokens[parts.query], parts.key_tokens[parts.key])[side]
        ink = COLOURS[("query", "key")[side]]
        ax.text(x, 1.13, label(token), ha=align, va="bottom", color=ink, **label_style("bold"))
    ax.set(xlim=(-0.5, 1.5), ylim=(-0.08, 1.25))
    ax.axis("off")
    ax.set_title(_sentence(parts), loc="left", weight="bold", parse_math=False)
    return ax


def describe_score_parts(parts: ScoreParts) -> str:
    """Return a score and its largest pairs in words.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> words = vt.plots.describe_score_parts(parts)

    Args:
        parts: what `vt.attribution.score_parts` returned.
    """
    order = np.argsort(-np.abs(parts.values), axis=None, kind="stable")[:_NAMED]
    pairs = [
        f"{parts.query_parts[i]} with {parts.key_parts[j]} {_signed(parts.values[i, j])}"
        for i, j in zip(*np.unravel_index(order, parts.values.shape), strict=True)
    ]
    return f"Parts of a score. {_sentence(parts)}. Of the query with the key: {', '.join(pairs)}."


def _sentence(parts: ScoreParts) -> str:
    query, key = label(parts.query_tokens[parts.query]), label(parts.key_tokens[parts.key])
    most = int(np.argmax(np.abs(parts.by_key)))
    whole = f"head {parts.layer}·{parts.head}: the score of {key} for {query} is {_signed(parts.score)}"
    return f"{whole},\n{_signed(parts.by_key[most])} of it with the {parts.key_parts[most]} at {key}"


def _signed(value: float) -> str:
    text = f"{value:+z.2f}".replace("-", "−")
    return "0.00" if text == "+0.00" else text
