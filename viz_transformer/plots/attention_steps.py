"""The steps of one query of one head on one page, as in the attention stepper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import fixed_number, short_number
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, ink_in, signed_colormap, weight_colormap
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.text_in_files import TextFigure
from viz_transformer.trace import AttentionSteps, ComputedHead, compute_head

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
    """Draw every step of one query of one head, from its vector to the output of attention.

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
    import matplotlib.pyplot as plt

    worked = compute_head(steps, head, query, scale=scale, mask=mask, temperature=temperature)
    shown = {name: np.atleast_2d(getattr(worked, name)) for name in steps.steps}
    heights = [0.62 + 0.3 * min(len(matrix), 12) for matrix in shown.values()]  # inches
    figure, axes = plt.subplots(
        len(shown),
        1,
        figsize=(9, sum(heights) + 0.6),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
        FigureClass=TextFigure,
    )
    # Returned, it is shown once by a notebook; left with pyplot, it would be shown twice.
    plt.close(figure)
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
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
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
