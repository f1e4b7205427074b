"""A figure of what one head does over many texts: by distance, by tenths, and among all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz_transformer.analysis import HeadCard
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_panels, set_alt_text
from viz_transformer.trace import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FARTHEST = 12  # positions; what lies farther is drawn at the ends


def plot_head_card(card: HeadCard) -> Figure:
    """Draw a head card: where the head looks, how often its pattern holds, and all heads beside it.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the black cat sleeps", "the dog sees the cat")
    >>> card = vt.analysis.head_card(map(translator.trace, texts), "encoder", layer=0, head=1)
    >>> figure = vt.plots.plot_head_card(card)

    Args:
        card: what `vt.analysis.head_card` returned.

    Returns:
        A new figure of three axes: shares by distance, rows by tenths, and the heads as points.
    """
    figure, ((by_offset, by_tenth, all_heads),) = new_panels(1, 3, (12, 4))
    _by_offset(by_offset, card)
    _by_tenth(by_tenth, card)
    _all_heads(all_heads, card)
    figure.suptitle(_sentence(card), x=0.01, ha="left", weight="bold", parse_math=False)
    set_alt_text(figure, describe_head_card(card))
    return figure


def describe_head_card(card: HeadCard) -> str:
    """Return a head card in words.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the black cat sleeps", "the dog sees the cat")
    >>> card = vt.analysis.head_card(map(translator.trace, texts), "encoder", layer=0, head=1)
    >>> words = vt.plots.describe_head_card(card)

    Args:
        card: what `vt.analysis.head_card` returned.
    """
    most = int(np.argmax(card.weight_by_offset))
    said = [
        f"Head card over {card.n_texts} texts. {_sentence(card)}.",
        f"Most of its weight, {card.weight_by_offset[most]:.0%}, lies {_distance(card.offsets[most])}.",
    ]
    if card.loss_change is not None:
        signed = f"{card.loss_change:+.3f}".replace("-", "−")
        said.append(f"Without it the loss changes by {signed} nats per token.")
    return " ".join(said)


def folded(card: HeadCard) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets, shares and even shares, with all that is farther than 12 positions at the ends."""
    ends = np.clip(card.offsets, -_FARTHEST, _FARTHEST)
    offsets = np.unique(ends)
    shares, even = (
        np.array([each[ends == offset].sum() for offset in offsets])
        for each in (card.weight_by_offset, card.even_by_offset)
    )
    return offsets, shares, even


def _by_offset(ax: Axes, card: HeadCard) -> None:
    offsets, shares, even = folded(card)
    ax.bar(offsets, shares, color=COLOURS["weight"], label="this head")
    ax.plot(offsets, even, ":", color=COLOURS["muted"], label="even attention")
    ax.set(xlabel="positions from the query to the key", ylabel="mean share of the weight")
    ax.legend(frameon=False)


def _by_tenth(ax: Axes, card: HeadCard) -> None:
    n = len(card.tenths)
    ax.bar(np.arange(n) / n + 0.5 / n, card.tenths, width=0.9 / n, color=COLOURS["fill"])
    ax.set(xlabel=f"weight {card.where or 'there'}", ylabel="rows")


def _all_heads(ax: Axes, card: HeadCard) -> None:
    ax.scatter(card.scores.ravel(), card.entropies.ravel(), color=COLOURS["fill"], s=30)
    place = card.layers.index(card.layer), card.head
    own = card.scores[place], card.entropies[place]
    ax.scatter(*own, facecolor="none", edgecolor=COLOURS["ink"], linewidth=2, s=110, gid="chosen")
    ax.annotate(
        f"{card.layer}·{card.head}", own, xytext=(8, 8), textcoords="offset points", color=COLOURS["ink"]
    )
    ax.set(
        xlim=(-0.03, 1.1), ylim=(-0.03, 1.12), xlabel=f"{card.pattern}: mean share", ylabel="entropy share"
    )


def _sentence(card: HeadCard) -> str:
    of = f"Head {card.layer}·{card.head} of the {KINDS[card.kind].label}"
    if not card.n_told:
        return f"{of}: no text leaves room for a pattern"
    held = f"looks most {card.where} in {card.held:.0%} of {card.n_told} rows"
    return f"{of} {held}" if card.label is not None else f"{of} has no label; it {held}"


def _distance(offset: int) -> str:
    if offset == 0:
        return "on the query's own position"
    side = "before" if offset < 0 else "after"
    return f"{abs(offset)} position{'s' if abs(offset) > 1 else ''} {side} the query"
