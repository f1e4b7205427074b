"""Figure of a training: loss curve, translations, and one head at several moments."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import fixed_number, short_number
from viz_transformer.analysis.measures import entropy_share_over_training, most_sharpened
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, weight_colormap
from viz_transformer.plots.figures import new_figure, set_alt_text
from viz_transformer.plots.labels import label, label_font, label_style, visible
from viz_transformer.trace import KINDS, TASKS, Snapshot, TrainingTrace, attention_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: A curve that spans more than this factor is drawn on a logarithmic axis.
LOG_FACTOR = 20
_MOST_MOMENTS = 6  # in the strip
_MOST_NAMES = 12  # tokens on an axis of the strip
_LINES: tuple[dict[str, Any], ...] = (
    {"color": COLOURS["ink"]},
    {"color": COLOURS["muted"], "linestyle": (0, (5, 2))},
)
_MARK = COLOURS["ink"]
_STRIP = (
    "columns: keys, attended to; rows: queries, which attend; after the step, the entropy as a share "
    "of its maximum"
)


def plot_training(
    trace: TrainingTrace,
    other: TrainingTrace | None = None,
    moment: int = -1,
    sentence: int = 0,
    kind: str = "cross",
    layer: int | None = None,
    head: int | None = None,
    other_layer: int | None = None,
    other_head: int | None = None,
) -> Figure:
    """Draw a training, or two: curve with the moment marked, translations, one head at six moments.

    >>> import viz_transformer as vt
    >>> figure = vt.plots.plot_training(vt.load_training("language-model"), kind="decoder")

    Args:
        trace: the training.
        other: another on the same sentences, or None; of it, the moment of the nearest step counts.
        moment: index of the moment, from 0; negative ones count from the end.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer; that of the head that sharpened most if None.
        head: the same for the head.
        other_layer: the same for the second run.
        other_head: the same.

    Returns:
        The figure, with its alternative text.

    Raises:
        UserError: if the training lacks what is wanted.
    """
    selections = _select(trace, other, moment, sentence, kind, (layer, head), (other_layer, other_head))
    heights = [2.6, *([2.8] * len(selections))]
    figure = new_figure(12, sum(heights), layout="constrained")
    parts: NDArray[Any] = np.asarray(figure.subfigures(len(heights), 1, height_ratios=heights))
    top, *strips = parts.flat
    curve, words = top.subplots(1, 2, width_ratios=[1, 1.1])
    _draw_curve(curve, selections)
    _write_translations(words, selections, sentence)
    for selected, strip in zip(selections, strips, strict=True):
        _draw_strip(strip, selected, sentence, kind, named=len(selections) > 1)
    strip.supxlabel(_STRIP, x=0.01, ha="left", color=COLOURS["muted"])
    set_alt_text(figure, _describe(selections, sentence, kind))
    return figure


def describe_training(
    trace: TrainingTrace,
    other: TrainingTrace | None = None,
    moment: int = -1,
    sentence: int = 0,
    kind: str = "cross",
    layer: int | None = None,
    head: int | None = None,
    other_layer: int | None = None,
    other_head: int | None = None,
) -> str:
    """Return what `plot_training` draws in words; its arguments and its errors are the same.

    >>> import viz_transformer as vt
    >>> words = vt.plots.describe_training(vt.load_training("language-model"), kind="decoder")

    Args:
        trace: the training.
        other: another on the same sentences, or None.
        moment: index of the moment, from 0; negative ones count from the end.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: of the head; None for the mean of all.
        head: of that layer.
        other_layer: of the head of `other`; None for the same.
        other_head: likewise.
    """
    selections = _select(trace, other, moment, sentence, kind, (layer, head), (other_layer, other_head))
    return _describe(selections, sentence, kind)


def nearest_moment(trace: TrainingTrace, step: int) -> int:
    """Return the index of the moment whose step is nearest; of two alike, the earlier."""
    return int(np.abs(np.array([moment.step for moment in trace.moments]) - step).argmin())


class _Selection:
    """One run and what is chosen of it."""

    def __init__(
        self,
        run: TrainingTrace,
        index: int,
        sentence: int,
        kind: str,
        chosen: tuple[int | None, int | None],
    ) -> None:
        if not 0 <= sentence < len(run.sources):
            raise UserError(
                f"sentence={sentence}, but the training was watched on {len(run.sources)}; "
                f"choose 0 to {len(run.sources) - 1}"
            )
        shape = attention_of(run.moments[0].traces[sentence], kind).shape
        layer, head = place = [
            sharpest if given is None else given
            for given, sharpest in zip(chosen, most_sharpened(run, sentence, kind), strict=True)
        ]
        for name, value, size in zip(("layer", "head"), place, shape[:2], strict=True):
            if not 0 <= value < size:
                raise UserError(
                    f"{name}={value}, but the {kind} attention of {run.name!r:.40} has {size}; "
                    f"choose 0 to {size - 1}"
                )
        self.run, self.index = run, index
        self.layer, self.head = layer, head
        self.entropies = entropy_share_over_training(run, sentence, kind)[:, layer, head]  # [moment]

    @property
    def moment(self) -> Snapshot:
        return self.run.moments[self.index]


def _select(
    trace: TrainingTrace,
    other: TrainingTrace | None,
    moment: int,
    sentence: int,
    kind: str,
    *chosen: tuple[int | None, int | None],
) -> list[_Selection]:
    for run in (trace, other):
        if not isinstance(run, TrainingTrace) and (run is trace or run is not None):
            raise UserError(
                f"plot_training draws a TrainingTrace, not {type(run).__name__}; "
                "TrainingTrace.load(path) reads one"
            )
    count = len(trace.moments)
    if not -count <= moment < count:
        raise UserError(f"moment={moment}, but there are {count}; choose 0 to {count - 1}")
    selections = [_Selection(trace, moment % count, sentence, kind, chosen[0])]
    if other is not None:
        index = nearest_moment(other, selections[0].moment.step)
        selections.append(_Selection(other, index, sentence, kind, chosen[1]))
    return selections


def _draw_curve(ax: Axes, selections: list[_Selection]) -> None:
    every = np.concatenate([selected.run.losses for selected in selections])
    finite = every[np.isfinite(every)]
    logarithmic = finite.size and finite.min() > 0 and finite.max() > LOG_FACTOR * finite.min()
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda x, _: short_number(x))
    for selected, line in zip(selections, _LINES, strict=False):
        ax.plot(selected.run.steps, selected.run.losses, linewidth=1.6, label=_run_name(selected), **line)
        if len(selected.run.steps):
            at = int(np.abs(selected.run.steps - selected.moment.step).argmin())
            ax.plot(selected.run.steps[at], selected.run.losses[at], "o", color=line["color"])
    ax.axvline(selections[0].moment.step, color=_MARK, linewidth=1.4)
    ax.set_xlabel("optimiser step")
    ax.set_ylabel("loss (nats per token)" + (", log scale" if logarithmic else ""))
    ax.set_title(f"Step {selections[0].moment.step}", loc="left", weight="bold", color=_MARK)
    ax.spines[["top", "right"]].set_visible(False)
    if len(selections) > 1:
        legend = ax.legend(frameon=False, prop=label_font())
        for text in legend.get_texts():
            text.set_parse_math(False)


def _write_translations(ax: Axes, selections: list[_Selection], sentence: int) -> None:
    """Write the sentence, its reference and what each run makes of it at its moment."""
    ax.axis("off")
    run = selections[0].run
    lines = [("sentence", run.sources[sentence]), ("reference", run.references[sentence])]
    for selected in selections:
        said = f"step {selected.moment.step}, {_verdict(selected, sentence)}"
        name = f"{_run_name(selected)}, {said}" if len(selections) > 1 else said
        lines.append((name, selected.moment.translations[sentence]))
    y = 1.0
    for name, text in lines:
        ax.text(0, y, visible(name), color=COLOURS["muted"], va="top", parse_math=False)
        wrapped = textwrap.wrap(visible(text), 62)[:2] or ["∅"]
        ax.text(0, y - 0.075, _encodable("\n".join(wrapped)), va="top", **label_style())
        y -= 0.17 + 0.08 * len(wrapped)


def _draw_strip(
    figure: SubFigure | Figure, selected: _Selection, sentence: int, kind: str, *, named: bool
) -> None:
    """Draw the chosen head at up to six moments, the one that is marked among them."""
    shown = strip_moments(len(selected.run.moments), selected.index)
    trace = selected.run.moments[0].traces[sentence]
    title = f"{KINDS[kind].title} · layer {selected.layer} · head {selected.head}"
    figure.suptitle(
        f"{_run_name(selected)}: {title}" if named else title,
        x=0.01, ha="left", weight="bold", parse_math=False,
    )  # fmt: skip
    for place, (ax, index) in enumerate(
        zip(figure.subplots(1, len(shown), squeeze=False).flat, shown, strict=True)
    ):
        moment = selected.run.moments[index]
        weights = attention_of(moment.traces[sentence], kind)[selected.layer, selected.head]
        ax.imshow(weights, cmap=weight_colormap(), vmin=0, vmax=1, aspect="auto")
        mark: dict[str, Any] = {"color": _MARK, "weight": "bold"} if index == selected.index else {}
        share = "" if np.isnan(selected.entropies[index]) else f" · {selected.entropies[index]:.2f}"
        ax.set_title(f"step {moment.step}{share}", size="medium", **mark)
        ax.spines[:].set_visible(index == selected.index)
        ax.spines[:].set(color=_MARK, linewidth=2)
        ax.tick_params(length=0)
        ax.set_xticks([])
        ax.set_yticks([])
        _name_tokens(ax, trace.query_tokens(kind), trace.key_tokens(kind), first=place == 0)


def _name_tokens(ax: Axes, queries: tuple[str, ...], keys: tuple[str, ...], *, first: bool) -> None:
    if len(keys) <= _MOST_NAMES:
        turn: dict[str, Any] = {"rotation": 90} if len(keys) > 4 else {}
        ax.set_xticks(range(len(keys)), [label(key)[:12] for key in keys], **label_style(), **turn)
    if first and len(queries) <= _MOST_NAMES - 2:  # a strip is wider than it is high
        ax.set_yticks(range(len(queries)), [label(query)[:12] for query in queries], **label_style())


def strip_moments(count: int, chosen: int) -> list[int]:
    """Return up to six moments spread over `count`, the chosen one among them."""
    spread = np.unique(np.linspace(0, count - 1, min(count, _MOST_MOMENTS)).round().astype(int))
    if chosen not in spread:
        # Instead of its neighbour, unless that is the first or the last.
        inner = spread[1:-1] if len(spread) > 2 else spread
        spread[np.flatnonzero(spread == inner[np.abs(inner - chosen).argmin()])[0]] = chosen
    return sorted(int(each) for each in spread)


def _describe(selections: list[_Selection], sentence: int, kind: str) -> str:
    told = []
    for selected in selections:
        run, moment = selected.run, selected.moment
        told.append(f"Training of {_run_name(selected)}, at step {moment.step} of {run.moments[-1].step}.")
        if len(run.losses):
            first, last = (_format_loss(run.losses[at]) for at in (0, -1))
            told.append(f"The loss goes from {first} to {last} nats per token.")
        told.append(
            f"{_quoted(run.sources[sentence])} {TASKS[run.task].said} "
            f"{_quoted(moment.translations[sentence])}: {_verdict(selected, sentence)}."
        )
        if not np.isnan(selected.entropies[[0, selected.index]]).any():
            told.append(
                f"{kind.capitalize()} attention, layer {selected.layer}, head {selected.head}: entropy "
                f"{selected.entropies[0]:.2f} of its maximum at step {run.moments[0].step}, "
                f"{selected.entropies[selected.index]:.2f} at step {moment.step}."
            )
    return _encodable(" ".join(told))


def is_right(translation: str, reference: str) -> bool:
    """Return whether a translation is its reference, but for white space."""
    return translation.split() == reference.split()


def _verdict(selected: _Selection, sentence: int) -> str:
    right = is_right(selected.moment.translations[sentence], selected.run.references[sentence])
    task = TASKS[selected.run.task]
    return task.right if right else task.wrong


def _quoted(text: str) -> str:
    """Return a text in a sentence, isolated: one that runs leftwards leaves the rest in order."""
    return f"“\u2068{visible(text)}\u2069”"


def _format_loss(loss: float) -> str:
    return short_number(loss, 1) if 0 < loss < 0.01 else fixed_number(loss, 2)


def _run_name(selected: _Selection) -> str:
    return label(selected.run.name)


def _encodable(text: str) -> str:
    """Text that a font and a file can hold: half of a surrogate pair is no character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
