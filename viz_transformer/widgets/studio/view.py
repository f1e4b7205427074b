"""The studio: the views of one sentence as rooms, with doors between them that carry what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import traitlets
from ipywidgets import widget_serialization

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, attention_of
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import Answer, View
from viz_transformer.widgets.studio.rooms import CARRIED, CHOSEN, Room, State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "One sentence, seen in several rooms. A door at the top leads to each, and the sentence, the kind of "
    "attention, its layer, its head and the query go along. Back returns to the room and the choice before."
)
#: So many traces of the newest sentences are kept: what is checked is soon shown.
_MOST_TRACES = 2


class Studio(View):
    """All views of one sentence, as rooms with doors between them.

    What is chosen in a room is chosen in all: it is a trait of the studio, and setting it moves the room that
    is open. All count from 0. ``vt.studio(model, text)`` makes one.

    >>> import viz_transformer as vt
    >>> view = vt.studio(vt.load_translator(), "the teacher lost her book")
    >>> view.layer, view.head, view.room = 1, 2, "head"
    >>> view.rooms["head"].layer, view.rooms["head"].head
    (1, 2)

    Attributes:
        room: which room is open, one of the keys of `rooms`: ``"model"``, ``"heads"`` or ``"head"``.
        sentence: the sentence of all rooms. One that the model cannot read raises a UserError when set.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer.
        head: index of the head in that layer.
        query: index of the query, the word that attends, or None.
        text_size: size of all text; 1 is the usual, 2 suits a projector.
        rooms: the views of the rooms by their keys, in the order of their doors.

    A value that the model does not have raises SelectionError, a UserError, and changes nothing.
    """

    _esm = bundle(__file__)
    _css = styles(__file__, "stage")

    room = traitlets.Unicode(help="the room that is open").tag(sync=True)
    sentence = traitlets.Unicode(help="the sentence of all rooms").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(0, help="layer, counted from 0").tag(sync=True)
    head = Index(0, help="head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="query, counted from 0").tag(sync=True)
    text_size = TextSize()
    rooms = traitlets.Dict(help="the rooms' views").tag(sync=True, content=True, **widget_serialization)
    doors = traitlets.Dict(help="what the doors say, and what they carry").tag(sync=True, content=True)
    opened = traitlets.Dict(help="the room and the choice at first").tag(sync=True, content=True)
    drawn = traitlets.Unicode(help="the sentence of the trace in a room that follows").tag(
        sync=True, content=True
    )

    def __init__(
        self,
        rooms: Mapping[str, Room],
        read: Callable[[str], ForwardTrace],
        state: State,
        *,
        room: str,
        answer: Answer | None = None,
    ) -> None:
        """Make a studio.

        Args:
            rooms: the rooms by their keys, in the order of their doors.
            read: what the model makes of a sentence; it raises a UserError where that cannot be read.
            state: the first values of `sentence`, `kind`, `layer`, `head` and `query`.
            room: the room that is open at first.
            answer: where a room follows: given ``{"text": str}`` it returns the ``trace`` as the explorer
                reads it, or None where Python sends it.

        Raises:
            UserError: if there is no such room or choice.
        """
        self._rooms = dict(rooms)
        self._read, self._traces = read, dict[str, ForwardTrace]()
        self._seen: dict[str, State] = {}
        self._busy = True
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "rooms": {key: each.view for key, each in rooms.items()},
                "doors": {key: each.door() for key, each in rooms.items()},
                "opened": {"room": room, **state},
                "drawn": state["sentence"],
                "room": room,
                **state,
            },
        )
        for each in rooms.values():
            for path in each.traits.values():
                view, name = each.target(path)
                view.observe(self._on_room, names=name)
        self._busy = False
        with self._quietly():
            self._enter()

    @property
    def trace(self) -> ForwardTrace:
        """Every head's attention for the sentence."""
        return self.trace_of(self.sentence)

    def trace_of(self, sentence: str) -> ForwardTrace:
        """Return what the model makes of a sentence.

        Raises:
            UserError: if it cannot be read.
        """
        if sentence not in self._traces:
            newest = [*self._traces.items(), (sentence, self._read(sentence))][-_MOST_TRACES:]
            self._traces = dict(newest)
        return self._traces[sentence]

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"text": TEXT},)

    def figure(self) -> Figure | None:
        """Return what the open room shows now as a matplotlib figure."""
        return self.rooms[self.room].figure()

    def alt_text(self) -> str:
        """Return the open room's name, and what it shows, in words."""
        return f"{self._rooms[self.room].name}. {self.rooms[self.room].alt_text()}"

    def __repr__(self) -> str:
        """Return the room and the choice in short."""
        chosen = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("room", *CHOSEN))
        return f"Studio({chosen})"

    # --- what is chosen ---------------------------------------------------------------------------

    def _state(self) -> State:
        return {name: getattr(self, name) for name in CARRIED}

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Let nothing that is set meanwhile be carried any further."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    @traitlets.observe("room", *CARRIED)
    def _on_choice(self, _: object) -> None:
        if self._busy:
            return
        with self._quietly():
            self._fit()
            if self._from_page:  # it has carried the choice itself
                self._seen[self.room] = self._state()
            else:
                self._enter()

    def _on_room(self, change: dict[str, Any]) -> None:
        """Take over what a cell chose in the open room; what the page did there it also does here."""
        if self._busy or change["owner"]._from_page:
            return
        room = self._rooms[self.room]
        if any(room.target(path)[0] is change["owner"] for path in room.traits.values()):
            with self._quietly():
                self._take(room)

    def _enter(self) -> None:
        """Bring the choice into the open room, or take its own over where nothing else was chosen since."""
        room, state = self._rooms[self.room], self._state()
        if self._seen.get(self.room) == state:
            self._take(room)
            return
        if room.follows and self.drawn != self.sentence:
            view: Any = room.view
            view.trace = self.trace
            self.drawn = self.sentence
        room.carry(state, is_news=self._seen.get(self.room) != state)
        self._seen[self.room] = state

    def _take(self, room: Room) -> None:
        with self.hold_trait_notifications():
            for name, value in room.chosen(self._state()).items():
                setattr(self, name, value)
        self._fit()
        self._seen[self.room] = self._state()

    def _fit(self) -> None:
        """Bring the choice inside what the sentence has."""
        if self.kind not in self.trace.kinds:
            self.kind = self.trace.kinds[-1]
        sizes = self._sizes()
        self.layer, self.head = min(self.layer, sizes["layer"] - 1), min(self.head, sizes["head"] - 1)
        if (self.query or 0) >= sizes["query"]:
            self.query = None

    def _sizes(self) -> dict[str, int]:
        shape = attention_of(self.trace, self.kind).shape
        return dict(zip(("layer", "head", "query"), shape, strict=False))

    @traitlets.validate("room")
    def _check_room(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._rooms:
            raise SelectionError(f"room={proposal['value']!r}, but the rooms are {', '.join(self._rooms)}")
        return proposal["value"]

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        try:
            self.trace_of(proposal["value"])
        except UserError as error:  # a TraitError, so that the old sentence stays
            raise SelectionError(str(error)) from error
        return proposal["value"]

    @traitlets.validate("kind")
    def _check_kind(self, proposal: dict[str, Any]) -> str:
        kinds = self.trace.kinds
        if not self._fits_later() and proposal["value"] not in kinds:
            raise SelectionError(f"kind={proposal['value']!r}, but the kinds are {', '.join(kinds)}")
        return proposal["value"]

    @traitlets.validate("layer", "head", "query")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        if not self._fits_later():
            check_index(name, value, self._sizes()[name], owner=f"the {self.kind} attention has")
        return value

    def _fits_later(self) -> bool:
        """Whether what is set comes from a room, which may have more words than all the others have."""
        return self._from_page or self._busy

    @traitlets.observe("drawn")
    def _on_drawn(self, _: object) -> None:
        """Take over the trace that the page has drawn in a room that follows."""
        for room in self._rooms.values():
            view: Any = room.view
            if room.follows and self._from_page and view.trace is not self.trace_of(self.drawn):
                view.adopt(self.trace_of(self.drawn))
