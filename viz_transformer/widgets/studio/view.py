"""The studio: the views of one sentence as rooms, with doors between them that carry what is chosen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, attention_of
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, one_of
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.base.widget_tree import REFERENCE
from viz_transformer.widgets.studio.rooms import CARRIED, CHOSEN, Opened, Room, Rooms, State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "One sentence, seen in several rooms. A door at the top leads to each, and the sentence, the kind of "
    "attention, its layer, its head, the query and the key go along. Back returns to the room and the choice "
    "before."
)
#: So many traces of the newest sentences are kept: what is checked is soon shown.
_MOST_TRACES = 2


def _references(rooms: Rooms, view: Studio) -> dict[str, str]:
    """Return the rooms that are made as the page finds them."""
    return {key: f"{REFERENCE}{view._opened[key].view.model_id}" for key in rooms if key in view._opened}


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
        room: which room is open, one of the keys of `rooms`, such as ``"model"``, ``"heads"`` or ``"head"``.
        sentence: the sentence of all rooms. One that the model cannot read raises a UserError when set.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer.
        head: index of the head in that layer.
        query: index of the query, the word that attends, or None.
        key: index of the key, the word that is attended to, or None.
        text_size: size of all text; 1 is the usual, 2 suits a projector.
        rooms: the views of the rooms by their keys, in the order of their doors; each is made when it is
            first asked for, or its door first opened.

    A value that the model does not have raises SelectionError, a UserError, and leaves the view unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    room = traitlets.Unicode(help="the room that is open").tag(sync=True)
    sentence = traitlets.Unicode(help="the sentence of all rooms").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(0, help="layer, counted from 0").tag(sync=True)
    head = Index(0, help="head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="key, counted from 0").tag(sync=True)
    text_size = TextSize()
    rooms = traitlets.Instance(Rooms, help="the rooms' views").tag(
        sync=True, content=True, to_json=_references
    )
    signs = traitlets.Dict(help="texts on the doors").tag(sync=True, content=True)
    doors = traitlets.Dict(help="what the doors carry").tag(sync=True, content=True)
    opened = traitlets.Dict(help="the room and the choice at first").tag(sync=True, content=True)
    drawn = traitlets.Dict(help="the sentences of rooms that have none to set").tag(sync=True, content=True)

    def __init__(
        self,
        rooms: Mapping[str, Room],
        read: Callable[[str], ForwardTrace],
        state: State,
        *,
        room: str,
        as_page: Callable[[State], State | None],
    ) -> None:
        """Make a studio.

        Args:
            rooms: the rooms by their keys, in the order of their doors.
            read: what the model makes of a sentence; it raises a UserError where that cannot be read.
            state: the first values of `sentence`, `kind`, `layer`, `head`, `query` and `key`.
            room: the room that is open at first.
            as_page: what the page sets where a room follows (see `Room.follow`); None where Python sends it.

        Raises:
            UserError: if there is no such room or choice.
        """
        self._behind, self._opened = dict(rooms), dict[str, Opened]()
        self._read, self._traces = read, dict[str, ForwardTrace]()
        self._as_page, self._seen = as_page, dict[str, State]()
        self._busy = True
        super().__init__(
            answer=self._reply,
            traits={
                "about": _ABOUT,
                "rooms": Rooms(tuple(rooms), self._open),
                "signs": {key: each.sign() for key, each in rooms.items()},
                "opened": {"room": room, **state},
                "room": room,
                **state,
            },
        )
        self._busy = False
        with self._quietly():
            self._enter()
        if "marimo" in sys.modules:  # it finds no view that is made after its cell has run
            dict(self.rooms)

    def _open(self, key: str) -> View:
        """Return the view of a room, made if it is not there yet."""
        if key not in self._opened:
            behind = self._behind[key]
            opened = Opened(behind.make(self.sentence))
            if behind.follow:
                self.drawn = {**self.drawn, key: self.sentence}
            self._opened[key] = opened
            self.doors = {**self.doors, key: opened.door(self._following(key, self.sentence))}
            self.send_state("rooms")
            for path in opened.traits.values():
                view, name = opened.target(path)
                view.observe(self._on_room, names=name)
        return self._opened[key].view

    def _make(self, key: str) -> None:
        """Make a room, or refuse it with a trait's error, so that the room before stays open."""
        try:
            self._open(key)
        except UserError as error:
            raise SelectionError(str(error)) from error

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return a room with its door, or what shows another sentence in one that has none to set."""
        key: str = request["open"] if "open" in request else request["room"]
        view = self._open(key)
        if "open" in request:
            return {"room": f"{REFERENCE}{view.model_id}", "door": self.doors[key]}
        values = self._following(key, request["text"])
        traits = self._as_page(values)
        if traits is None:
            self._opened[key].follow(values)
        return {"traits": traits}

    def _following(self, key: str, text: str) -> State:
        follow = self._behind[key].follow
        return follow(text) if follow else {}

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
        keys = one_of(self.rooms)
        return ({"open": keys}, {"text": TEXT, "room": keys})

    def figure(self) -> Figure | None:
        """Return what the open room shows now as a matplotlib figure."""
        return self.rooms[self.room].figure()

    def alt_text(self) -> str:
        """Return the open room's name, and what it shows, in words."""
        return f"{self._behind[self.room].name}. {self.rooms[self.room].alt_text()}"

    def __repr__(self) -> str:
        """Return the room and the choice in short."""
        chosen = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("room", *CHOSEN))
        return f"Studio({chosen})"

    # --- what is chosen ---------------------------------------------------------------------------

    def _state(self) -> State:
        return {name: getattr(self, name) for name in CARRIED}

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Keep what is set meanwhile from the other rooms."""
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
        room = self._opened.get(
            self.room
        )  # the page may just have gone through a door to one that is not made
        if room and room.owns(change["owner"]):
            with self._quietly():
                self._take(room)

    def _enter(self) -> None:
        """Bring the choice into the open room, or take its own over where no other choice was made since."""
        self._open(self.room)
        room, state, seen = self._opened[self.room], self._state(), self._seen.get(self.room)
        if seen == state:
            self._take(room)
            return
        if self.drawn.get(self.room, self.sentence) != self.sentence:
            room.follow(self._following(self.room, self.sentence))
            self.drawn = {**self.drawn, self.room: self.sentence}
        room.carry(state, seen)
        self._seen[self.room] = state

    def _take(self, room: Opened) -> None:
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
        for name in ("query", "key"):
            if (getattr(self, name) or 0) >= sizes[name]:
                setattr(self, name, None)

    def _sizes(self) -> dict[str, int]:
        return dict(
            zip(("layer", "head", "query", "key"), attention_of(self.trace, self.kind).shape, strict=True)
        )

    @traitlets.validate("room")
    def _check_room(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._behind:
            raise SelectionError(f"room={proposal['value']!r}, but the rooms are {', '.join(self._behind)}")
        if not self._fits_later():
            self._make(proposal["value"])
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

    @traitlets.validate("layer", "head", "query", "key")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        if not self._fits_later():
            check_index(name, value, self._sizes()[name], owner=f"the {self.kind} attention has")
        return value

    def _fits_later(self) -> bool:
        """Whether what is set comes from a room, which may have more words than all the others have."""
        return self._from_page or self._busy

    @traitlets.observe("drawn")
    def _on_drawn(self, change: dict[str, Any]) -> None:
        """Take over the trace that the page has drawn in a room that has no sentence to set."""
        for key, text in change["new"].items() if self._from_page else ():
            if change["old"].get(key) != text and hasattr(self.rooms[key], "adopt"):
                self.rooms[key].adopt(self.trace_of(text))
