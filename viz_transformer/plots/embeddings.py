"""Tokens and their embeddings: ids in a batch, cosines, an untrained model's logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._numbers import fixed_number, short_number
from viz_transformer._text import given_heading
from viz_transformer.analysis.projection import principal_plane
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, signed_colormap
from viz_transformer.plots.figures import (
    add_scale,
    left_and_bottom,
    new_axes,
    new_panels,
    set_alt_text,
    without_frame,
)
from viz_transformer.plots.labels import label, label_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

_WORD, _READ, _WANTED = COLOURS["muted"], COLOURS["key"], COLOURS["right"]
_SPECIAL, _PLAIN = COLOURS["line"], COLOURS["key-tint"]


def plot_ids(ids: ArrayLike, tokens: Sequence[str], *, pad_id: int = 0, ax: Axes | None = None) -> Axes:
    """Draw a batch of ids: a row for each sentence, in each cell the token and its id.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_ids([[1, 2, 3], [2, 0, 0]], tokens=["<pad>", "the", "cat", "sleeps"])

    Args:
        ids: [sentence, position].
        tokens: all tokens, by id.
        pad_id: cells with this id are hatched.
        ax: where to draw; a new figure if None.

    Returns:
        The axes, with a text in each cell.

    Raises:
        UserError: if the ids are no batch of these tokens.
    """
    batch = np.asarray(ids)
    if batch.ndim != 2 or not batch.size or batch.dtype.kind not in "iu":
        raise UserError(f"ids must be whole numbers [sentence, position], not {ids!r:.60}")
    if batch.min() < 0 or batch.max() >= len(tokens):
        raise UserError(f"ids go from 0 to {len(tokens) - 1}; these hold {batch.min()} to {batch.max()}")
    n_rows, n_columns = batch.shape
    if ax is None:
        padded = int((batch == pad_id).sum())
        ax = new_axes(
            0.9 + 1.05 * n_columns,
            0.9 + 0.5 * n_rows,
            f"A batch of {n_rows} sentences of {n_columns} ids; {padded} of {batch.size} cells are padding.",
        )
    for row, column in np.ndindex(n_rows, n_columns):
        token = tokens[int(batch[row, column])]
        is_pad = batch[row, column] == pad_id
        colour = "#fff" if is_pad else _SPECIAL if token.startswith("<") else _PLAIN
        ax.add_patch(_cell(column, row, colour, hatched=is_pad))
        text = f"{label(token)}\n{batch[row, column]}"
        ink = COLOURS["muted"] if is_pad else COLOURS["ink"]
        ax.text(column, row, text, ha="center", va="center", color=ink, **label_style())
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
    ax.set_xticks(range(n_columns))
    ax.set_yticks(range(n_rows))
    ax.set(xlabel="position", ylabel="sentence")
    without_frame(ax)
    return ax


def plot_nearest(word: str, names: Sequence[str], cosines: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw the tokens nearest to a word as bars of their cosines, the nearest on top.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_nearest("cat", ["dog", "horse"], [0.7, 0.4])

    Args:
        word: the word that they are near to, for the title.
        names: the tokens.
        cosines: [token], of each with the word.
        ax: where to draw; a new figure if None.
    """
    values = np.asarray(cosines, dtype=float)
    if ax is None:
        told = ", ".join(f"{label(name)} {fixed_number(v, 2)}" for name, v in zip(names, values, strict=True))
        ax = new_axes(
            6.4, 0.9 + 0.3 * len(values), f"The tokens whose vectors are nearest to {label(word)}: {told}."
        )
    bars = ax.barh(range(len(values)), values, color=_WORD, height=0.66)
    ax.bar_label(bars, [fixed_number(value, 2) for value in values], padding=3)
    ax.set_yticks(range(len(values)), [label(name) for name in names], **label_style())
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="cosine with its vector")
    ax.set_title(f"nearest to “{label(word)}”", loc="left", weight="bold", parse_math=False)
    left_and_bottom(ax)
    return ax


def plot_embedding_map(
    vectors: ArrayLike, tokens: Sequence[str], chosen: int, near: Sequence[int] = (), ax: Axes | None = None
) -> Axes:
    """Draw vectors [token, d_model] as points of the plane that keeps most of their variance.

    The token of index `chosen` is marked, and those of `near` are named beside it. The first collection of
    the axes holds all points.
    """
    plane = principal_plane(vectors)
    if ax is None:
        named = ", ".join(label(tokens[index]) for index in near)
        ax = new_axes(
            6.4,
            4.6,
            f"{len(tokens)} embedded tokens as points of a plane with {sum(plane.shares):.0%} of their "
            f"variance; {label(tokens[chosen])} is marked, and nearest to it by cosine are {named}.",
        )
    ax.scatter(plane.points[:, 0], plane.points[:, 1], s=8, color=COLOURS["muted"], alpha=0.5)
    names = []
    for index in [chosen, *near]:
        x, y = plane.points[index]
        ax.plot(x, y, "o", color=COLOURS["ink"], markersize=8 if index == chosen else 4)
        names.append(
            ax.annotate(label(tokens[index]), (x, y), (5, 3), textcoords="offset points", **label_style())
        )
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(f"first axis, {plane.shares[0]:.0%} of the variance")
    ax.set_ylabel(f"second axis, {plane.shares[1]:.0%}")
    left_and_bottom(ax)
    _keep_apart(names)
    return ax


def _keep_apart(names: Sequence[Annotation]) -> None:
    """Leave out each name that would touch one before it."""
    cast("Figure", names[0].figure).draw_without_rendering()  # so that everything has its place
    kept: list[Bbox] = []
    for name in names:
        box = name.get_window_extent()
        if any(box.overlaps(other) for other in kept):
            name.remove()
        else:
            kept.append(box)


def plot_likeness(matrix: ArrayLike, names: Sequence[str], title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the cosine of every vector with every other.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_likeness([[1.0, 0.8], [0.8, 1.0]], ["cat", "dog"], "cosine similarity")

    Args:
        matrix: [vector, vector], -1 to 1.
        names: of the vectors.
        title: what is drawn.
        ax: where to draw; a new figure if None.

    Returns:
        The axes; their image holds the matrix.
    """
    title = given_heading(title)
    table = np.asarray(matrix, dtype=float)
    if table.shape != (len(names), len(names)):
        raise UserError(f"matrix has shape {list(table.shape)}, and there are {len(names)} names")
    if ax is None:
        side = 2.4 + 0.34 * len(names)
        apart = table[~np.eye(len(table), dtype=bool)]
        ax = new_axes(
            side + 0.9,
            side,
            f"Heatmap of cosines between {len(names)} vectors; two different ones have from "
            f"{fixed_number(apart.min(), 2)} to {fixed_number(apart.max(), 2)}. {title}",
        )
    image = ax.imshow(table, cmap=signed_colormap(), vmin=-1, vmax=1)
    ax.set_xticks(range(len(names)), [label(name) for name in names], rotation=90, **label_style())
    ax.set_yticks(range(len(names)), [label(name) for name in names], **label_style())
    without_frame(ax)
    ax.set_title(title, loc="left", weight="bold")
    add_scale(ax, image, "cosine")
    return ax


def plot_start(
    logits: ArrayLike,
    tokens: Sequence[str],
    *,
    read: int,
    wanted: int,
    losses: Sequence[tuple[float, float]] = (),
    here: tuple[float, float] | None = None,
) -> Figure:
    """Draw the logits at one place of an untrained model, and its loss by the embeddings' size.

    >>> import viz_transformer as vt
    >>> figure = vt.plots.plot_start([0.1, 0.4, -0.2], ["the", "cat", "sleeps"], read=0, wanted=1)

    Args:
        logits: [vocab], at the place.
        tokens: all tokens, by id.
        read: the id that was just read there.
        wanted: the id that should be written.
        losses: (standard deviation, loss) of several starts, in order.
        here: the one of them that the logits belong to.

    Returns:
        The figure; the bars of its first axes hold the logits.
    """
    values = np.asarray(logits, dtype=float)
    if values.shape != (len(tokens),):
        raise UserError(f"logits has shape {list(values.shape)}, and there are {len(tokens)} tokens")
    wide = max(5, len(tokens) / 5.5)  # inches: each name is upright
    figure, ((left, right),) = new_panels(1, 2, (3.7 + wide, 3.4), width_ratios=[wide, 3])
    _draw_logits(left, values, tokens, read, wanted)
    _draw_initial_losses(right, losses, math.log(len(tokens)), f"ln {len(tokens)}", here)
    for ax in (left, right):
        left_and_bottom(ax)
    at = "" if here is None else f" Standard deviation {short_number(here[0], 3)}: loss {here[1]:.1f}."
    set_alt_text(
        figure,
        f"Bars of {len(tokens)} logits: {label(tokens[read])}, just read, {fixed_number(values[read], 1)}; "
        f"{label(tokens[wanted])}, which should be written, {fixed_number(values[wanted], 1)}.{at}",
    )
    return figure


def _draw_logits(
    ax: Axes, logits: NDArray[np.float64], tokens: Sequence[str], read: int, wanted: int
) -> None:
    colours = [COLOURS["muted"]] * len(logits)
    colours[read], colours[wanted] = _READ, _WANTED
    ax.bar(range(len(logits)), logits, color=colours)
    ax.set_xticks(range(len(logits)), [label(token) for token in tokens], rotation=90, **label_style())
    for place, colour, said in ((read, _READ, "just read"), (wanted, _WANTED, "should be written")):
        told = f"{label(tokens[place])}, {said}: {fixed_number(logits[place], 1)}"
        ax.plot([], [], "s", color=colour, label=told)
    ax.legend(frameon=False)
    ax.margins(x=0.01, y=0.12)
    ax.set_title("logits of the next token", loc="left", weight="bold")


def _draw_initial_losses(
    ax: Axes,
    losses: Sequence[tuple[float, float]],
    uniform: float,
    uniform_name: str,
    here: tuple[float, float] | None,
) -> None:
    """Draw (standard deviation, loss) pairs, and the loss of a uniform distribution across them."""
    if losses:
        ax.plot(*zip(*losses, strict=True), "o-", color=_WORD, markersize=3)
    ax.axhline(uniform, color=COLOURS["fill"], linewidth=0.9, linestyle="--")
    ax.annotate(
        f"{uniform_name} = {uniform:.2f}", (1, uniform), xycoords=("axes fraction", "data"),
        xytext=(-2, 3), textcoords="offset points", ha="right", color=COLOURS["muted"],
    )  # fmt: skip
    if here is not None:
        ax.plot(*here, "o", color=COLOURS["ink"], markersize=8)
        ax.set_title(f"loss {here[1]:.1f}", loc="left", weight="bold")
    if not losses and here is None:
        ax.set_xlim(0.01, 1)  # matplotlib before 3.11 can't draw a logarithmic axis without data
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda x, _: short_number(x))
    ax.xaxis.set_major_formatter(lambda x, _: short_number(x))
    ax.set_xlabel("standard deviation of the embeddings")
    ax.set_ylabel("loss before training")


def _cell(column: int, row: int, colour: str, *, hatched: bool) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.47, row - 0.45), 0.94, 0.9, facecolor=colour, edgecolor=COLOURS["line"],
        hatch="///" if hatched else None, linewidth=0.8,
    )  # fmt: skip
