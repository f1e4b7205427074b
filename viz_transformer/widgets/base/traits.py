"""Traits that views share, and the checks of what is set: indices, shares of 1, the text size."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from viz_transformer._text import shown
from viz_transformer.errors import UserError


class SelectionError(UserError, traitlets.TraitError):
    """A choice that the view does not have."""


def as_float(name: str, value: Any) -> float:
    """Return a number of Python's, numpy's or torch's as a float.

    Raises:
        SelectionError: if it is none, or beyond what a float holds.
    """
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise SelectionError(f"{name}={shown(value)}; give a number") from None


class Index(traitlets.Int):
    """A whole number of Python's or of numpy's, as in ``view.head = entropies.argmin()``."""

    def validate(self, obj: Any, value: Any) -> int | None:
        """Accept numpy's integers as Python's; a truth value, by which numpy would not index, is 0 or 1."""
        return super().validate(obj, int(value) if isinstance(value, np.integer | bool) else value)


class Share(traitlets.Float):
    """A number from 0 to 1, of Python's or of numpy's."""

    def validate(self, obj: Any, value: Any) -> float:
        """Accept any real number in the range."""
        value = super().validate(obj, float(value) if isinstance(value, np.number) else value)
        if not 0 <= value <= 1:
            raise SelectionError(f"{self.name}={value:g} is no share of attention; give 0 to 1")
        return value


class Checked(traitlets.Any):
    """A value, None too, that a validator of the view brings into its form."""

    allow_none = False  # else None would pass by the validator


class Unfolded(traitlets.List[str]):
    """The names of a view's open panels; the others are folded to a line each."""

    def __init__(self, *names: str, opened: tuple[str, ...] = ()) -> None:
        """Make the trait.

        Args:
            names: of all panels that fold.
            opened: those that are open at first.
        """
        super().__init__(traitlets.Unicode(), list(opened), help="open panels")
        self.names = names
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Accept panels of the view."""
        value = super().validate(obj, value)
        if not set(value) <= set(self.names):
            some = ", ".join(self.names)
            raise SelectionError(f"{self.name}={value!r}, but the panels are {some}")
        return value


class TextSize(traitlets.Float):
    """The size of all text and pictures of a view, 0.5 to 4; 1 by default, 2 suits a projector.

    Sent to the page, as every trait of a view that the viewer can change.
    """

    def __init__(self) -> None:
        """Make the trait; it takes no arguments, so that all views have the same one."""
        super().__init__(1.0, help="size of all text and pictures, 0.5 to 4")
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> float:
        """Accept any real number in the range."""
        value = super().validate(obj, value)
        if not 0.5 <= value <= 4:
            raise SelectionError(f"{self.name}={value:g}; give 0.5 to 4, 1 for the usual")
        return value


def check_index(name: str, value: Any, size: int, *, owner: str = "here there are") -> None:
    """Refuse an index that is outside an axis.

    Args:
        name: of the trait.
        value: what is set; None, for no choice, is accepted.
        size: the number of choices.
        owner: who has them, and a verb, for the message: ``"this mask has"``.

    Raises:
        SelectionError: if `value` is no integer from 0 to ``size - 1``.
    """
    if value is None:
        return
    if not isinstance(value, int) or not 0 <= value < size:
        raise SelectionError(f"{name}={value!r}, but {owner} {size}; choose 0 to {max(0, size - 1)}")
