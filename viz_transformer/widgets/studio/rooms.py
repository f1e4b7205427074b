"""The rooms of a studio: views, each made when it is first asked for, that share what is chosen in them.

Which of a view's traits all rooms share is in the view's `View.shares`. The page
carries what is chosen from room to room by the same table; rooms.ts reads it as this file does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from viz_transformer.widgets.base.state_traits import state_traits
from viz_transformer.widgets.base.view import View

#: What all rooms share, in the order in which it can be set.
CHOSEN = ("sentence", "kind", "layer", "head", "query", "key")
#: Beside what is chosen, what is carried along.
CARRIED = (*CHOSEN, "text_size")
#: What does not outlive the words that it is an index of.
_WORDS = ("query", "key")

#: Values by the names of the studio's traits.
State = dict[str, Any]


@dataclass(frozen=True)
class Room:
    """A room of the studio.

    Attributes:
        name: the text on its door.
        view: of which class the view is.
        make: makes the view of a sentence.
        follow: of a view that has no sentence to set, the values of its attributes that show another one.
    """

    name: str
    view: type[View]
    make: Callable[[str], View]
    follow: Callable[[str], State] | None = None

    def sign(self) -> dict[str, Any]:
        """Return the text on the door: its name, and what of a head the room shares with the others."""
        shared = {"place": ("kind", "layer")}
        taken = [each for name in self.view.shares.traits for each in shared.get(name, (name,))]
        return {"name": self.name, "shares": [name for name in taken if name in CHOSEN[1:]]}


class Rooms(Mapping[str, View]):
    """The views of all rooms by their keys, each made when it is first asked for."""

    def __init__(self, keys: tuple[str, ...], view_of: Callable[[str], View]) -> None:
        """Make the rooms of some keys."""
        self._keys, self._view_of = keys, view_of

    def __getitem__(self, key: str) -> View:
        """Return the view of a room."""
        if key not in self._keys:
            raise KeyError(key)
        return self._view_of(key)

    def __iter__(self) -> Iterator[str]:
        """Yield the keys in the order of the doors."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Return how many rooms there are."""
        return len(self._keys)

    def __eq__(self, other: object) -> bool:
        """Whether these are the very same: comparing views would make all of them."""
        return self is other

    __hash__ = None  # type: ignore[assignment]


class Opened:
    """A room whose view is made: what it shares, and how a choice is carried into it."""

    def __init__(self, view: View) -> None:
        """Open a room."""
        self.view, self._shares = view, view.shares
        self.traits = {"text_size": "text_size", **view.shares.traits}
        self._places = view.shared_places()

    def door(self, followed: Collection[str]) -> dict[str, Any]:
        """Return what the page needs of it, as plain JSON.

        Args:
            followed: what another sentence sets in a view that has none to set.
        """
        return {
            "traits": self.traits,
            "places": self._places,
            "news": dict(self._shares.news),
            "where": dict(self._shares.where),
            "needed": [name for name, path in self.traits.items() if not self._takes_none(path)],
            "own": {path: value for path, value in self._own().items() if path not in followed},
            "followed": list(followed),
        }

    def _own(self) -> State:
        """Return by their paths the values, plain ones, of what is chosen in this room alone."""
        own: State = {}
        for inside in {path.rpartition(".")[0]: None for path in self.traits.values()}:
            view, _ = self.target(f"{inside}.")
            for name, value in view.get_state(state_traits(view)).items():
                path = f"{inside}.{name}" if inside else name
                if path not in (*self.traits.values(), *self._shares.news) and not _holds_bytes(value):
                    own[path] = value
        return own

    def target(self, path: str) -> tuple[View, str]:
        """Return the view that has a trait, this one or one inside it, and the trait's name."""
        inside, _, name = path.rpartition(".")
        return (getattr(self.view, inside) if inside else self.view), name

    def owns(self, view: View) -> bool:
        """Whether a view is the room's own, or the one inside it."""
        return any(self.target(path)[0] is view for path in self.traits.values())

    def _takes_none(self, path: str) -> bool:
        view, name = self.target(path)
        return bool(view.traits()[name].allow_none)

    def _get(self, path: str) -> Any:
        return getattr(*self.target(path))

    def chosen(self, state: State) -> State:
        """Return what is chosen in the room, as far as it has the trait; `state` is what was chosen before.

        A place that is no attention chooses no head, and a query only where the words are those that attend.
        The mean of all heads is no head. A word that the room does not know of is dropped with those beside
        it.
        """
        if any(self._get(path) != value for path, value in self._shares.where.items()):
            return {}
        found = {name: self._get(path) for name, path in self.traits.items()}
        if "place" in found:
            box = found.pop("place")
            here = [place for place, each in self._places.items() if each == box]
            if here:
                kind, layer = here[0].split()
                found |= {"kind": kind, "layer": int(layer)}
            else:
                found.pop("head", None)
                if _stack(box) != _stack(self._place(state)):
                    found.pop("query", None)
        if any(name in found and found[name] != state[name] for name in ("sentence", "kind", "query")):
            found = {**dict.fromkeys(set(_WORDS) - set(self.traits)), **found}
        return {name: value for name, value in found.items() if value is not None or name in _WORDS}

    def changes(self, state: State, seen: State | None = None) -> State:
        """Return the values of the view's traits, by their paths, that show a choice.

        Args:
            state: the choice.
            seen: what the room has shown last.
        """
        wanted: State = {**state}
        if place := self._place(state):
            wanted["place"] = place
        changes = {
            path: wanted[name]
            for name, path in self.traits.items()
            if name in wanted and (wanted[name] is not None or self._takes_none(path))
        }
        return (
            changes
            if _is_same(seen, state, CHOSEN)
            else {**changes, **self._shares.news, **self._shares.where}
        )

    def _place(self, state: State) -> str:
        return self._places.get(f"{state['kind']} {state['layer']}", "")

    def carry(self, state: State, seen: State | None) -> None:
        """Bring a choice into the room; `seen` is what it has shown last."""
        owners: dict[int, tuple[View, State]] = {}
        for path, value in self.changes(state, seen).items():
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

    def follow(self, values: State) -> None:
        """Show another sentence, in a view that has none to set."""
        with self.view.hold_sync(), self.view.hold_trait_notifications():
            for name, value in values.items():
                setattr(self.view, name, value)


def _is_same(one: State | None, other: State, names: tuple[str, ...]) -> bool:
    return one is not None and all(one[name] == other[name] for name in names)


def _stack(place: str) -> str:
    """Return the encoder or the decoder, which a place's name begins with."""
    return place.partition(".")[0]


def _holds_bytes(value: Any) -> bool:
    return isinstance(value, bytes | memoryview) or (
        isinstance(value, dict) and any(map(_holds_bytes, value.values()))
    )
