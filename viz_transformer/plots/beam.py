"""Beam search as a tree, and the distribution of the next word."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from viz_transformer._numbers import fixed_number
from viz_transformer._shared import SHARED
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes
from viz_transformer.plots.labels import label, label_font
from viz_transformer.trace import running_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from viz_transformer.trace import Candidate, DecodeStep, DecodeTrace

_KEPT, _BEST, _GONE = COLOURS["ink"], COLOURS["query"], COLOURS["muted"]
#: A mark for each fate, so that colour is not needed to tell them apart.
_MARKS = {status: f"{mark} " for status, mark in SHARED["statuses"].items()} | {"kept": ""}
_LONGEST_TOKEN = 12
_NARROWEST_IN, _WIDEST_IN = 6.4, 40.0  # the narrowest holds the title


def plot_beam(search: DecodeTrace, step: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw a search as a tree: a column for each step, in it the places of the beam.

    Kept beginnings are joined by solid lines, the path of the best text by thick ones; what was
    pruned or forbidden is drawn below, on dashed lines. Numbers are log-probabilities of the whole
    beginning in nats; of finished texts, scores.

    >>> import viz_transformer as vt
    >>> search = vt.load_translator().decode("the cat sleeps", beam_width=2)
    >>> axes = vt.plots.plot_beam(search)

    Args:
        search: a search with recorded steps.
        step: the last step drawn, from 0; by default the last there is.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if the search has no steps, or not this one.
    """
    step = _check_step(search, step)
    columns = [_assign_rows(each) for each in search.steps[: step + 1]]
    n_rows = max(len(column) for column in columns)
    if ax is None:
        width = min(_WIDEST_IN, 1.2 + 2.0 * len(columns))
        ax = new_axes(max(_NARROWEST_IN, width), 1.3 + 0.3 * n_rows, _describe_tree(search, step), close=True)
    _draw_tree(ax, search, columns)
    ax.set_xlim(-0.6, len(columns) + 0.6)
    ax.set_ylim(n_rows - 0.4, -0.6)
    ax.set_xticks(range(1, len(columns) + 1), [str(n + 1) for n in range(len(columns))])
    ax.set_yticks([])
    ax.set_xlabel("step")
    ax.set_title(
        "Numbers: log-probability in nats; ■ finished: score; ✂ pruned; ⊘ forbidden",
        loc="left",
        size="medium",
    )
    ax.spines[["top", "left", "right"]].set_visible(False)
    return ax


def _draw_tree(ax: Axes, search: DecodeTrace, columns: list[dict[int, int]]) -> None:
    """Draw each step's candidates in a column, joined to those that they continue."""
    best = set(enumerate(search.hypotheses[0].path if search.hypotheses else ()))
    before: dict[int, tuple[float, float]] = {0: (0.0, 0.0)}  # place in the beam → place in the picture
    prompt = search.prompt_tokens[-1] if search.prompt_tokens else ""
    _write_label(ax, 0, 0, label(prompt)[:_LONGEST_TOKEN], _KEPT, "normal")
    for number, (each, rows) in enumerate(zip(search.steps, columns, strict=False)):
        kept: dict[int, tuple[float, float]] = {}
        for index, candidate in enumerate(each.candidates):
            x, y = number + 1.0, float(rows[index])
            is_best = (number, index) in best
            gone = candidate.status in ("pruned", "forbidden")
            colour = _BEST if is_best else _GONE if gone else _KEPT
            parent = before.get(candidate.parent, (number, 0.0))
            ax.plot(
                [parent[0] + 0.34, x - 0.34],
                [parent[1], y],
                color=colour,
                linewidth=2.4 if is_best else 0.8 if gone else 1.3,
                linestyle="--" if gone else "-",
                zorder=1 + is_best,
            )
            _write_label(ax, x, y, _format_candidate(candidate), colour, "bold" if is_best else "normal")
            if candidate.status == "kept":
                kept[len(kept)] = (x, y)
        before = kept


def plot_distribution(search: DecodeTrace, step: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the most probable next words of a step, and of a drawn text what could be drawn.

    >>> import viz_transformer as vt
    >>> search = vt.load_translator().sample("the cat sleeps", 1.5, top_k=4)
    >>> axes = vt.plots.plot_distribution(search, step=0)

    Args:
        search: a drawn text, or a beam search, of which the best hypothesis' words are drawn.
        step: which step, from 0; by default the last.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if the search has no steps, or not this one.
    """
    step = _check_step(search, step)
    tokens, before, after = _probabilities(search.steps[step])
    if ax is None:
        most = max(range(len(tokens)), key=lambda row: before[row])
        ax = new_axes(
            6.4,
            1.5 + 0.36 * len(tokens),
            f"Bars of the {len(tokens)} most probable words at step {step + 1}; the most probable "
            f"is {label(tokens[most])} with {before[most]:.3f}.",
            close=True,
        )
    rows = range(len(tokens))
    ax.barh([row - 0.2 for row in rows], before, height=0.36, color=COLOURS["muted"], label="of the model")
    for row in rows:
        told = f"{before[row]:.3f}" + ("" if after is None else f" → {after[row]:.3f}")
        end = max(before[row], 0.0 if after is None else after[row])
        # A long bar has no room beside it.
        ax.annotate(
            told,
            (end, row),
            xytext=(-4 if end > 0.7 else 4, 0),
            textcoords="offset points",
            ha="right" if end > 0.7 else "left",
            va="center",
            color="white" if end > 0.7 else COLOURS["muted"],
        )
    if after is not None:
        ax.barh([row + 0.2 for row in rows], after, height=0.36, color=_BEST, label="to draw from")
        ax.legend(frameon=False, loc="lower right")
    ax.set_xlim(0, 1.0)
    ax.set_yticks(rows, [label(token) for token in tokens], fontproperties=label_font())
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlabel("probability")
    ax.set_title(f"Step {step + 1}: the next word", loc="left", weight="bold")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _probabilities(step: DecodeStep) -> tuple[list[str], list[float], list[float] | None]:
    """Words, their probabilities, and with which of them each could be drawn."""
    first = step.candidates[0]
    if first.share is None and step.probable:
        words = step.probable[0]
        return [one.token for one in words], [math.exp(one.log_prob) for one in words], None
    own = [one for one in step.candidates if one.parent == first.parent]
    shares = [one.share for one in own if one.share is not None] or None
    return [one.token for one in own], [math.exp(one.token_log_prob) for one in own], shares


def _assign_rows(step: DecodeStep) -> dict[int, int]:
    """The row of each candidate: kept ones in the beam's order, the others below."""
    order = {"kept": 0, "finished": 1, "pruned": 1, "forbidden": 2}
    ranked = sorted(range(len(step.candidates)), key=lambda index: order[step.candidates[index].status])
    return {index: row for row, index in enumerate(ranked)}


def _format_candidate(candidate: Candidate) -> str:
    token = label(candidate.token)
    if len(token) > _LONGEST_TOKEN:
        token = token[: _LONGEST_TOKEN - 1] + "…"
    value = candidate.score if candidate.status == "finished" else candidate.log_prob
    return f"{_MARKS[candidate.status]}{token} {fixed_number(value, 2)}"


def _write_label(ax: Axes, x: float, y: float, text: str, colour: str, weight: str) -> None:
    ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        color=colour,
        fontproperties=label_font(weight),
        parse_math=False,
        clip_on=True,
        zorder=4,
        bbox={"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"},
    )


def _describe_tree(search: DecodeTrace, step: int) -> str:
    told = f"Tree of a search after {step + 1} of {len(search.steps)} steps."
    if not search.hypotheses:
        return told
    best = search.hypotheses[0]
    text = running_text([label(token) for token in best.tokens])
    return f"{told} The best text is {text}, score {fixed_number(best.score, 3)}."


def _check_step(search: DecodeTrace, step: int | None) -> int:
    n_steps = len(search.steps)
    if not n_steps:
        raise UserError("the search has no recorded steps; decode with beam_search(..., steps=True)")
    if step is None:
        return n_steps - 1
    if not 0 <= step < n_steps:
        raise UserError(f"step={step!r}, but there are {n_steps} steps; choose 0 to {n_steps - 1}")
    return step
