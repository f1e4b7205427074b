"""Kinds of exercises: what a right answer is, and what each likely mistake looks like.

A mistake is given as the wrong answer that it leads to. So the same table tells a learner what they
did, and lets a test hold every message to its mistake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from viz_transformer.exercises.answers import UnusableError, as_array, as_number, named, shown
from viz_transformer.exercises.functions import Function
from viz_transformer.exercises.mistake import Mistake
from viz_transformer.exercises.verdict import Check, unanswered

__all__ = ["Array", "Choice", "Exercise", "Function", "Kind", "Mistake", "Number", "Own"]


class Kind(Protocol):
    """What an exercise asks for."""

    mistakes: Sequence[Mistake]

    def check(self, answer: Any) -> Check:
        """Judge an answer that is not ``...``."""
        ...


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    Attributes:
        name: the lesson and a number, ``"3.1"``, or ``"clinic.4"``.
        title: what it is about, in a few words.
        wanted: what a right answer is.
        hints: told one by one, when asked for.
    """

    name: str
    title: str
    wanted: Kind
    hints: tuple[str, ...] = ()

    def check(self, answer: Any) -> Check:
        """Judge an answer; whatever it is, there is a message and no error."""
        if answer is ...:
            return unanswered("Put your answer in place of the three dots, and run both cells.")
        try:
            return self.wanted.check(answer)
        except UnusableError as error:
            return Check(False, str(error))


def resolved(value: Any) -> Any:
    """Return a value, computed first if it is a function."""
    return value() if callable(value) else value


@dataclass(frozen=True)
class Number:
    """One number is asked for.

    Attributes:
        value: the number, or a function that computes it.
        mistakes: numbers that are likely instead.
        tolerance: relative; absolute where the number is 0.
        unit: what it is measured in.
        right: told with a right answer.
    """

    value: float | Callable[[], float]
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-2
    unit: str = ""
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare with the number, and then with those that are likely instead."""
        number, value = as_number(answer), float(resolved(self.value))
        if self._near(number, value):
            return Check(True, self.right or f"{shown(value)} {self.unit}".strip() + ".")
        for mistake in self.mistakes:
            if self._near(number, float(resolved(mistake.answer))):
                return Check(False, mistake.message)
        if math.isnan(number):
            return Check(False, "Your number is NaN, which means “not a number”.")
        told = "large" if number > value else "small"
        return Check(False, f"{shown(number)} is too {told}.")

    def _near(self, number: float, value: float) -> bool:
        absolute = self.tolerance if value == 0 else 0.0
        return math.isclose(number, value, rel_tol=self.tolerance, abs_tol=absolute)


@dataclass(frozen=True)
class Array:
    """An array is asked for; a list or a tensor will do.

    Attributes:
        value: the array, or a function that computes it.
        mistakes: arrays that are likely instead, of whatever shape.
        tolerance: absolute; truth values are compared exactly.
        right: told with a right answer.
    """

    value: Any
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-3
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare with the array, and then with those that are likely instead."""
        found, wanted = as_array(answer), as_array(resolved(self.value))
        if self._near(found, wanted):
            return Check(True, self.right)
        for mistake in self.mistakes:
            if self._near(found, as_array(resolved(mistake.answer))):
                return Check(False, mistake.message)
        if found.shape != wanted.shape:
            return Check(False, f"It has the shape {found.shape}, and {wanted.shape} is asked for.")
        kinds = ["numbers", "True and False"]
        if (wanted.dtype.kind == "b") != (found.dtype.kind == "b"):
            other, right = kinds if wanted.dtype.kind == "b" else reversed(kinds)
            return Check(False, f"Give {right}, not {other}.")
        if np.isnan(found).any():
            return Check(False, "There is NaN in it, which means “not a number”.")
        wrong = np.argwhere(~np.isclose(found, wanted, rtol=0, atol=self.tolerance))
        at = tuple(map(int, wrong[0]))
        place = f" at {list(at)}" if at else ""
        return Check(
            False,
            f"{wanted.size - len(wrong)} of {wanted.size} values are right; the first that is not, "
            f"{shown(found[at])}, stands{place}.",
        )

    def _near(self, found: np.ndarray, wanted: np.ndarray) -> bool:
        if found.shape != wanted.shape or (found.dtype.kind == "b") != (wanted.dtype.kind == "b"):
            return False
        return bool(np.allclose(found, wanted, rtol=0, atol=self.tolerance, equal_nan=True))


@dataclass(frozen=True)
class Choice:
    """One of a few words is asked for.

    Attributes:
        value: the right one.
        options: all of them.
        mistakes: one for each of the others.
        right: told with a right answer.
    """

    value: str
    options: Sequence[str]
    mistakes: Sequence[Mistake]
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare without regard to capitals and spaces at the ends."""
        options = ", ".join(f'"{option}"' for option in self.options)
        if not isinstance(answer, str):
            raise UnusableError(f"Answer with one of {options}; this is {named(answer)}.")
        given = answer.strip().casefold()
        if given == self.value.casefold():
            return Check(True, self.right)
        for mistake in self.mistakes:
            if given == mistake.answer.casefold():
                return Check(False, mistake.message)
        return Check(False, f"Answer with one of {options}.")


@dataclass(frozen=True)
class Own:
    """An exercise with a check of its own.

    Attributes:
        judge: gives the `Check` of an answer.
        right_answer: an answer that passes, or a function that computes it.
        mistakes: wrong answers, with the message that `judge` gives each.
    """

    judge: Callable[[Any], Check]
    right_answer: Any = None
    mistakes: Sequence[Mistake] = ()

    def check(self, answer: Any) -> Check:
        """Judge an answer."""
        return self.judge(answer)
