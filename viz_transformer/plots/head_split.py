"""The split of vectors into heads: which numbers of which words each head gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap

from viz_transformer._bounds import COLUMNS, HEADS_DRAWN, at_most
from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.text_in_files import TextFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The colours of words; with more words they begin again.
_WORDS = [COLOURS[role] for role in ("key-tint", "word-tint", "weight-tint", "line", "word-half")]
_MOST_WRITTEN = 16  # numbers in a row: more have no room for their names
_MOST_TITLES = 16  # heads: of more only the number is written


def plot_split(words: Sequence[str], d_model: int, n_heads: int, *, transposed: bool = True) -> Figure:
    """Draw how the vectors of a sentence are cut into heads.

    Every number is named by its word and its place, ``cat 3``, and has its word's colour. So a row
    of a head that is of one colour belongs to one word.

    >>> import viz_transformer as vt
    >>> figure = vt.plots.plot_split(["the", "cat", "sleeps"], d_model=8, n_heads=2)

    Args:
        words: the sentence, one name a word.
        d_model: numbers in the vector of a word.
        n_heads: heads; it must divide d_model.
        transposed: True cuts each vector into `n_heads` pieces and gives each head one piece of
            every word. False shows the mistake: ``x.reshape(n_heads, n_words, d_head)``, the same
            numbers in the order in which they lie in memory.

    Returns:
        A figure; its first axes show the vectors ``[word, d_model]``, and each of the others a
        head, ``[word, d_head]``. Each image holds the number of the word that a cell comes from.

    Raises:
        UserError: if there is no word, or n_heads does not divide d_model.
    """
    import matplotlib.pyplot as plt

    if not words or n_heads < 1 or d_model < 1 or d_model % n_heads:
        raise UserError(
            f"{len(words)} words of {d_model} numbers cannot be cut into {n_heads} heads; give at "
            "least one word, and an n_heads that divides d_model"
        )
    at_most("d_model", d_model, COLUMNS)
    at_most("n_heads", n_heads, HEADS_DRAWN)
    n_words, d_head = len(words), d_model // n_heads
    x = np.arange(n_words * d_model).reshape(n_words, d_model)  # [word, d_model]
    if transposed:
        heads = x.reshape(n_words, n_heads, d_head).swapaxes(0, 1)  # [head, word, d_head]
    else:
        heads = x.reshape(n_heads, n_words, d_head)
    names = [label(word) for word in words]
    is_titled = n_heads <= _MOST_TITLES
    letters = max(map(len, names)) + 3 if d_model <= _MOST_WRITTEN else 0
    size = (
        max(7.6, 0.09 * letters * d_model, (1.25 if is_titled else 0.3) * n_heads),
        1.5 + 0.56 * n_words,
    )  # inches
    figure = plt.figure(figsize=size, layout="constrained", FigureClass=TextFigure)
    # Returned, it is shown once by a notebook; left with pyplot, it would be shown twice.
    plt.close(figure)
    grid = figure.add_gridspec(2, n_heads)
    whole = figure.add_subplot(grid[0, :])
    _draw(whole, x, d_model, names)
    told = "a row for each word" if transposed else "split by reshape alone"
    whole.set_title(f"x [{n_words}, {d_model}]: {told}", loc="left")
    whole.set_yticks(range(n_words), names, **label_style())
    for head, numbers in enumerate(heads):
        ax = figure.add_subplot(grid[1, head])
        _draw(ax, numbers, d_model, names)
        title = f"head {head} [{n_words}, {d_head}]" if is_titled else str(head)
        ax.set_title(title, loc="left", size="medium")
        ax.set_yticks([])
    how = "unflatten, then transpose" if transposed else "reshape alone"
    set_alt_text(figure, _describe_split(heads // d_model, names, how))
    return figure


def _draw(ax: Axes, numbers: np.ndarray, d_model: int, names: Sequence[str]) -> None:
    """Draw numbers ``[row, column]``, each told by its index in the whole table."""
    owners = numbers // d_model % len(_WORDS)
    ax.imshow(owners, cmap=ListedColormap(_WORDS), vmin=0, vmax=len(_WORDS) - 1, aspect="auto")
    for edge in range(1, numbers.shape[0]):
        ax.axhline(edge - 0.5, color="white", linewidth=1.5)
    if d_model <= _MOST_WRITTEN:
        for (row, col), number in np.ndenumerate(numbers):
            owner, place = divmod(int(number), d_model)
            ax.text(col, row, f"{names[owner]} {place}", ha="center", va="center", **label_style())
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _describe_split(owners: np.ndarray, names: Sequence[str], how: str) -> str:
    told = []
    for head, rows in enumerate(owners):  # [word, d_head]
        of = dict.fromkeys(names[owner] for owner in rows.ravel())
        told.append(f"head {head} holds numbers of {', '.join(of)}")
    return f"The vectors of {len(names)} words split by {how}: {'; '.join(told)}."
