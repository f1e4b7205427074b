"""Attention step by step: one query of one head, the split into heads, and a step with a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

from viz_transformer._bounds import COLUMNS, HEADS_DRAWN, at_most
from viz_transformer._numbers import fixed_number, short_number
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, ink_in, signed_colormap, weight_colormap
from viz_transformer.plots.figures import new_axes, new_figure, new_panels, set_alt_text, without_frame
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import SLANTED, name_query_and_key_axes
from viz_transformer.trace import AttentionSteps, ComputedHead, ForwardTrace, attention_of, compute_head

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "x": "x: the vector of {word}",
    "q": "q = x · W_Q{b_q}: its query",
    "turned_q": "q turned by its position",
    "k": "k: the keys",
    "turned_k": "k turned by their positions",
    "v": "v: the values",
    "scores": "scores = q · kᵀ",
    "scaled": "divided by {divisor}",
    "masked": "masked",
    "weights": "weights: softmax",
    "output": "output = weights · v",
    "concat": "concat: the outputs of all heads",
    "result": "result = concat · W_O{b_o}",
}
_PER_KEY = ("scores", "scaled", "masked", "weights")
_MOST_NUMBERS = 16  # in a row: more have no room for their digits
_MOST_NAMES = 24  # of keys


def plot_attention_steps(
    steps: AttentionSteps,
    head: int,
    query: int,
    *,
    scale: bool | None = None,
    mask: bool = True,
    temperature: float = 1.0,
) -> Figure:
    """Draw every step of one query of one head, from its vector to the output of the attention.

    Numbers are written where they fit. Colours run from the most negative to the most positive of
    each picture; those of weights from 0 to 1. The arguments and errors are those of
    `compute_head`.

    >>> import viz_transformer as vt
    >>> steps = vt.thinking_machines().steps
    >>> figure = vt.plots.plot_attention_steps(steps, head=0, query=0)

    Args:
        steps: the inputs and weights of a layer, such as ``vt.thinking_machines().steps``.
        head: index of the head.
        query: index of the query.
        scale: whether scores are divided by √d_k; None does as the model does.
        mask: whether the mask is applied.
        temperature: scores are divided by it before the softmax; above 0.

    Returns:
        A figure with one axes a step, each holding its numbers as an image, ``[rows, columns]``.
    """
    worked = compute_head(steps, head, query, scale=scale, mask=mask, temperature=temperature)
    shown = {name: np.atleast_2d(getattr(worked, name)) for name in steps.steps}
    heights = [0.62 + 0.3 * min(len(matrix), 12) for matrix in shown.values()]  # inches
    figure, axes = new_panels(len(shown), 1, (9, sum(heights) + 0.6), height_ratios=heights)
    root = steps.root if (steps.scale if scale is None else scale) else 1.0
    words = {
        "word": label(steps.query_tokens[query]),
        "divisor": short_number(root * temperature, 3),
        "b_q": "" if steps.b_q is None else " + b_Q",
        "b_o": "" if steps.b_o is None else " + b_O",
    }
    for ax, (name, matrix) in zip(axes[:, 0], shown.items(), strict=True):
        _draw(ax, name, matrix)
        ax.set_title(_TITLES[name].format(**words), loc="left", **label_style())
        _name_words(ax, name, matrix, steps.key_tokens)
    figure.suptitle(
        f"{steps.kind.capitalize()} attention · layer {steps.layer} · head {head}",
        x=0.01,
        ha="left",
        weight="bold",
    )
    set_alt_text(figure, describe_steps(steps, head, query, worked))
    return figure


def describe_steps(steps: AttentionSteps, head: int, query: int, worked: ComputedHead) -> str:
    """Return in words what one query of one head looks at, and how its numbers came about.

    >>> import viz_transformer as vt
    >>> from viz_transformer.trace.steps import compute_head
    >>> steps = vt.thinking_machines().steps
    >>> words = vt.plots.describe_steps(steps, 0, 0, compute_head(steps, 0, 0))

    Args:
        steps: the layer.
        head: index of the head.
        query: index of the query.
        worked: what `compute_head` made of them.
    """
    word = label(steps.query_tokens[query])
    begin = (
        f"{steps.kind.capitalize()} attention, layer {steps.layer}, head {head}, step by step: the "
        f"{steps.x.shape[1]} numbers of {word} become a query of {steps.d_head}"
    )
    if not worked.weights.any():
        return f"{begin}, which may attend to nothing: all its weights are 0."
    order = np.argsort(-worked.weights, kind="stable")[:3]
    most = ", ".join(f"{label(steps.key_tokens[key])} {worked.weights[key]:.2f}" for key in order)
    best = int(np.argmax(worked.scores))
    return (
        f"{begin}, compared with {len(steps.key_tokens)} keys. Its largest score, "
        f"{fixed_number(worked.scores[best], 2)}, is with {label(steps.key_tokens[best])}. "
        f"Its largest weights: {most}."
    )


def _draw(ax: Axes, name: str, matrix: NDArray[np.float64]) -> None:
    finite = matrix[np.isfinite(matrix)]
    limit = max(float(np.abs(finite).max()) if finite.size else 0.0, 1e-9)
    image = ax.imshow(
        np.ma.masked_invalid(matrix),
        cmap=weight_colormap() if name == "weights" else signed_colormap(),
        vmin=0 if name == "weights" else -limit,
        vmax=1 if name == "weights" else limit,
        aspect="auto",
    )
    ax.set_facecolor(COLOURS["line"])  # where a masked score is −∞
    without_frame(ax)
    ax.set(xticks=[], yticks=[])
    if matrix.shape[1] > _MOST_NUMBERS or len(matrix) > 12:
        return
    for (row, col), number in np.ndenumerate(matrix):
        value = float(number)
        text, colour = "−∞", "#000"
        if np.isfinite(value):
            text, colour = fixed_number(value, 2), ink_in(image, value)
        text = text.replace("-", "−")
        ax.text(col, row, text, ha="center", va="center", color=colour)


def _name_words(ax: Axes, name: str, matrix: NDArray[np.float64], tokens: tuple[str, ...]) -> None:
    if len(tokens) > _MOST_NAMES:
        return
    if name in _PER_KEY:
        room = max(4, 90 // len(tokens))  # letters a column has
        ax.set_xticks(range(len(tokens)), [label(token)[:room] for token in tokens], **label_style())
    elif name in ("k", "turned_k", "v"):
        ax.set_yticks(range(len(tokens)), [label(token) for token in tokens], **label_style())


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
    figure = new_figure(*size, layout="constrained")
    grid = figure.add_gridspec(2, n_heads)
    whole = figure.add_subplot(grid[0, :])
    _draw_split(whole, x, d_model, names)
    whole.set_title(f"x [{n_words}, {d_model}]: a row for each word", loc="left")
    whole.set_yticks(range(n_words), names, **label_style())
    for head, numbers in enumerate(heads):
        ax = figure.add_subplot(grid[1, head])
        _draw_split(ax, numbers, d_model, names)
        title = f"head {head} [{n_words}, {d_head}]" if is_titled else str(head)
        ax.set_title(title, loc="left", size="medium")
        ax.set_yticks([])
    how = "reshape, then transpose" if transposed else "reshape alone"
    figure.suptitle(f"Split by {how}", x=0.01, ha="left", weight="bold")
    set_alt_text(figure, _describe_split(heads // d_model, names, how))
    return figure


def _draw_split(ax: Axes, numbers: np.ndarray, d_model: int, names: Sequence[str]) -> None:
    """Draw numbers ``[row, column]``, each given by its index in the whole table."""
    owners = numbers // d_model % len(_WORDS)
    ax.imshow(owners, cmap=ListedColormap(_WORDS), vmin=0, vmax=len(_WORDS) - 1, aspect="auto")
    for edge in range(1, numbers.shape[0]):
        ax.axhline(edge - 0.5, color="white", linewidth=1.5)
    if d_model <= _MOST_WRITTEN:
        for (row, col), number in np.ndenumerate(numbers):
            owner, place = divmod(int(number), d_model)
            ax.text(col, row, f"{names[owner]} {place}", ha="center", va="center", **label_style())
    ax.set_xticks([])
    without_frame(ax)


def _describe_split(owners: np.ndarray, names: Sequence[str], how: str) -> str:
    told = []
    for head, rows in enumerate(owners):  # [word, d_head]
        of = dict.fromkeys(names[owner] for owner in rows.ravel())
        told.append(f"head {head} holds numbers of {', '.join(of)}")
    return f"The vectors of {len(names)} words split by {how}: {'; '.join(told)}."


def plot_cached_step(
    trace: ForwardTrace, step: int, layer: int = 0, head: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw one head's weights at one step of decoding: the new row in colour, and the rows before it hatched.

    With a cache only the new row is computed, from the keys and values that are kept. Without one the
    model reads the whole text again at each step and computes the hatched cells again.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_cached_step(vt.load_language_model().trace("la maestra perdió su libro"), 3)

    Args:
        trace: of a decoder.
        step: how many tokens have been read, from 1.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the weights of the new row, ``[query, key]``, and NaN elsewhere.

    Raises:
        UserError: if the trace is of no decoder, or has no such step, layer or head.
    """
    weights = attention_of(trace, "decoder")  # [layer, head, query, key]
    n_layers, n_heads, length, _ = weights.shape
    for name, index, least, most in (
        ("step", step, 1, length),
        ("layer", layer, 0, n_layers - 1),
        ("head", head, 0, n_heads - 1),
    ):
        if index not in range(least, most + 1):
            raise UserError(f"there is no {name} {index!r:.40}; give one from {least} to {most}")
    tokens = trace.key_tokens("decoder")
    title = f"Token {step}: {step} scores with a cache, {step} × {step} = {step * step} without"
    if ax is None:
        kept = ", ".join(map(label, tokens[: step - 1])) or "none"
        ax = new_axes(7.4, 5.2, f"{title}. Keys and values kept from the steps before: {kept}.", close=True)
    new = np.full((length, length), np.nan)
    new[step - 1, :step] = weights[layer, head, step - 1, :step]
    ax.imshow(new, cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
    _draw_old_cells(ax, step)
    _write_weights(ax, new[step - 1, :step], step)
    shown = [label(token) for token in tokens]
    ax.set_xticks(range(length), shown, **label_style(), **SLANTED)
    ax.set_yticks(range(length), shown, **label_style())
    for at, tick in enumerate(ax.get_xticklabels()):
        tick.set_fontweight("bold" if at == step - 1 else "normal")
        tick.set_color(COLOURS["ink"] if at < step else COLOURS["muted"])
    without_frame(ax)
    name_query_and_key_axes(ax)
    ax.set_title(title, loc="left", weight="bold", pad=12)
    note = "colour: computed at this step    hatched: computed again at this step without a cache"
    ax.text(0, -0.04, note, transform=ax.transAxes, va="top", color=COLOURS["muted"])
    return ax


def _draw_old_cells(ax: Axes, step: int) -> None:
    """Frame the new row, and hatch the scores of the rows before it, those behind the mask too."""
    from matplotlib.patches import Rectangle

    hatched = Rectangle(
        (-0.5, -0.5), step, step - 1, fill=False, edgecolor=COLOURS["muted"], hatch="///", lw=0
    )
    if step > 1:
        ax.add_patch(hatched)
    ax.add_patch(Rectangle((-0.5, step - 1.5), step, 1, fill=False, edgecolor=COLOURS["ink"], linewidth=1.5))


def _write_weights(ax: Axes, row: np.ndarray, step: int) -> None:
    """Write each weight of the new row into its cell."""
    for key, weight in enumerate(row):
        ink = "white" if weight > 0.55 else COLOURS["ink"]
        ax.text(key, step - 1, f"{weight:.2f}", ha="center", va="center", color=ink)
