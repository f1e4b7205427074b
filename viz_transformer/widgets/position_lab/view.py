"""The position lab: positional encodings, and what attention makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from viz_transformer.analysis.positions import (
    ProbeHead,
    as_table,
    look_alikes,
    offset_spread,
    rms,
    similarity,
    turned,
    wavelength,
)
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import FLAG, TEXT, Schema, listed, optional, order_of
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, Unfolded
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENCODINGS = ("sinusoidal", "learned", "rotary", "none")
_COUNTED = ("pair", "position", "shift")
_ABOUT = (
    "Attention does not depend on the order of the words, so a column of this table is added for each "
    "position. Two of its numbers give the tip of a clock hand, the first up, the second to the right; "
    "green is above 0, brown below. Fast hands distinguish neighbours but repeat; slow ones distinguish "
    "distant positions but not neighbours. Drag the hand, the waves, the table or the cursor to choose a "
    "position, and the ring beside the table to choose a hand. The steps below show where positions look "
    "alike, how alike two are, a sentence that moves, and a live model whose words are shuffled."
)


class PositionLab(View):
    """See how positions are written into vectors, and what attention makes of them.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import viz_transformer as vt
    >>> view = vt.position_lab()
    >>> view.shift = 3

    Attributes:
        encoding: ``"sinusoidal"``, ``"learned"``, ``"rotary"`` or ``"none"``.
        pair: i of the dimensions 2i and 2i + 1 whose curves are drawn.
        position: the chosen position, from 0.
        offset: distance from it to the position that it is compared with, in tokens; negative
            if that comes before it.
        shift: by how many tokens the sentence of the shift experiment is moved.
        order: indices into `words`, in the order in which the live model reads the words.
        positions_on: whether the live model adds its positions.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
        unfolded: what is shown, the last of ``"pair"``, ``"offset"``, ``"shift"`` and ``"shuffle"``; all
            pairs where it is empty.
        words: the words of the live model's sentence, in their original order.
        orders: orders of its words to choose from.

    Setting one of them to an invalid value raises SelectionError, a UserError, and leaves the view
    unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.position_lab(model)"

    data = traitlets.Dict(help="tables and sentence as the page reads them").tag(sync=True, content=True)
    encoding = traitlets.Unicode(help="one of sinusoidal, learned, rotary, none").tag(sync=True)
    pair = Index(help="i of the dimensions 2i and 2i + 1").tag(sync=True)
    position = Index(help="position, counted from 0").tag(sync=True)
    offset = Index(help="how far after it its partner is").tag(sync=True)
    shift = Index(help="how far the sentence is moved").tag(sync=True)
    words: traitlets.List[str] = traitlets.List(help="the words of the sentence").tag(sync=True, content=True)
    orders: traitlets.List[list[int]] = traitlets.List(help="orders to offer").tag(sync=True, content=True)
    order: traitlets.List[int] = traitlets.List(help="indices of the words, as they are read").tag(sync=True)
    text_size = TextSize()
    unfolded = Unfolded("pair", "offset", "shift", "shuffle", opened=("pair",))
    positions_on = traitlets.Bool(True, help="whether the live model has positions").tag(sync=True)

    def __init__(
        self,
        sinusoids: ArrayLike,
        learned: ArrayLike,
        head: ProbeHead,
        *,
        trained: int | None = None,
        words: Sequence[str] = (),
        orders: Sequence[Sequence[int]] = (),
        answer: Answer | None = None,
        live_encoding: str = "sinusoidal",
        language: str = "",
        language_tag: str = "",
        encoding: str = "sinusoidal",
    ) -> None:
        """Make a view; `vt.position_lab` makes one with a live model.

        Args:
            sinusoids: table [position, d_model] of sines and cosines in turn.
            learned: a learned table of the same shape.
            head: the sentence and head of the shift experiment.
            trained: how many of the learned table's first positions were trained; None for all.
            words: the live sentence.
            orders: orders of its words to offer, as lists of indices; an exported page carries
                the replies for these.
            answer: the function that maps ``{"words": […], "order": […], "positions_on": bool}`` to
                ``{"moved": […], "translation": text, "as_written": text}``: how far each word's vector moved,
                relative to its length, and the translations in the new order and the original.
            live_encoding: the live model's positional encoding, named in the view's text.
            language: the language that it translates to, named there too; "" where it has no name.
            language_tag: that language's BCP 47 tag, or "".
            encoding: the first one shown.

        Raises:
            UserError: if the tables and the head do not fit each other.
        """
        self._tables = _checked_tables(sinusoids, learned)
        self._head = _checked_head(head, self._tables["sinusoidal"])
        n_positions, d_model = self._tables["sinusoidal"].shape
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "data": {
                    **self._payload(n_positions if trained is None else int(trained)),
                    "live_encoding": live_encoding,
                    "language": language,
                    "language_tag": language_tag,
                },
                "encoding": encoding,
                "pair": min(3, d_model // 2 - 1),
                "position": min(7, n_positions - 1),
                "offset": min(3, n_positions - 1),
                "shift": min(10, n_positions - len(head.words)),
                "words": sendable(words),
                "orders": [written := list(range(len(words))), *map(list, orders)],
                "order": written,
            },
        )

    def _payload(self, trained: int) -> dict[str, Any]:
        """Return the tables, the head and the sentence in the form that the page reads."""
        n_positions, d_model = self._tables["sinusoidal"].shape
        arrays = {name: getattr(self._head, name) for name in ("words", "mixing", "queries", "keys")}
        return {
            "n_positions": n_positions,
            "d_model": d_model,
            "trained": trained,
            "learned": _float32_bytes(self._tables["learned"]),
            "n_words": len(self._head.words),
            **{name: _float32_bytes(values) for name, values in arrays.items()},
        }

    @property
    def table(self) -> np.ndarray:
        """The encoding shown, float64 [position, d_model]; for rotary, sin and cos of each angle."""
        return self._tables[self.encoding]

    @property
    def scores_by_place(self) -> np.ndarray:
        """Scores of all pairs of positions, float64 [position, position].

        Dot products of the encodings; for rotary, the score of one query with one key, each
        rotated as at its position.
        """
        if self.encoding != "rotary":
            return similarity(self.table)
        n_positions, d_model = self.table.shape
        places = np.arange(n_positions)
        query, key = (
            turned(np.tile(vectors[:1], (n_positions, 1)), places)
            for vectors in (self._head.queries, self._head.keys[1:])
        )
        return query @ key.T / np.sqrt(d_model)

    def shifted_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sentence's scores [query, key] at position 0, and moved by `shift`."""
        if self.encoding == "rotary":
            return self._head.rotary(0), self._head.rotary(self.shift)
        here, moved = (self._head.added(self.table, start).whole for start in (0, self.shift))
        return here, moved

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, by default about the words shown.

        Raises:
            UserError: if there is no live model.
        """
        return super().answer({"words": self.words, **request})

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return (
            {"words": optional(listed(TEXT, 200)), "order": order_of(len(self.words)), "positions_on": FLAG},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests for the orders offered, with and without positions."""
        if not self.live:
            return []
        orders = [*self.orders, *([] if self.order in self.orders else [self.order])]
        return [
            {"words": self.words, "order": list(order), "positions_on": on}
            for order in orders
            for on in (True, False)
        ]

    def figure(self) -> Figure:
        """Return table, curves, likeness and shift as one matplotlib figure."""
        from viz_transformer import plots
        from viz_transformer.plots.figures import new_figure

        figure = new_figure(13, 11, layout="constrained")
        axes = figure.subplot_mosaic(
            [[*["table"] * 3, *["wave"] * 3], [*["table"] * 3, *["by"] * 3], [*"aabbcc"]]
        )
        plots.plot_positions(self.table, axes["table"], position=self.position)
        plots.plot_wavelength(self.table, self.pair, axes["wave"], position=self.position)
        of = "turned q·k" if self.encoding == "rotary" else "dot product"
        plots.plot_by_offset(self.scores_by_place, self.position, axes["by"], of=of)
        plots.plot_shift(*self.shifted_scores(), self.shift, [axes[name] for name in "abc"])
        plots.set_alt_text(figure, self.alt_text())
        return figure

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        n_positions, d_model = self.table.shape
        alike = len(look_alikes(self.table, self.position, self.pair))
        here, moved = self.shifted_scores()
        turn = (
            f", one turn every {wavelength(self.pair, d_model):,.1f} tokens,"
            if self.encoding in ("sinusoidal", "rotary")
            else ""
        )
        return (
            f"Positional encoding {self.encoding}: {n_positions} positions by {d_model} "
            f"dimensions. Dimensions {2 * self.pair} and {2 * self.pair + 1}{turn} can hardly tell "
            f"position {self.position} from {alike} others. At one offset, the scores of different "
            f"positions differ by up to {offset_spread(self.scores_by_place):.3f}. Moving a "
            f"sentence by {self.shift} changes its scores by {rms(moved - here):.2f} rms; the "
            f"scores' own rms is {rms(here):.2f}."
        )

    def __repr__(self) -> str:
        """Return the selection in short, for logs and where no view can be shown."""
        names = ("encoding", "pair", "position", "offset", "shift", "order", "positions_on")
        return f"PositionLab({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @traitlets.validate("encoding")
    def _check_encoding(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in ENCODINGS:
            raise SelectionError(f"encoding={proposal['value']!r}; choose one of {', '.join(ENCODINGS)}")
        return proposal["value"]

    @traitlets.validate(*_COUNTED, "offset")
    def _check_index(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        n_positions, d_model = self._tables["sinusoidal"].shape
        last = {
            "pair": d_model // 2 - 1,
            "shift": n_positions - len(self._head.words),
        }.get(name, n_positions - 1)
        first = -last if name == "offset" else 0
        if not first <= value <= last:
            raise SelectionError(f"{name}={value} is out of range; choose {first} to {last}")
        return value

    @traitlets.validate("order")
    def _check_order(self, proposal: dict[str, Any]) -> list[int]:
        order = list(proposal["value"])
        if len(order) != len(self.words) or not all(place in order for place in range(len(order))):
            raise SelectionError(
                f"order={order!r:.60} must name each of the {len(self.words)} words once, by its "
                f"index from 0 to {len(self.words) - 1}"
            )
        return order


def _checked_tables(sinusoids: ArrayLike, learned: ArrayLike) -> Mapping[str, np.ndarray]:
    waves, table = as_table(sinusoids, "sinusoids"), as_table(learned, "learned")
    if waves.shape != table.shape or waves.shape[1] % 2:
        raise UserError(
            f"sinusoids has shape {list(waves.shape)} and learned {list(table.shape)}; both must "
            "be one [position, d_model], d_model even"
        )
    # Rotary positions rotate by the angles whose sines and cosines are the sinusoids.
    return {"sinusoidal": waves, "learned": table, "rotary": waves, "none": np.zeros_like(waves)}


def _checked_head(head: ProbeHead, table: np.ndarray) -> ProbeHead:
    n_words, width = np.shape(head.words)
    if width != table.shape[1] or not 2 <= n_words <= len(table):
        raise UserError(
            f"head.words has shape {[n_words, width]}; give 2 to {len(table)} words of the tables' "
            f"d_model {table.shape[1]}"
        )
    return head


def _float32_bytes(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, dtype="<f4").tobytes()
