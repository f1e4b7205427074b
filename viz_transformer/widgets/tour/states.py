"""States of a view: the values of the traits that its viewer sets, read, tried and applied whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.state_traits import state_traits
from viz_transformer.widgets.base.view import View

State = dict[str, Any]


class _Undo(traitlets.TraitError):
    """Raised while trait notifications are held: the traits are restored, no observer is called."""


def get_state(view: View) -> State:
    """Return the state of a view as plain JSON values."""
    return view.get_state(state_traits(view))


def set_state(view: View, state: Mapping[str, Any]) -> None:
    """Set a view to a state, all of it at once, as a click in the page would."""
    view.set_state(dict(state))
    view.send_state(list(state))  # set_state takes it for news from the page, and does not send it back


@contextmanager
def temporary_state(view: View, state: Mapping[str, Any]) -> Iterator[None]:
    """Set a view to a state while the block runs, unseen by observers and by the page.

    Raises:
        UserError: if the view refuses the state; the message names the trait.
    """
    problem: Exception | None = None
    try:
        with view.hold_trait_notifications():
            try:
                _try_state(view, state)
                yield
            except Exception as error:  # raised again below, once the traits are as they were
                problem = error
            raise _Undo
    except _Undo:
        _validate_all(view)
    if problem is not None:
        raise problem


def _try_state(view: View, state: Mapping[str, Any]) -> None:
    names = state_traits(view)
    unknown = [name for name in state if name not in names]
    if unknown:
        raise UserError(
            f"{unknown[0]!r:.40} cannot be chosen in {type(view).__name__}; it has {', '.join(names)}"
        )
    given = [name for name in names if name in state]
    for name in given:
        with _errors_name(name):
            view.set_trait(name, state[name])
    for name in given:  # again now that all are set: one may allow or forbid another
        with _errors_name(name):
            _validate(view, name)


def _validate_all(view: View) -> None:
    """Validate all traits again: some validators also set what belongs to the new value."""
    for name in state_traits(view):
        _validate(view, name)


def _validate(view: View, name: str) -> None:
    view.traits()[name]._cross_validate(view, getattr(view, name))


@contextmanager
def _errors_name(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # values from a file reach the validators unchecked
        message = " ".join(str(error).split())
        named = re.match(r"\w+=", message) is not None  # our own validators begin so
        raise UserError(message if named else f"{name}: {message}") from error
