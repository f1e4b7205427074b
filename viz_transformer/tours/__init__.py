"""Ready-made tours, one for each lesson, as slides for a talk."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from viz_transformer.errors import UserError
from viz_transformer.widgets.tour import Tour

_NUMBERED, _FURTHER = "lesson_", "further_"
_MODULES = {
    name.removeprefix(_NUMBERED).removeprefix(_FURTHER).lstrip("0"): name
    for name in (one.name for one in iter_modules(__path__))
}


def lessons_with_tours() -> tuple[str, ...]:
    """Return the lessons that have a tour: their numbers, and topics of *Going further*."""
    return tuple(sorted(_MODULES, key=lambda name: (not name.isdigit(), name.zfill(2))))


def lesson_tour(lesson: int | str) -> Tour:
    """Return the tour of a lesson: its main view, and a caption for each state worth showing.

    Click the view's *Present* to fill the screen, and step with the arrow keys. The steps can be
    changed and saved as those of any tour.

    >>> import viz_transformer as vt
    >>> view = vt.lesson_tour(6)

    Args:
        lesson: its number, or the topic of a notebook of *Going further*.

    Raises:
        UserError: if it has no tour.
    """
    if str(lesson) not in _MODULES:
        known = ", ".join(lessons_with_tours())
        raise UserError(f"there is no tour of lesson {lesson!r}; choose one of {known}")
    made: Tour = import_module(f"{__name__}.{_MODULES[str(lesson)]}").make()
    return made
