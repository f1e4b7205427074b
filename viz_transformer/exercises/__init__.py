"""The lessons' exercises: they check themselves, and each likely mistake has its own message."""

from viz_transformer.exercises.course import check, exercise, exercises_of, hint, progress
from viz_transformer.exercises.feedback import Check
from viz_transformer.exercises.heads import Look, check_head

__all__ = [
    "Check",
    "Look",
    "check",
    "check_head",
    "exercise",
    "exercises_of",
    "hint",
    "progress",
]
