"""Registry of the course's exercises: check one, ask for a hint, see the progress."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from viz_transformer import progress as kept
from viz_transformer.errors import UserError
from viz_transformer.exercises import own_model
from viz_transformer.exercises.answer_types import Exercise
from viz_transformer.exercises.feedback import Check, unanswered
from viz_transformer.exercises.forms import form_of

_NUMBERED, _FURTHER = "lesson_", "further_"
_modules = sorted(one.name for one in iter_modules([str(Path(__file__).parent)]))
#: The lessons that have exercises, by the part of an exercise's name before the dot.
LESSONS = (
    *(str(int(name.removeprefix(_NUMBERED))) for name in _modules if name.startswith(_NUMBERED)),
    *(name.removeprefix(_FURTHER) for name in _modules if name.startswith(_FURTHER)),
    *(name for name in _modules if name in ("clinic", "project")),
)
#: The environment variable that makes a wrong answer an error, as autograding needs.
GRADING = "VIZ_TRANSFORMER_GRADING"

_hints_given: Counter[str] = Counter()
_symptoms_told: set[str] = set()


def exercises_of(lesson: int | str) -> tuple[Exercise, ...]:
    """Return the exercises of a lesson.

    >>> import viz_transformer as vt
    >>> [each.name for each in vt.exercises.exercises_of(1)]
    ['1.1', '1.2', '1.3']

    Args:
        lesson: its number, the topic of a notebook of *Going further*, ``"clinic"`` or ``"project"``.

    Raises:
        UserError: if there is no such lesson.
    """
    lesson = str(lesson)
    if lesson not in LESSONS:
        raise UserError(f"there is no lesson {lesson!r}; the lessons are {', '.join(LESSONS)}")
    named = f"{_NUMBERED}{int(lesson):02}" if lesson.isdigit() else f"{_FURTHER}{lesson}"
    module = named if named in _modules else lesson
    return import_module(f"{__package__}.{module}").EXERCISES


def exercise(name: str) -> Exercise:
    """Return the exercise of that name, such as ``"3.1"``.

    >>> import viz_transformer as vt
    >>> vt.exercises.exercise("1.1").name
    '1.1'

    Args:
        name: its lesson and its number, such as ``"3.1"``.

    Raises:
        UserError: if there is none.
    """
    of_lesson = exercises_of(str(name).partition(".")[0])
    for one in of_lesson:
        if one.name == str(name):
            return one
    names = ", ".join(one.name for one in of_lesson)
    raise UserError(f"there is no exercise {name!r}; this lesson has {names}")


def check(name: str, answer: Any = ...) -> Check:
    """Check an answer, and record the attempt in ``progress.json`` beside the lesson.

    >>> import viz_transformer as vt
    >>> check = vt.exercises.check("1.1")  # not answered yet
    >>> check.passed, check.answered
    (False, False)

    Args:
        name: the exercise, such as ``"3.1"``.
        answer: the learner's answer; ``...`` means that there is none yet.

    Raises:
        UserError: if there is no such exercise.
        AssertionError: if the answer is wrong and the environment asks for grading.
    """
    asked = exercise(name)
    found = asked.check(answer)
    if found.answered:
        kept.record_attempt(name, found.passed)
    if found.passed and asked.part:
        found = replace(found, message=f"{found.message} {own_model.keep(asked, answer)}".strip())
    is_as_given = bool(asked.repairs) and found.message == asked.wanted.mistakes[0].message
    if asked.symptom_first:
        found = _symptom_first(name, found)
    if os.environ.get(GRADING) and not found.passed:
        raise AssertionError(str(found))
    choices = getattr(asked.wanted, "choices", {})
    view = answer if choices and all(hasattr(answer, name) for name in choices) else None
    if found.passed or (found.answered and view is None and not is_as_given):
        return found
    return _Open(False, found.message, answered=found.answered, exercise=asked, view=view)


def _symptom_first(name: str, found: Check) -> Check:
    """Return feedback that keeps the reason back the first time; a right answer starts over."""
    if found.passed:
        _symptoms_told.discard(name)
    elif found.symptom and name not in _symptoms_told:
        _symptoms_told.add(name)
        return replace(found, message=f"{found.symptom} Run this check again to read why.")
    return found


@dataclass(frozen=True, kw_only=True)
class _Open(Check):
    """Feedback that a page replaces with a form: there is no answer, no choice in a view, or no repair."""

    exercise: Exercise = field(repr=False)  # it holds the right answer
    view: Any = field(repr=False)

    def as_form(self) -> tuple[dict[str, Any], Any] | None:
        """Return what a page needs in order to ask and to check, see `form_of`; and the view to choose in."""
        asked = form_of(self.exercise, in_view=self.view is not None)
        return (asked, self.view) if asked else None


def hint(name: str) -> Check:
    """Return the next hint for an exercise; after the last one, the last one again.

    >>> import viz_transformer as vt
    >>> hint = vt.exercises.hint("1.1")

    Args:
        name: of the exercise, such as ``"3.1"``.

    Raises:
        UserError: if there is no such exercise.
    """
    hints = exercise(name).hints
    if not hints:
        return unanswered("This exercise has no hint.")
    _hints_given[name] += 1
    number = min(_hints_given[name], len(hints))
    return _Hint(False, f"Hint {number} of {len(hints)}: {hints[number - 1]}", answered=False)


class _Hint(Check):
    """A hint, which has no verdict."""

    @property
    def verdict(self) -> str:
        return ""


#: The part before the number in the name of an exercise of *Going further*: ``"scoring."``.
_TOPIC = re.compile(r"^[a-z_]+\.(?=\d)")


@dataclass(frozen=True)
class Progress:
    """How far a learner has come.

    Attributes:
        rows: each lesson or exercise with what was done and what can be done.
    """

    rows: Sequence[tuple[str, int, int]]

    def __str__(self) -> str:
        """Return a line for each lesson or exercise."""
        return "\n".join(
            f"{'✓' if done == of else '○'} {_TOPIC.sub('', name)}" + (f"  {done} of {of}" if of > 1 else "")
            for name, done, of in self.rows
        )

    def _repr_html_(self) -> str:
        """Return the lines as a list; a page finds the line of an exercise by its name, and keeps it true."""
        names = [name.partition(" ")[0] for name, _, _ in self.rows]
        lines = "".join(
            f'<li data-exercise="{html.escape(name)}">{html.escape(line)}</li>'
            for name, line in zip(names, str(self).splitlines(), strict=True)
        )
        return f'<ul style="list-style: none; padding-left: 0">{lines}</ul>'


def progress(lesson: int | str | None = None) -> Progress:
    """Return which exercises are solved: those of one lesson, or how many of each.

    >>> import viz_transformer as vt
    >>> progress = vt.exercises.progress(1)  # a notebook shows it as a table

    Args:
        lesson: its number, or ``"clinic"``; None: all of them.

    Raises:
        UserError: if there is no such lesson.
    """
    solved = kept.solved()
    if lesson is not None:
        return Progress(
            [(f"{one.name} {one.title}", int(one.name in solved), 1) for one in exercises_of(lesson)]
        )
    rows = []
    for each in LESSONS:
        names = [one.name for one in exercises_of(each)]
        called = f"Lesson {each}" if each.isdigit() else each.replace("_", " ").capitalize()
        rows.append((called, sum(name in solved for name in names), len(names)))
    return Progress(rows)
