"""States of a view: what the viewer chose in it, tried and taken up without half of it failing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anywidget
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.traits import Index
from viz_transformer.widgets.base.view import View

#: Traits of all views that no viewer chooses, and the size of text, which is the room's choice.
#: A view's own content, in distinction to what is chosen of it, is tagged ``content=True``.
_NOT_CHOSEN = {"about", "live", "data", "text_size"}

State = dict[str, Any]


class _Undo(traitlets.TraitError):
    """Raised where traits are held, it puts them back and tells nobody."""


def chosen_names(view: View) -> list[str]:
    """Return the names of the traits that the viewer sets, in an order in which they can be set.

    What an index counts comes before the index: a sentence before its words, a layer before its
    heads.
    """
    plumbing = {*anywidget.AnyWidget.class_traits(sync=True), *_NOT_CHOSEN}
    traits = view.traits(sync=True)
    defined = [name for kind in reversed(type(view).__mro__) for name in vars(kind)]
    names = [
        name
        for name, trait in traits.items()
        if name not in plumbing and name[0] != "_" and not trait.metadata.get("content")
    ]

    def rank(name: str) -> tuple[bool, bool, int]:
        return isinstance(traits[name], Index), name != "layer", defined.index(name)

    return sorted(names, key=rank)


def state_of(view: View) -> State:
    """Return what is chosen in a view, as JSON's own types."""
    return view.get_state(chosen_names(view))


def take_up(view: View, state: Mapping[str, Any]) -> None:
    """Bring a view into a state, all of it at once, as a click in the page would."""
    view.set_state(dict(state))
    view.send_state(list(state))  # what the page is thought to have told is not sent to it


@contextmanager
def looking_at(view: View, state: Mapping[str, Any]) -> Iterator[None]:
    """Put a view into a state while the block runs; nobody hears of it, in Python or in the page.

    Raises:
        UserError: if the view cannot be in this state; it names the trait.
    """
    problem: Exception | None = None
    try:
        with view.hold_trait_notifications():
            try:
                _put(view, state)
                yield
            except Exception as error:  # raised again below, once the traits are as they were
                problem = error
            raise _Undo
    except _Undo:
        _settle(view)
    if problem is not None:
        raise problem


def _put(view: View, state: Mapping[str, Any]) -> None:
    names = chosen_names(view)
    unknown = [name for name in state if name not in names]
    if unknown:
        raise UserError(
            f"{unknown[0]!r:.40} is nothing that one chooses in {type(view).__name__}; it has "
            f"{', '.join(names)}"
        )
    given = [name for name in names if name in state]
    for name in given:
        with _naming(name):
            view.set_trait(name, state[name])
    for name in given:  # now that all are set, for one may allow or forbid another
        with _naming(name):
            _validate(view, name)


def _settle(view: View) -> None:
    """Have a view check what it is in again: some set aside what belongs to it as they do."""
    for name in chosen_names(view):
        _validate(view, name)


def _validate(view: View, name: str) -> None:
    view.traits()[name]._cross_validate(view, getattr(view, name))


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a file may hold anything, and validators meet it as it is
        told = " ".join(str(error).split())
        named = re.match(r"\w+=", told) is not None  # as our own validators begin
        raise UserError(told if named else f"{name}: {told}") from error
