"""Tokens and their vectors on paper: ids in a batch, likeness, and what an untrained model says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import signed_colormap
from viz_transformer.plots.labels import label, label_font

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WORD, _READ, _WANTED = "#264cb3", "#c2410c", "#00695c"
_SPECIAL, _PLAIN = "#f3e3c3", "#dbe9f5"


def plot_ids(ids: ArrayLike, tokens: Sequence[str], *, pad_id: int = 0, ax: Axes | None = None) -> Axes:
    """Draw a batch of ids: a row for each sentence, in each cell the token and its id.

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
        ax = _new_axes((0.9 + 1.05 * n_columns, 0.9 + 0.5 * n_rows))
        padded = int((batch == pad_id).sum())
        set_alt_text(
            ax.figure,
            f"A batch of {n_rows} sentences of {n_columns} ids; {padded} of {batch.size} cells are padding.",
        )
    for row, column in np.ndindex(n_rows, n_columns):
        token = tokens[batch[row, column]]
        is_pad = batch[row, column] == pad_id
        colour = "#fff" if is_pad else _SPECIAL if token.startswith("<") else _PLAIN
        ax.add_patch(_cell(column, row, colour, hatched=is_pad))
        text = f"{label(token)}\n{batch[row, column]}"
        font = {"fontproperties": label_font(9), "parse_math": False}
        ax.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            color="#565d6b" if is_pad else "#14171f",
            **font,
        )
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
    ax.set_xticks(range(n_columns))
    ax.set_yticks(range(n_rows))
    ax.set(xlabel="position", ylabel="sentence")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def plot_nearest(word: str, names: Sequence[str], cosines: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw the tokens nearest to a word as bars of their cosines, the nearest on top.

    Args:
        word: the word that they are near to, for the title.
        names: the tokens.
        cosines: [token], of each with the word.
        ax: where to draw; a new figure if None.
    """
    values = np.asarray(cosines, dtype=float)
    if ax is None:
        ax = _new_axes((6.4, 0.9 + 0.3 * len(values)))
        told = ", ".join(f"{label(name)} {v:.2f}" for name, v in zip(names, values, strict=True))
        set_alt_text(ax.figure, f"The tokens whose vectors are nearest to {label(word)}: {told}.")
    bars = ax.barh(range(len(values)), values, color=_WORD, height=0.66)
    ax.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, size=9)
    font = {"fontproperties": label_font(10), "parse_math": False}
    ax.set_yticks(range(len(values)), [label(name) for name in names], **font)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="cosine with its vector")
    ax.set_title(f"nearest to “{label(word)}”", loc="left", weight="bold", size=11, parse_math=False)
    _quiet(ax)
    return ax


def plot_likeness(matrix: ArrayLike, names: Sequence[str], title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the cosine of every vector with every other.

    Args:
        matrix: [vector, vector], -1 to 1.
        names: of the vectors.
        title: what is drawn.
        ax: where to draw; a new figure if None.

    Returns:
        The axes; their image holds the matrix.
    """
    table = np.asarray(matrix, dtype=float)
    if table.shape != (len(names), len(names)):
        raise UserError(f"matrix has shape {list(table.shape)}, and there are {len(names)} names")
    if ax is None:
        side = 2.4 + 0.34 * len(names)
        ax = _new_axes((side + 0.9, side))
        apart = table[~np.eye(len(table), dtype=bool)]
        set_alt_text(
            ax.figure,
            f"Heatmap of cosines between {len(names)} vectors; two different ones have from "
            f"{apart.min():.2f} to {apart.max():.2f}. {title}",
        )
    image = ax.imshow(table, cmap=signed_colormap(), vmin=-1, vmax=1)
    font = {"fontproperties": label_font(9), "parse_math": False}
    ax.set_xticks(range(len(names)), [label(name) for name in names], rotation=90, **font)
    ax.set_yticks(range(len(names)), [label(name) for name in names], **font)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", weight="bold", size=11)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("cosine")
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
    import matplotlib.pyplot as plt

    values = np.asarray(logits, dtype=float)
    if values.shape != (len(tokens),):
        raise UserError(f"logits has shape {list(values.shape)}, and there are {len(tokens)} tokens")
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", width_ratios=[1.7, 1])
    plt.close(figure)  # shown once, by whoever gets it
    colours = ["#9aa3b2"] * len(values)
    colours[read], colours[wanted] = _READ, _WANTED
    left.bar(range(len(values)), values, color=colours)
    font = {"fontproperties": label_font(8), "parse_math": False}
    left.set_xticks(range(len(values)), [label(token) for token in tokens], rotation=90, **font)
    for place, colour, said in ((read, _READ, "just read"), (wanted, _WANTED, "should be written")):
        told = f"{label(tokens[place])}, {said}: {values[place]:.1f}".replace("-", "−")
        left.plot([], [], "s", color=colour, label=told)
    left.legend(frameon=False, fontsize=9)
    left.margins(x=0.01, y=0.12)
    left.set_title("score of each token as the next one", loc="left", weight="bold", size=10)
    stds, each = zip(*losses, strict=True) if losses else ((), ())
    right.plot(stds, each, "o-", color=_WORD, markersize=3)
    uniform = math.log(len(tokens))
    right.axhline(uniform, color="0.5", linewidth=0.9, linestyle="--")
    right.annotate(
        f"ln {len(tokens)} = {uniform:.2f}", (1, uniform), xycoords=("axes fraction", "data"),
        xytext=(-2, 3), textcoords="offset points", ha="right", size=8, color="0.35",
    )  # fmt: skip
    if here is not None:
        right.plot(*here, "o", color=_READ, markersize=8)
        right.set_title(f"loss {here[1]:.1f}", loc="left", weight="bold", size=10, color=_READ)
    right.set_xscale("log")
    right.set_yscale("log")
    right.yaxis.set_major_formatter("{x:g}")
    right.xaxis.set_major_formatter("{x:g}")
    right.set_xlabel("standard deviation of the embeddings", size=9)
    right.set_ylabel("loss before training", size=9)
    for ax in (left, right):
        _quiet(ax)
    at = "" if here is None else f" Standard deviation {here[0]:.3g}: loss {here[1]:.1f}."
    set_alt_text(
        figure,
        f"Bars of {len(tokens)} scores: {label(tokens[read])}, just read, {values[read]:.1f}; "
        f"{label(tokens[wanted])}, which should be written, {values[wanted]:.1f}.{at}",
    )
    return figure


def _new_axes(size: tuple[float, float]) -> Axes:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def _cell(column: int, row: int, colour: str, *, hatched: bool) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.47, row - 0.45), 0.94, 0.9, facecolor=colour, edgecolor="#c3c8d1",
        hatch="///" if hatched else None, linewidth=0.8,
    )  # fmt: skip


def _quiet(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=2)
