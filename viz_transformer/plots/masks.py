"""Masks as tables, hatched where they are closed, and bars of what leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes, new_panels, set_alt_text, without_frame
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import SLANTED, name_query_and_key_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How each convention writes "may attend" and "may not".
WRITTEN = {"may": ("True", "False"), "may_not": ("False", "True"), "additive": ("0", "−∞")}
_MOST_WRITTEN = 12  # a wider mask has no room for words in its cells
_UNMOVED = 1e-4  # float32 rounding; widgets.mask_lab.UNMOVED is the same
_LEAK, _MOVED = COLOURS["wrong"], COLOURS["you"]


def plot_mask(
    mask: Any,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    polarity: str = "may",
    ax: Axes | None = None,
) -> Axes:
    """Draw a mask: queries down the side, keys along the top, closed cells hatched.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_mask(np.tril(np.ones((4, 4), dtype=bool)))

    Args:
        mask: bool [query, key], True = may attend, such as ``causal_mask(5)[0, 0]``.
        queries: the words that look; by default their positions.
        keys: the words attended to; by default their positions.
        polarity: how the cells are written: ``"may"`` (True = may attend), ``"may_not"`` (True =
            may not) or ``"additive"`` (0 and −∞).
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the mask as 0 and 1, [query, key].

    Raises:
        UserError: if the mask is not boolean [query, key], the words do not fit, or the polarity
            is none of the three.
    """
    mask, names = _checked(mask, queries, keys, polarity)
    if ax is None:
        ax = new_axes(*_size(*mask.shape), describe_mask(mask, names[0]))
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(["#ffffff", COLOURS["weight-tint"]])
    ax.imshow(mask.astype(int), cmap=colours, vmin=0, vmax=1, aspect="equal")
    _draw_cells(ax, mask, *WRITTEN[polarity])
    without_frame(ax)
    slanted = SLANTED if max(len(label(key)) for key in names[1]) > 6 else {}
    ax.set_xticks(range(mask.shape[1]), [label(key) for key in names[1]], **label_style(), **slanted)
    empty = ~mask.any(-1)  # [query]
    rows = [label(word) + (" ∅" if none else "") for word, none in zip(names[0], empty, strict=True)]
    ax.set_yticks(range(mask.shape[0]), rows, **label_style())
    name_query_and_key_axes(ax)
    note = "hatched: may not attend" + ("    ∅: may attend to nothing" if empty.any() else "")
    ax.text(0, -0.04, note, transform=ax.transAxes, va="top", color=COLOURS["muted"])
    return ax


def _checked(
    mask: Any, queries: Sequence[str] | None, keys: Sequence[str] | None, polarity: str
) -> tuple[NDArray[np.bool_], list[list[str]]]:
    """Return the mask [query, key] and the names of its queries and keys, which must fit it."""
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.ndim != 2:
        raise UserError(
            f"the mask is {mask.dtype} of shape {list(mask.shape)}, but a picture shows bool "
            "[query, key]; choose a sentence of it, such as mask[0, 0]"
        )
    if polarity not in WRITTEN:
        raise UserError(f"polarity={polarity!r} is none of {list(WRITTEN)}")
    names = [
        [str(place) for place in range(size)] if words is None else list(words)
        for words, size in zip((queries, keys), mask.shape, strict=True)
    ]
    if [len(each) for each in names] != list(mask.shape):
        raise UserError(
            f"{len(names[0])} queries and {len(names[1])} keys do not fit a mask of shape "
            f"{list(mask.shape)}; give one word for each row and each column"
        )
    return mask, names


def _draw_cells(ax: Axes, mask: NDArray[np.bool_], may: str, may_not: str) -> None:
    """Draw a frame around each cell, hatched where the mask bars it, and write into it if it is wide."""
    from matplotlib.patches import Rectangle

    for (query, key), allowed in np.ndenumerate(mask):
        cell = Rectangle((key - 0.5, query - 0.5), 1, 1, facecolor="none", edgecolor=COLOURS["fill"])
        cell.set_linewidth(0.6)
        if not allowed:
            cell.set_hatch("////")
        ax.add_patch(cell)
        if max(mask.shape) <= _MOST_WRITTEN:
            back = None if allowed else {"facecolor": "white", "edgecolor": "none", "pad": 1}
            text = may if allowed else may_not
            ax.text(key, query, text, ha="center", va="center", color="k", bbox=back)


def plot_leaks(
    changes: Sequence[float],
    allowed: Sequence[bool],
    queries: Sequence[str],
    *,
    real: Sequence[bool] | None = None,
    change: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw by how much each output moved, and which of them should not have.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_leaks([0.0, 0.3, 0.2], [False, True, True], ["the", "cat", "sleeps"])

    Args:
        changes: the largest change of each query's output, [query].
        allowed: bool [query], whether that output may depend on what was changed.
        queries: the words that look, one for each bar.
        real: bool [query], False for padding, whose outputs nobody reads; all by default.
        change: what was changed, for the title.
        ax: where to draw; a new figure if None.

    Returns:
        The axes, with a bar for each query.

    Raises:
        UserError: if the arguments are not equally long.
    """
    real = [True] * len(allowed) if real is None else real
    if not len(changes) == len(allowed) == len(real) == len(queries):
        raise UserError(
            f"there are {len(changes)} changes, {len(allowed)} of allowed, {len(real)} of real and "
            f"{len(queries)} queries; give one of each for each query"
        )
    moved = np.asarray(changes, float)
    leaks = np.asarray(real, bool) & ~np.asarray(allowed, bool) & (moved >= _UNMOVED)
    if ax is None:
        ax = new_axes(
            *_size(len(moved), 5), f"Leak meter, {change}: {int(leaks.sum())} of {len(moved)} outputs leak."
        )
    bars = ax.barh(range(len(moved)), moved, color=_MOVED, height=0.6)
    top = max(float(moved.max()), _UNMOVED)
    for bar, value, leak, counts in zip(bars, moved, leaks, real, strict=True):
        if leak:
            bar.set(facecolor=_LEAK, hatch="xx", edgecolor="white")
        elif not counts:
            bar.set(facecolor=COLOURS["line"])
        text = f"{value:.2f}" if value >= 0.005 else "0" if value < _UNMOVED else short_number(value, 1)
        words = f"{text}  LEAK" if leak else f"{text}  (padding)" if not counts else text
        middle = bar.get_y() + bar.get_height() / 2
        ax.text(value + 0.02 * top, middle, words, va="center", color="k")
    ax.set_yticks(range(len(queries)), [label(word) for word in queries], **label_style())
    ax.set(ylim=(len(moved) - 0.5, -0.5), xlim=(0, 1.35 * top))
    ax.set_xlabel("largest change of an output", color=COLOURS["muted"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_title(change, loc="left", parse_math=False)
    return ax


def plot_mask_lab(
    mask: Any,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    polarity: str = "may",
    leaks: Mapping[str, Any] | None = None,
    alt_text: str | None = None,
) -> Figure:
    """Draw a mask and, beside it, the leak meter; arguments are those of the two.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> words = ["the", "cat", "sleeps"]
    >>> figure = vt.plots.plot_mask_lab(np.tril(np.ones((3, 3), dtype=bool)), words, words)

    Args:
        mask: bool [query, key].
        queries: the words that look.
        keys: the words attended to.
        polarity: as in `plot_mask`.
        leaks: arguments of `plot_leaks` by name, without the queries; None leaves it out.
        alt_text: alternative text of the figure.

    Raises:
        UserError: as the two.
    """
    n_columns = 1 if leaks is None else 2
    mask, _ = _checked(mask, queries, keys, polarity)
    width, height = _size(*mask.shape)
    figure, axes = new_panels(1, n_columns, (width * n_columns, height))
    plot_mask(mask, queries, keys, polarity=polarity, ax=axes[0, 0])
    if leaks is not None:
        plot_leaks(**leaks, queries=queries, ax=axes[0, 1])
    set_alt_text(figure, alt_text or describe_mask(mask, queries))
    return figure


def describe_mask(mask: np.ndarray, queries: Sequence[str]) -> str:
    """Return a bool mask [query, key] in words: its size, what it closes, and the rows without a key.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> vt.plots.describe_mask(np.tril(np.ones((2, 2), dtype=bool)), ["the", "cat"])
    'Mask of 2 queries and 2 keys; 1 of 4 cells are closed (hatched). Every row has a key.'

    Args:
        mask: bool [query, key], True = may attend.
        queries: the words that look, one for each row.
    """
    empty = [label(queries[row]) for row in np.flatnonzero(~mask.any(-1)).tolist()]
    return (
        f"Mask of {mask.shape[0]} queries and {mask.shape[1]} keys; {int((~mask).sum())} of "
        f"{mask.size} cells are closed (hatched). "
        + (f"May attend to nothing: {', '.join(empty)}." if empty else "Every row has a key.")
    )


def _size(n_queries: int, n_keys: int) -> tuple[float, float]:
    """Return the width and height of a new figure, in inches."""
    side = max(0.16, min(0.62, 6.0 / max(n_queries, n_keys)))  # inches a cell
    return 1.8 + max(2.4, side * n_keys), 1.4 + max(1.2, side * n_queries)
