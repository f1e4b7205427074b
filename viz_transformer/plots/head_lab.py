"""Effects of changed heads: each word's log-probability, and the loss without each head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer._numbers import fixed_number
from viz_transformer.analysis import HeadEffect, effects_in_words
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import legend_below, new_axes, new_panels, set_alt_text
from viz_transformer.plots.labels import label, label_font

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEFORE, _AFTER = COLOURS["muted"], COLOURS["you"]
#: For each kind a colour and a shape, so that neither is needed alone.
_KINDS = {
    "encoder": (COLOURS["key"], "o"),
    "decoder": (COLOURS["query"], "s"),
    "cross": (COLOURS["ink"], "^"),
}
_MOST_NAMED = 3  # heads whose effect is named in the picture, besides the surest


def plot_log_probs(
    tokens: Sequence[str], before: ArrayLike, after: ArrayLike, ax: Axes | None = None
) -> Axes:
    """Draw each token's log-probability before and after a change, as two bars.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_log_probs(["el", "gato"], before=[-0.1, -0.2], after=[-1.0, -0.2])

    Args:
        tokens: the tokens of one translation.
        before: their log-probabilities in nats, ``[token]``.
        after: the same under the change, ``[token]``.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if there are not as many numbers as tokens, or one is above 0 or not finite.
    """
    values = {}
    for name, given in (("before", before), ("after", after)):
        values[name] = np.asarray(given, dtype=np.float64)
        fits = values[name].shape == (len(tokens),) and len(tokens) > 0
        if not fits or not (np.isfinite(values[name]) & (values[name] <= 0)).all():
            raise UserError(
                f"{name} holds {np.size(given)} numbers for {len(tokens)} tokens; give one "
                "log-probability, a finite number up to 0, for each"
            )
    if ax is None:
        ax = new_axes(
            6.4, 1.6 + 0.36 * len(tokens), _describe_log_probs(tokens, values["before"], values["after"])
        )
    rows = np.arange(len(tokens))
    ax.barh(rows - 0.2, values["before"], height=0.36, color=_BEFORE, label="unchanged")
    ax.barh(rows + 0.2, values["after"], height=0.36, color=_AFTER, label="changed")
    least = min(values["before"].min(), values["after"].min(), -1.0)
    ax.set_xlim(1.08 * least, 0)
    ax.set_yticks(rows, [label(token) for token in tokens], fontproperties=label_font())
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    # To the right of the bars' zero there is room for the differences.
    for row, change in zip(rows, values["after"] - values["before"], strict=True):
        ax.annotate(
            _format_change(change),
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )
    ax.set_xlabel("log-probability in nats; at the right, its change")
    ax.set_title("Each word of the unchanged translation", loc="left", weight="bold")
    ax.spines[["top", "left"]].set_visible(False)
    legend_below(ax)
    return ax


def plot_head_effects(effects: Sequence[HeadEffect], ax: Axes | None = None) -> Axes:
    """Draw every head's measured effect against how surely it looks.

    If attention explained the model, the points would rise from left to right.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> changes = {kind: np.ones((2, 4)) for kind in trace.kinds}  # measured, such as by a head lab
    >>> axes = vt.plots.plot_head_effects(vt.analysis.head_effects(trace, changes))

    Args:
        effects: what `analysis.head_effects` returned.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if there is no head.
    """
    if not effects:
        raise UserError("plot_head_effects was given no head; give analysis.head_effects(…)")
    if ax is None:
        ax = new_axes(6.4, 4.6, "Scatter plot of heads. " + effects_in_words(effects))
    for kind in dict.fromkeys(effect.kind for effect in effects):
        own = [effect for effect in effects if effect.kind == kind]
        colour, marker = _KINDS[kind]
        ax.scatter(
            [effect.confidence for effect in own],
            [effect.loss_change for effect in own],
            color=colour,
            marker=marker,
            alpha=0.75,
            label=kind,
            zorder=3,
        )
    ax.axhline(0, color=COLOURS["fill"], linewidth=0.8)
    ax.set_xlim(0, 1.04)
    ax.margins(y=0.18)
    _name_heads(ax, effects)
    ax.set_xlabel("confidence: mean of a head's largest weights")
    ax.set_ylabel("change of the loss without it, nats per token")
    ax.set_title("Each head switched off alone", loc="left", weight="bold")
    ax.spines[["top", "right"]].set_visible(False)
    legend_below(ax)
    return ax


def plot_head_lab(
    tokens: Sequence[str],
    before: ArrayLike,
    after: ArrayLike,
    effects: Sequence[HeadEffect],
    *,
    alt_text: str,
) -> Figure:
    """Draw `plot_log_probs` and `plot_head_effects` side by side.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> effects = vt.analysis.head_effects(trace, {kind: np.ones((2, 4)) for kind in trace.kinds})
    >>> said = {"tokens": ["el", "gato"], "before": [-0.1, -0.2], "after": [-1.0, -0.2]}
    >>> figure = vt.plots.plot_head_lab(**said, effects=effects, alt_text="without one head")

    Args:
        tokens: as in `plot_log_probs`.
        before: as there.
        after: as there.
        effects: as in `plot_head_effects`.
        alt_text: the figure in words.

    Raises:
        UserError: as these two.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    height = max(4.4, 1.6 + 0.36 * len(tokens))
    layout = ConstrainedLayoutEngine(wspace=0.12)
    figure, axes = new_panels(1, 2, (12, height), layout=layout)
    plot_log_probs(tokens, before, after, ax=axes[0, 0])
    plot_head_effects(effects, ax=axes[0, 1])
    set_alt_text(figure, alt_text)
    return figure


def _would_meet(one: HeadEffect, other: HeadEffect, tallest: float) -> bool:
    """Whether the names of two heads would lie upon each other: each is a line high and nearly half as wide
    as the axes."""
    is_level = abs(one.loss_change - other.loss_change) < 0.08 * tallest
    return is_level and abs(one.confidence - other.confidence) < 0.45


def _name_heads(ax: Axes, effects: Sequence[HeadEffect]) -> None:
    """Write the names of the heads that matter most and of the surest beside their points."""
    by_effect = sorted(effects, key=lambda effect: effect.rank)
    surest = min(effects, key=lambda effect: effect.confidence_rank)
    tallest = max(abs(effect.loss_change) for effect in effects)
    named: list[HeadEffect] = []
    for effect in by_effect[:_MOST_NAMED]:
        # Names of heads with next to no effect would lie upon each other on the zero line.
        is_clear = not any(_would_meet(effect, other, tallest) for other in named)
        if is_clear and abs(effect.loss_change) > 0.06 * tallest:
            named.append(effect)
    for effect in named:
        right = effect.confidence > 0.55
        ax.annotate(
            effect.name,
            (effect.confidence, effect.loss_change),
            xytext=(-7 if right else 7, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
        )
    if surest not in named and not np.isnan(surest.confidence):
        ax.annotate(
            f"surest: {surest.name}",
            (surest.confidence, surest.loss_change),
            xytext=(0, -16),
            textcoords="offset points",
            ha="right",
            va="top",
            arrowprops={"arrowstyle": "-", "color": COLOURS["fill"], "shrinkB": 3, "relpos": (1, 1)},
        )


def _describe_log_probs(tokens: Sequence[str], before: np.ndarray, after: np.ndarray) -> str:
    change = after - before
    most = int(np.abs(change).argmax())
    return (
        f"Log-probabilities of {len(tokens)} tokens before and after a change. The largest change "
        f"is that of {label(tokens[most])}: {_format_change(change[most])} nats. The loss goes from "
        f"{fixed_number(-before.mean(), 3)} to {fixed_number(-after.mean(), 3)} nats per token."
    )


def _format_change(number: float) -> str:
    return fixed_number(number, 2, signed=True)
