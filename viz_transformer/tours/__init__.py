"""Ready-made tours, one for each lesson, as slides for a talk."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from viz_transformer.errors import UserError
from viz_transformer.widgets.tour import Tour

_NUMBERED = "lesson_"


def lessons_with_tours() -> tuple[int, ...]:
    """Return the numbers of the lessons that have a tour."""
    names = (one.name for one in iter_modules(__path__))
    return tuple(sorted(int(name.removeprefix(_NUMBERED)) for name in names))


def lesson_tour(number: int | str) -> Tour:
    """Return the tour of a lesson: its main view, and a caption for each state worth showing.

    Click the view's *Present* to fill the screen, and step with the arrow keys. The steps can be
    changed and saved as those of any tour.

    >>> import viz_transformer as vt
    >>> view = vt.lesson_tour(6)

    Args:
        number: the lesson's number.

    Raises:
        UserError: if there is no tour of that number.
    """
    known = lessons_with_tours()
    if str(number) not in {str(each) for each in known}:
        raise UserError(f"there is no tour of lesson {number!r}; choose one of {', '.join(map(str, known))}")
    made: Tour = import_module(f"{__name__}.{_NUMBERED}{int(number):02}").make()
    return made
