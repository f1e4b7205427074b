"""Self-checking exercises of the lessons, with a message for each likely mistake."""

from viz_transformer.exercises.course import check, exercise, exercises_of, hint, progress
from viz_transformer.exercises.feedback import Check
from viz_transformer.exercises.heads import Look, check_head
from viz_transformer.exercises.own_model import my_transformer

__all__ = [
    "Check",
    "Look",
    "check",
    "check_head",
    "exercise",
    "exercises_of",
    "hint",
    "my_transformer",
    "progress",
]


def __dir__() -> list[str]:
    return __all__  # completion lists what is public, and no files
