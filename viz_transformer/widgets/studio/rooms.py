"""A room of the studio: a view, and which of its traits are those that all rooms share.

The page carries what is chosen from room to room by the same table; rooms.js reads it as this file does.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from viz_transformer.widgets.base.state_traits import state_traits
from viz_transformer.widgets.base.view import View

#: What all rooms share, in the order in which it can be set.
CHOSEN = ("sentence", "kind", "layer", "head", "query")
#: Beside what is chosen, what is carried along.
CARRIED = (*CHOSEN, "text_size")

#: Values by the names of the studio's traits.
State = dict[str, Any]


@dataclass(frozen=True)
class Room:
    """A view with a door to it.

    Attributes:
        name: what its door says.
        view: the view.
        traits: by the studio's names, the view's: ``"row"``, or ``"explorer.head"`` of a view inside it.
            Where kind and layer are one trait, it stands under ``"place"``.
        places: the values of that trait, by kind and layer: ``{"cross 1": "decoder.1.cross_attention"}``.
        also: what else is set when another choice is carried in.
        follows: whether the view shows a trace and has no sentence, so that the studio gives it another.
    """

    name: str
    view: View
    traits: Mapping[str, str]
    places: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)
    follows: bool = False

    def door(self) -> dict[str, Any]:
        """Return what the page has to know of it, as plain JSON."""
        return {
            "name": self.name,
            "traits": dict(self.traits),
            "places": dict(self.places),
            "also": dict(self.also),
            "needed": [name for name, path in self.traits.items() if not self._takes_none(path)],
            "follows": self.follows,
            "own": self._own(),
        }

    def _own(self) -> State:
        """Return by their paths the values, plain ones, of what is chosen in this room alone."""
        own: State = {}
        for inside in {path.rpartition(".")[0]: None for path in self.traits.values()}:
            view, _ = self.target(f"{inside}.")
            for name, value in view.get_state(state_traits(view)).items():
                path = f"{inside}.{name}" if inside else name
                if path not in (*self.traits.values(), *self.also) and not _holds_bytes(value):
                    own[path] = value
        return own

    def target(self, path: str) -> tuple[View, str]:
        """Return the view that has a trait, this one or one inside it, and the trait's name."""
        inside, _, name = path.rpartition(".")
        return (getattr(self.view, inside) if inside else self.view), name

    def _takes_none(self, path: str) -> bool:
        view, name = self.target(path)
        return bool(view.traits()[name].allow_none)

    def chosen(self, state: State) -> State:
        """Return what is chosen in the room, as far as it says so; `state` is what was chosen before.

        A place that is no attention chooses no head, and a query only where the words are those that attend.
        The mean of all heads is no head.
        """
        found = {name: getattr(*self.target(path)) for name, path in self.traits.items()}
        if "place" in found:
            box = found.pop("place")
            here = [place for place, each in self.places.items() if each == box]
            if here:
                kind, layer = here[0].split()
                found |= {"kind": kind, "layer": int(layer)}
            else:
                found.pop("head", None)
                if _stack(box) != _stack(self._place(state)):
                    found.pop("query", None)
        return {name: value for name, value in found.items() if value is not None or name == "query"}

    def changes(self, state: State) -> State:
        """Return the values of the view's traits, by their paths, that show a choice."""
        place = self._place(state)
        wanted = {**state, **({"place": place} if place else {})}
        takes = {name: path for name, path in self.traits.items() if name in wanted}
        return {
            path: wanted[name]
            for name, path in takes.items()
            if wanted[name] is not None or self._takes_none(path)
        }

    def _place(self, state: State) -> str:
        return self.places.get(f"{state['kind']} {state['layer']}", "")

    def carry(self, state: State, *, is_news: bool) -> None:
        """Bring a choice into the room; `is_news` says that it is another than it has last shown."""
        changes = self.changes(state) | (dict(self.also) if is_news else {})
        owners: dict[int, tuple[View, State]] = {}
        for path, value in changes.items():
            view, name = self.target(path)
            owners.setdefault(id(view), (view, {}))[1][name] = value
        with ExitStack() as stack:
            for view, _ in owners.values():  # the page never sees a state between the two
                stack.enter_context(view.hold_sync())
            if "sentence" in self.traits:
                view, name = self.target(self.traits["sentence"])
                sentence = owners[id(view)][1].pop(name)
                if getattr(view, name) != sentence:
                    setattr(view, name, sentence)
            for view, values in owners.values():
                news = {name: value for name, value in values.items() if getattr(view, name) != value}
                view.set_state(news)  # all of it at once, as a click in the page would
                view.send_state(list(news))


def _stack(place: str) -> str:
    """Return the encoder or the decoder, which a place's name begins with."""
    return place.partition(".")[0]


def _holds_bytes(value: Any) -> bool:
    return isinstance(value, bytes | memoryview) or (
        isinstance(value, dict) and any(map(_holds_bytes, value.values()))
    )
