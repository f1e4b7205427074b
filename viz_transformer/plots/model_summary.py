"""Figures of parameter counts: bars for each model, and a diagram of both stacks with every shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes, new_figure, set_alt_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The parts that are distinguished, each with its colour, its hatching and the parts that it sums up.
_PARTS = (
    ("words and positions", COLOURS["key-tint"], "", ("words", "positions", "segments")),
    ("attention", COLOURS["weight-tint"], "", ("attention",)),
    ("feed-forward", COLOURS["line"], "//", ("feed-forward",)),
    ("the rest", COLOURS["fill"], "", ("norms", "pooler", "classifier", "output bias")),
)
_MILLION = 1e6
_LEAST_SHARE = 0.09  # of the longest bar; a shorter piece has no room for its number


def plot_sizes(bills: Mapping[str, Mapping[str, int]], ax: Axes | None = None) -> Axes:
    """Draw how many numbers each model learns, and in which parts.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig, parameter_bill
    >>> axes = vt.plots.plot_sizes({"GPT-2": parameter_bill(ModelConfig.preset("gpt2"))})

    Args:
        bills: for each model's name what `config.parameter_bill` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes; the bars are in millions of parameters.

    Raises:
        UserError: if there is no model, or a part has another name than in a summary.
    """
    if not bills:
        raise UserError("plot_sizes was given no model; give {'name': parameter_bill(config)}")
    known = {part for *_, parts in _PARTS for part in parts}
    for name, bill in bills.items():
        if odd := sorted(bill.keys() - known):
            raise UserError(
                f"{name!r:.40} has a part {odd[0]!r:.40} that is none of {sorted(known)}; give "
                "what parameter_bill returned"
            )
    if ax is None:
        ax = new_axes(8.4, 1.5 + 0.5 * len(bills), describe_sizes(bills))
    totals = [sum(bill.values()) / _MILLION for bill in bills.values()]
    longest = max(*totals, 1e-9)
    starts = [0.0] * len(bills)
    for sort, colour, hatch, parts in _PARTS:
        widths = [sum(bill.get(part, 0) for part in parts) / _MILLION for bill in bills.values()]
        ax.barh(
            range(len(bills)), widths, 0.62, starts,
            color=colour, hatch=hatch, edgecolor=COLOURS["fill"], linewidth=0.6, label=sort,
        )  # fmt: skip
        for row, (start, width) in enumerate(zip(starts, widths, strict=True)):
            if width > _LEAST_SHARE * longest:
                text = ax.text(start + width / 2, row, f"{width:.1f}", ha="center", va="center")
                text.set(bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for row, (total, bill) in enumerate(zip(totals, bills.values(), strict=True)):
        ax.text(total + 0.01 * longest, row, f"{sum(bill.values()):,}", va="center")
    ax.set(xlim=(0, 1.2 * longest), ylim=(len(bills) - 0.5, -0.5))
    ax.set_yticks(range(len(bills)), list(bills), parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("millions of parameters")
    ax.set_title("What the models are made of", loc="left", weight="bold")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.figure.legend(frameon=False, ncols=len(_PARTS), loc="outside lower left")
    return ax


def describe_sizes(bills: Mapping[str, Mapping[str, int]]) -> str:
    """Return the picture in words.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig, parameter_bill
    >>> words = vt.plots.describe_sizes({"GPT-2": parameter_bill(ModelConfig.preset("gpt2"))})

    Args:
        bills: for each model's name what `config.parameter_bill` returned.
    """
    said = []
    for name, bill in bills.items():
        total = sum(bill.values())
        shares = ", ".join(
            f"{sort} {sum(bill.get(part, 0) for part in parts) / max(total, 1):.0%}"
            for sort, _, _, parts in _PARTS
        )
        said.append(f"{name} {total:,} ({shares})")
    return f"Bars of the parameters of {len(bills)} models: {'; '.join(said)}."


class MachinePart(Protocol):
    """What is drawn of a part; `model.machine.Part` is one."""

    @property
    def stack(self) -> str:
        """``"encoder"`` or ``"decoder"``."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """What it makes, by name."""

    @property
    def n_parameters(self) -> int:
        """What it learns, in one layer."""

    @property
    def times(self) -> int:
        """How often it is in its stack."""

    @property
    def in_layer(self) -> bool:
        """Whether every layer has one."""


#: Each sort of part: its name, its colour, and what is in the names of its parts.
_SORTS = (
    ("attention", COLOURS["weight-tint"], "attention"),
    ("feed-forward", COLOURS["line"], "feed-forward"),
    ("norms", COLOURS["raised"], "norm"),
    ("words and positions", COLOURS["key-tint"], ""),
)
_INCH = 1.2  # of the figure, for one of those below: then letters have room
_WIDTH, _GAP = 4.7, 0.6  # of a tower, and between the two; all in inches
_HEIGHTS = {1: 0.27, 2: 0.42, 3: 0.6}  # of a box, by its lines of text
_SPACE, _ROOM = 0.1, 0.26  # between boxes, and above a layer for its name
_PATH = COLOURS["key"]


def plot_machine(parts: Sequence[MachinePart], *, title: str = "") -> Figure:
    """Draw the two towers from bottom to top, and beneath them where the parameters are.

    The parts are those that `model.model_summary.model_parts` returns, of both stacks; the title is
    written before the total.
    """
    stacks = [[part for part in parts if part.stack == stack] for stack in ("encoder", "decoder")]
    if not all(stacks):
        raise UserError("plot_machine draws an encoder and a decoder; give the parts of both")
    towers = [_tower(stack, at * (_WIDTH + _GAP)) for at, stack in enumerate(stacks)]
    height = max(tower.top for tower in towers)
    width, total = 2 * _WIDTH + _GAP + 0.2, height + 1.25
    figure = new_figure(_INCH * width, _INCH * total)
    ax = figure.add_axes((0, 0.75 / total, 1, (height + 0.15) / total))
    ax.set(xlim=(-0.1, width - 0.1), ylim=(-0.1, height + 0.05))
    ax.set_axis_off()
    for tower in towers:
        _draw_tower(ax, tower)
    _draw_memory(ax, towers)
    _draw_shares(figure.add_axes((0.01, 0.36 / total, 0.98, 0.3 / total)), parts)
    told = f"{title + ': ' if title else ''}{n_learned(parts):,} parameters"
    figure.text(0.01, 1 - 0.22 / total, told, weight="bold", size="large", va="center")
    set_alt_text(figure, describe_machine(parts, title=title))
    return figure


def n_learned(parts: Sequence[MachinePart]) -> int:
    """Return how many numbers all parts learn together."""
    return sum(part.n_parameters * part.times for part in parts)


def shares(parts: Sequence[MachinePart]) -> dict[str, float]:
    """Return which share of the parameters is in what sort of part, 0 to 1."""
    counts = dict.fromkeys((name for name, _, _ in _SORTS), 0)
    for part in parts:
        counts[_sort(part)[0]] += part.n_parameters * part.times
    total = n_learned(parts)
    return {name: count / total for name, count in counts.items()}


def describe_machine(parts: Sequence[MachinePart], *, title: str = "") -> str:
    """Return the picture in words."""
    told = ", ".join(f"{share:.1%} in {name}" for name, share in shares(parts).items())
    crossed = [list(p.shapes["weights"]) for p in parts if p.name == "cross-attention"]
    weights = f" Cross-attention's weights have the shape {crossed[0]}." if crossed else ""
    of = f", {title}" if title else ""
    return (
        f"Diagram of an encoder and a decoder{of}. It has {n_learned(parts):,} parameters: {told}.{weights}"
    )


def _sort(part: MachinePart) -> tuple[str, str]:
    return next((name, colour) for name, colour, of in _SORTS if of in part.name.lower())


class _Box(NamedTuple):
    part: MachinePart
    lines: list[str]
    bottom: float

    @property
    def top(self) -> float:
        return self.bottom + _HEIGHTS[len(self.lines)]


class _Tower(NamedTuple):
    left: float
    boxes: list[_Box]

    @property
    def top(self) -> float:
        above = 0.0 if not self.boxes[-1].part.in_layer else _ROOM
        return self.boxes[-1].top + above

    @property
    def layer(self) -> list[_Box]:
        return [box for box in self.boxes if box.part.in_layer]


def _tower(stack: Sequence[MachinePart], left: float) -> _Tower:
    """Put the parts of a stack on top of each other."""
    boxes: list[_Box] = []
    for part in stack:
        bottom = 0.0
        if boxes:
            bottom = boxes[-1].top + _SPACE
            if part.in_layer != boxes[-1].part.in_layer:
                bottom += 0.04 if part.in_layer else _ROOM
        boxes.append(_Box(part, _lines(part), bottom))
    return _Tower(left, boxes)


def _lines(part: MachinePart) -> list[str]:
    """A part's name, and its shapes in none, one or two lines of their own."""
    shapes = {name: str(list(shape)) for name, shape in part.shapes.items()}
    if len(shapes) == 1:
        return [f"{next(iter(shapes.values()))}"]
    if "weights" not in shapes:
        return ["", "   ".join(f"{name} {shape}" for name, shape in shapes.items())]
    looks, offers = shapes["query"], shapes["key"]
    same = f"query, key, value {looks}"
    apart = f"query {looks}   key, value {offers}"
    return [
        "",
        same if "self" in part.name else apart,
        f"weights {shapes['weights']}   output {shapes['output']}",
    ]


def _draw_tower(ax: Axes, tower: _Tower) -> None:
    left, right = tower.left, tower.left + _WIDTH
    style: dict[str, Any] = {"va": "center", "color": "black"}
    for box in tower.boxes:
        colour = _sort(box.part)[1]
        _draw_frame(ax, left + 0.12, right - 0.12, box.bottom, box.top, face=colour, edge=COLOURS["fill"])
        row = box.top - 0.14
        ax.text(left + 0.22, row, box.part.name, weight="bold", **style)
        ax.text(left + 1.3, row, box.lines[0], **style)
        ax.text(right - 0.22, row, f"{box.part.n_parameters:,}", ha="right", **style)
        for number, line in enumerate(box.lines[1:], start=1):
            ax.text(left + 0.22, row - 0.165 * number, line, **style)
    bottom, top = tower.layer[0].bottom, tower.layer[-1].top
    _draw_frame(ax, left, right, bottom - 0.07, top + _ROOM - 0.02, face="none", edge=COLOURS["ink"])
    part = tower.layer[0].part
    ax.text(
        right - 0.12, top + 0.12, f"{part.stack} layer, × {part.times}",
        ha="right", va="center", weight="bold", color="black",
    )  # fmt: skip


def _draw_frame(
    ax: Axes, left: float, right: float, bottom: float, top: float, *, face: str, edge: str
) -> None:
    from matplotlib.patches import FancyBboxPatch

    frame = FancyBboxPatch(
        (left, bottom), right - left, top - bottom,
        boxstyle="round,pad=0,rounding_size=0.06", facecolor=face, edgecolor=edge,
    )  # fmt: skip
    ax.add_patch(frame)


def _draw_memory(ax: Axes, towers: Sequence[_Tower]) -> None:
    """Draw the way from the encoder's last vectors to the keys and values of the decoder."""
    encoder, decoder = towers
    cross = next(box for box in decoder.boxes if box.part.name == "cross-attention")
    top, y = encoder.top, (cross.bottom + cross.top) / 2
    turn, start = _WIDTH + _GAP / 2, _WIDTH / 2
    line: dict[str, Any] = {"color": _PATH, "linewidth": 1.6}
    ax.plot([start, start, turn, turn], [top, top + 0.2, top + 0.2, y], **line)
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **line}
    ax.annotate("", (decoder.left + 0.12, y), (turn, y), arrowprops=arrow)
    shape = list(list(encoder.boxes[-1].part.shapes.values())[-1])
    ax.text(start + 0.1, top + 0.33, f"memory {shape}", color=_PATH, va="center")


def _draw_shares(ax: Axes, parts: Sequence[MachinePart]) -> None:
    start = 0.0
    for (name, share), (_, colour, _) in zip(shares(parts).items(), _SORTS, strict=True):
        ax.barh(0, share, left=start, color=colour, edgecolor=COLOURS["fill"], label=f"{name} {share:.1%}")
        start += share
    ax.set(xlim=(0, 1), ylim=(-0.4, 0.4))
    ax.set_axis_off()
    ax.legend(
        ncols=len(_SORTS), frameon=False, loc="upper left", bbox_to_anchor=(0, 0),
        borderaxespad=0.1, borderpad=0.2,
    )  # fmt: skip
