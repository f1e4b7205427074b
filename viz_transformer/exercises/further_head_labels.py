"""Exercises of *Going further*, labels of heads."""

from __future__ import annotations

from viz_transformer.exercises.answer_types import Exercise, Mistake, Number

EXERCISES = (
    Exercise(
        "head_labels.1",
        "Find the head that determines the gender",
        Number(
            1,
            mistakes=tuple(
                Mistake(head, f"Without head {head}, both translations stay as they were{end}.")
                for head, end in ((0, ""), (2, " too"), (3, " as well"))
            ),
            tolerance=1e-6,
            right="It has no label, but both translations depend on it.",
        ),
        hints=("Compare each line with the one above the four: where do two words change?",),
    ),
)
