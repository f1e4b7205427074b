"""Bars of the coreference study: right answers beside attention weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, STOPS
from viz_transformer.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Look(Protocol):
    """What *it* looks at in one reading; `recipes.coreference.ItAttention` is one."""

    def most(self, noun: Literal["animal", "place"], layer: int = -1) -> float:
        """Return the weight on a noun of the head that looks there most."""


class Row(Protocol):
    """What is drawn of a seed; `recipes.coreference.StudyRow` is one."""

    @property
    def seed(self) -> int:
        """Of the weights."""

    @property
    def read_at(self) -> str:
        """Where the answer is read: ``"start"`` or ``"it"``."""

    @property
    def accuracy(self) -> float:
        """Share of right answers, 0 to 1."""

    @property
    def accuracy_blind(self) -> float:
        """The same when *it* can see neither noun."""

    @property
    def tired(self) -> Look:
        """What *it* looks at where it is the animal."""

    @property
    def wide(self) -> Look:
        """What *it* looks at where it is the place."""


_BARS: tuple[tuple[str, str, str, Callable[[Row], float]], ...] = (
    ("right", COLOURS["muted"], "", lambda row: row.accuracy),
    ("right, it sees no noun", COLOURS["fill"], "//", lambda row: row.accuracy_blind),
    ("tired: weight on the animal", COLOURS["weight"], "", lambda row: row.tired.most("animal")),
    ("wide: weight on the place", STOPS["light"][3], "..", lambda row: row.wide.most("place")),
)
_WIDTH = 0.2


def plot_study(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Draw each seed's right answers beside its weights from *it* to the noun meant.

    >>> import viz_transformer as vt
    >>> from viz_transformer.recipes.coreference import ItAttention, StudyRow
    >>> look = ItAttention(to_animal=((0.4, 0.1),), to_place=((0.1, 0.3),))
    >>> numbers = {"n_held_out": 60, "accuracy": 0.9, "accuracy_without_head": 0.8, "accuracy_blind": 0.5}
    >>> row = StudyRow(seed=0, read_at="it", tired=look, wide=look, head=(0, 0), weight=0.4, **numbers)
    >>> axes = vt.plots.plot_study([row])

    Args:
        rows: what `recipes.coreference.coreference_study` returned, of any seeds. The weights are
            those of the head of the last layer that looks there most.
        ax: where to draw; a new figure if None.

    Raises:
        UserError: if there is no row.
    """
    if not rows:
        raise UserError("plot_study was given no row; give coreference_study()")
    if ax is None:
        ax = new_axes(max(6.4, 1.6 + 1.4 * len(rows)), 4.2, describe_study(rows))
    for place, (name, colour, hatch, value) in enumerate(_BARS):
        where = [number + (place - 1.5) * _WIDTH for number in range(len(rows))]
        heights = [value(row) for row in rows]
        bars = ax.bar(where, heights, 0.9 * _WIDTH, color=colour, hatch=hatch, edgecolor="white", label=name)
        ax.bar_label(bars, [f"{height:.2f}" for height in heights], padding=2)
    ax.set_xticks(range(len(rows)), [_name(row) for row in rows])
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(0, 1.12)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.set_ylabel("share of answers, weight from it")
    ax.set_title("What is right, and where it looks", loc="left", weight="bold")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.12))
    return ax


def describe_study(rows: Sequence[Row]) -> str:
    """Return the picture in words.

    >>> import viz_transformer as vt
    >>> from viz_transformer.recipes.coreference import ItAttention, StudyRow
    >>> look = ItAttention(to_animal=((0.4, 0.1),), to_place=((0.1, 0.3),))
    >>> numbers = {"n_held_out": 60, "accuracy": 0.9, "accuracy_without_head": 0.8, "accuracy_blind": 0.5}
    >>> row = StudyRow(seed=0, read_at="it", tired=look, wide=look, head=(0, 0), weight=0.4, **numbers)
    >>> words = vt.plots.describe_study([row])

    Args:
        rows: what `recipes.coreference.coreference_study` returned.
    """
    said = [
        f"{_name(row).replace(chr(10), ', ')}: {row.accuracy:.1%} right and "
        f"{row.accuracy_blind:.1%} if it sees no noun; weight {row.tired.most('animal'):.2f} on "
        f"the animal for tired, {row.wide.most('place'):.2f} on the place for wide"
        for row in rows
    ]
    return f"Bar chart of {len(rows)} seeds of the coreference study. {'. '.join(said)}."


def _name(row: Row) -> str:
    return f"seed {row.seed}\nread at {'it' if row.read_at == 'it' else '<sos>'}"
