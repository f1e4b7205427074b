"""Types of answers that an exercise may ask for, each with its likely mistakes.

A mistake is given as the wrong answer that it leads to. So the same table tells learners what they
did, and lets a test check that every message belongs to its mistake.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from viz_transformer._numbers import short_number
from viz_transformer.exercises.comparison import (
    UnusableError,
    all_close,
    as_array,
    as_number,
    describe_difference,
    describe_type,
    format_value,
    is_rounded_number,
    rounded,
)
from viz_transformer.exercises.feedback import Check, unanswered
from viz_transformer.exercises.footprint import leaving_nothing, within_memory
from viz_transformer.exercises.forbidden import forbidden_name
from viz_transformer.exercises.sandbox import NO_END, TOO_LARGE, WHOLE_LIMIT_S, call_each, within_time

_N_DRAWS = 20
#: The module that lends parts which were not written yet.
LENT = "viz_transformer.exercises.lent"
#: Of characters. A reader who has to step over the arguments misses what went wrong with them.
_LONGEST_CALL = 100
#: Values this many tolerances away are the right ones, rounded before the last step.
NEARLY = 20
ROUNDED_NUMBER = "Nearly right, but rounded too early: keep more digits, and round only at the end."
ROUNDED_RESULT = "The results are right, but rounded: return them with all their digits."
ROUNDED = "Every value is nearly right: keep more digits on the way, and round only at the end."


@dataclass(frozen=True)
class Mistake:
    """A likely wrong answer.

    Attributes:
        answer: the wrong answer itself; for a number or an array also a function that computes it.
        message: feedback for it: what went wrong, and what to look at.
    """

    answer: Any
    message: str


class AnswerType(Protocol):
    """What an exercise asks for."""

    @property
    def mistakes(self) -> Sequence[Mistake]:
        """Wrong answers that are likely."""

    def check(self, answer: Any) -> Check:
        """Return feedback on an answer that is not ``...``."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    Attributes:
        name: the lesson and a number, ``"3.1"``, or ``"clinic.4"``.
        title: what it is about, in a few words.
        wanted: the type of answer, with the right one.
        hints: given one at a time, on request.
        symptom_first: whether the first check of a wrong answer says which test fails, and only the next
            one why.
        part: the part of ``my_transformer.py`` that the answer becomes, such as ``"attend"``.
        lines: a right answer in code, whose lines a page shows to be put in order; without it the reference
            is taken. With `gaps`, a text in which each ``___`` is a gap.
        wrong_lines: lines among them that do not belong there, as mistakes: each line, and why it is wrong.
        gaps: what a page offers for each gap of `lines`.
        repairs: lines of the faulty excerpt in the notebook, each with what a page offers in its place.
    """

    name: str
    title: str
    wanted: AnswerType
    hints: tuple[str, ...] = ()
    symptom_first: bool = False
    part: str | None = None
    lines: Callable[..., Any] | str | None = None
    wrong_lines: tuple[Mistake, ...] = ()
    gaps: tuple[Choice, ...] = ()
    repairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self, answer: Any) -> Check:
        """Return feedback on an answer of any kind; no error is raised."""
        if answer is ...:
            hint = f' For a hint, run vt.exercises.hint("{self.name}").' if self.hints else ""
            return unanswered(f"Put your answer in place of the three dots, and run both cells.{hint}")
        if self.part and getattr(answer, "__module__", None) == LENT:
            return Check(False, f"This {self.part} is the one that the package lends you. Write your own.")
        try:
            with leaving_nothing(), within_memory():
                return within_time(WHOLE_LIMIT_S, lambda: self.wanted.check(answer))
        except UnusableError as error:
            return Check(False, str(error))
        except TimeoutError:
            return Check(False, NO_END)
        except MemoryError:
            return Check(False, TOO_LARGE)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an answer may do anything when it is compared or shown
            return Check(False, f"Your answer cannot be checked: it raises {type(error).__name__}.")


def evaluate(value: Any) -> Any:
    """Call a value if it is a function, and return the result; return anything else as it is."""
    return value() if callable(value) else value


@dataclass(frozen=True)
class Number:
    """Asks for one number.

    Attributes:
        value: the number, or a function that computes it.
        mistakes: likely wrong numbers.
        tolerance: relative; absolute where the number is 0.
        unit: what it is measured in.
        right: feedback on a right answer.
    """

    value: float | Callable[[], float]
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-2
    unit: str = ""
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare with the number, then with the likely wrong ones."""
        number, value = as_number(answer), float(evaluate(self.value))
        if self._near(number, value):
            return Check(True, self.right or f"{format_value(value)} {self.unit}".strip() + ".")
        for mistake in self.mistakes:
            if self._near(number, float(evaluate(mistake.answer))):
                return Check(False, mistake.message)
        if math.isnan(number):
            return Check(False, "Your number is NaN, which means “not a number”.")
        if is_rounded_number(number, value):
            return Check(False, ROUNDED_NUMBER)
        told = "large" if number > value else "small"
        return Check(False, f"{short_number(number)} is too {told}.")

    def _near(self, number: float, value: float) -> bool:
        absolute = self.tolerance if value == 0 else 0.0
        return math.isclose(number, value, rel_tol=self.tolerance, abs_tol=absolute)


@dataclass(frozen=True)
class Array:
    """Asks for an array; a list or a tensor is accepted too.

    Attributes:
        value: the array, or a function that computes it.
        mistakes: likely wrong arrays, of any shape.
        tolerance: absolute; truth values are compared exactly.
        right: feedback on a right answer.
    """

    value: Any
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-3
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare with the array, then with the likely wrong ones."""
        found, wanted = as_array(answer), as_array(evaluate(self.value))
        if self._near(found, wanted):
            return Check(True, self.right)
        for mistake in self.mistakes:
            if self._near(found, as_array(evaluate(mistake.answer))):
                return Check(False, mistake.message)
        if found.shape != wanted.shape:
            return Check(False, f"It has the shape {found.shape}; it should be {wanted.shape}.")
        kinds = ["numbers", "True and False"]
        if (wanted.dtype.kind == "b") != (found.dtype.kind == "b"):
            other, right = kinds if wanted.dtype.kind == "b" else reversed(kinds)
            return Check(False, f"Give {right}, not {other}.")
        if np.isnan(found).any():
            return Check(False, "There is NaN in it, which means “not a number”.")
        if wanted.dtype.kind != "b" and np.allclose(found, wanted, rtol=0, atol=NEARLY * self.tolerance):
            return Check(False, ROUNDED)
        wrong = np.argwhere(~np.isclose(found, wanted, rtol=0, atol=self.tolerance))
        at = tuple(map(int, wrong[0]))
        place = f", at {list(at)}" if at else ""
        first = short_number(found[at]) if found.dtype.kind != "b" else str(found[at])
        return Check(
            False,
            f"{wanted.size - len(wrong)} of {wanted.size} values are right; the first wrong one is "
            f"{first}{place}.",
        )

    def _near(self, found: np.ndarray, wanted: np.ndarray) -> bool:
        if found.shape != wanted.shape or (found.dtype.kind == "b") != (wanted.dtype.kind == "b"):
            return False
        return bool(np.allclose(found, wanted, rtol=0, atol=self.tolerance, equal_nan=True))


@dataclass(frozen=True)
class Choice:
    """Asks for one of a few words.

    Attributes:
        value: the right one.
        options: all of them.
        mistakes: one for each of the others.
        right: feedback on a right answer.
    """

    value: str
    options: Sequence[str]
    mistakes: Sequence[Mistake]
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare, ignoring case and surrounding spaces."""
        options = ", ".join(f'"{option}"' for option in self.options)
        if not isinstance(answer, str):
            raise UnusableError(f"Answer with one of {options}; this is {describe_type(answer)}.")
        given = answer.strip().casefold()
        if given == self.value.casefold():
            return Check(True, self.right)
        for mistake in self.mistakes:
            if given == mistake.answer.casefold():
                return Check(False, mistake.message)
        return Check(False, f"Answer with one of {options}.")


@dataclass(frozen=True)
class Function:
    """Asks for a function, which is compared with a reference on random inputs.

    Attributes:
        reference: a correct implementation.
        inputs: draws the arguments of one call from a random generator.
        mistakes: likely wrong functions.
        tolerance: relative and absolute.
        right: feedback on a right answer.
        forbidden: names that the exercise's text rules out, such as ``"softmax"``, each with what is said
            to an answer that uses it, whether its results are right or wrong; see `forbidden_name`.
    """

    reference: Callable[..., Any]
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-4
    right: str = ""
    forbidden: Mapping[str, str] = field(default_factory=dict)

    def check(self, answer: Any) -> Check:
        """Compare with the reference, then with the likely wrong functions."""
        if not callable(answer):
            raise UnusableError(
                f"Give the function itself, without calling it; this is {describe_type(answer)}."
            )
        rng = np.random.default_rng(0)
        draws = [self.inputs(rng) for _ in range(_N_DRAWS)]
        found = call_each(answer, draws)
        wanted = call_each(self.reference, draws)  # after it, so that it can't be looked up
        if found and found[0] is ...:
            return unanswered("The function still returns the three dots: write its body.")
        if name := forbidden_name(answer, self.forbidden):
            return Check(False, self.forbidden[name])
        if self._agree(found, wanted):
            return Check(True, self.right)
        difference = self._difference(answer, draws, found, wanted)
        for mistake in self.mistakes:
            if self._agree(found, call_each(mistake.answer, draws)):
                return Check(False, mistake.message, symptom=difference)
        if any(self._agree(found, [rounded(each, n) for each in wanted]) for n in range(1, 5)):
            return Check(False, ROUNDED_RESULT)
        return Check(False, difference)

    def _agree(self, some: list[Any], others: list[Any]) -> bool:
        return len(some) == len(others) and all(
            all_close(one, other, self.tolerance) for one, other in zip(some, others, strict=True)
        )

    def _difference(
        self, answer: Callable[..., Any], draws: list[Any], found: list[Any], wanted: list[Any]
    ) -> str:
        """Describe the first call whose result differs from the reference's."""
        at = next(
            number
            for number, both in enumerate(zip(found, wanted, strict=False))
            if not all_close(*both, self.tolerance)
        )
        if isinstance(found[at], TimeoutError):
            return NO_END
        if isinstance(found[at], MemoryError):
            return TOO_LARGE
        given = dict(zip(inspect.signature(self.reference).parameters, draws[at], strict=False))
        called, shapes = _call(getattr(answer, "__name__", "it"), given)
        return describe_difference(called, found[at], wanted[at], self.tolerance) + shapes


def _call(name: str, given: Mapping[str, Any]) -> tuple[str, str]:
    """Return a call as text and, where its arguments are too long to read, their shapes in a sentence."""
    called = f"{name}({', '.join(f'{one}={format_value(value)}' for one, value in given.items())})"
    if len(called) <= _LONGEST_CALL:
        return called, ""
    shapes = [f"{one} {tuple(value.shape)}" for one, value in given.items() if hasattr(value, "shape")]
    return f"{name}({', '.join(given)})", f" The shapes: {', '.join(shapes)}." if shapes else ""


@dataclass(frozen=True)
class CustomCheck:
    """Asks for something that only a function of its own can check.

    Attributes:
        judge: returns the `Check` of an answer.
        right_answer: an answer that passes, or a function that computes it.
        mistakes: wrong answers, with the message that `judge` gives each.
        choices: where the answer is a view, the traits that `judge` reads, each with all its values: so
            a page can hold what is said of every choice.
    """

    judge: Callable[[Any], Check]
    right_answer: Any = None
    mistakes: Sequence[Mistake] = ()
    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def check(self, answer: Any) -> Check:
        """Call `judge`."""
        return self.judge(answer)
