"""The clock of positions' view: all hands at one position, and one of them at all positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import traitlets
from numpy.typing import ArrayLike

from viz_transformer.analysis.positions import as_table, is_sinusoidal, look_alikes
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import Index, TextSize, check_index
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Two dimensions of a table of positions give the tip of a clock hand: the first how far up it points, "
    "the second how far to the right. Below them is the whole table, a column for each position; green "
    "is above 0, brown below. Drag the hand, the waves, the table or the cursor to choose a position, and "
    "the ring beside the table to choose another hand. A ring on a wave marks a position where this hand "
    "points nearly the same way."
)


class PositionClock(View):
    """Turn through a table of positions, a clock hand for each pair of its columns.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.position_clock(trace.source_positions)
    >>> view.position = 2

    Attributes:
        pair: i of the columns 2i and 2i + 1.
        position: the row, from 0.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what the table does not have raises SelectionError, a UserError, and
    leaves the view unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.position_clock(table)"

    data = traitlets.Dict(help="the table as float32, and its shape").tag(sync=True, content=True)
    pair = Index(0, help="i of the columns 2i and 2i + 1").tag(sync=True)
    position = Index(0, help="the row, counted from 0").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self, table: ArrayLike, *, pair: int = 0, position: int = 0, base: float | None = None
    ) -> None:
        """Make a view; see `position_clock`.

        Args:
            table: [position, d_model].
            pair: as of the view.
            position: as of the view.
            base: of a table of sines and cosines in turn, the base in place of the paper's 10,000.
        """
        self._table = as_table(table)
        n_positions, d_model = self._table.shape
        if d_model < 2:
            raise UserError("a hand needs two columns, and the table has one; give [position, d_model]")
        super().__init__(
            traits={
                "about": _ABOUT,
                "data": {
                    "n_positions": n_positions,
                    "d_model": d_model,
                    "sinusoidal": base is not None or is_sinusoidal(self._table),
                    "base": base,
                    "table": self._table.astype("<f4").tobytes(),
                },
                "pair": pair,
                "position": position,
            }
        )

    @property
    def alike(self) -> tuple[int, ...]:
        """The other positions where the hand points nearly as at the chosen one."""
        return look_alikes(self._table, self.position, self.pair)

    def figure(self) -> Figure:
        """Return the chosen hand's two columns as a matplotlib figure."""
        from viz_transformer.plots.positions import plot_wavelength

        return cast("Figure", plot_wavelength(self._table, self.pair, position=self.position).figure)

    def alt_text(self) -> str:
        """Return how fast the chosen hand turns, and where it points alike."""
        from viz_transformer.plots.positions import describe_wavelength

        return describe_wavelength(self._table, self.pair, position=self.position)

    def __repr__(self) -> str:
        """Return what is chosen in short."""
        return f"PositionClock(pair={self.pair}, position={self.position})"

    @traitlets.validate("pair", "position")
    def _check(self, proposal: dict[str, Any]) -> int:
        name, (n_positions, d_model) = proposal["trait"].name, self._table.shape
        size, what = (d_model // 2, "pairs") if name == "pair" else (n_positions, "positions")
        check_index(name, proposal["value"], size, owner=f"counting {what}, this table has")
        return proposal["value"]
