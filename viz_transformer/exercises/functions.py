"""Exercises whose answer is a function: it is run on draws that the learner does not see."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz_transformer.exercises.answers import (
    UnusableError,
    difference,
    named,
    outcome,
    same,
    shown,
)
from viz_transformer.exercises.mistake import Mistake
from viz_transformer.exercises.verdict import Check, unanswered

_DRAWS = 20


@dataclass(frozen=True)
class Function:
    """A function is asked for.

    Attributes:
        reference: a right one.
        inputs: returns the arguments of one call, drawn with the generator that it is given.
        mistakes: wrong functions that are likely instead.
        tolerance: relative and absolute.
        right: told with a right answer.
    """

    reference: Callable[..., Any]
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-4
    right: str = ""

    def check(self, answer: Any) -> Check:
        """Compare it with the right one, and then with those that are likely instead."""
        if not callable(answer):
            raise UnusableError(f"Give the function itself, without calling it; this is {named(answer)}.")
        rng = np.random.default_rng(0)
        draws = [self.inputs(rng) for _ in range(_DRAWS)]
        wanted = outcome(self.reference, draws)
        found = outcome(answer, draws)
        if found and found[0] is ...:
            return unanswered("The function still returns the three dots: write what it is to do.")
        if self._agree(found, wanted):
            return Check(True, self.right)
        for mistake in self.mistakes:
            if self._agree(found, outcome(mistake.answer, draws)):
                return Check(False, mistake.message)
        return Check(False, self._difference(answer, draws, found, wanted))

    def _agree(self, some: list[Any], others: list[Any]) -> bool:
        return len(some) == len(others) and all(
            same(one, other, self.tolerance) for one, other in zip(some, others, strict=True)
        )

    def _difference(
        self, answer: Callable[..., Any], draws: list[Any], found: list[Any], wanted: list[Any]
    ) -> str:
        """Say what came out the first time that it was not what is asked for."""
        at = next(
            number
            for number, both in enumerate(zip(found, wanted, strict=False))
            if not same(*both, self.tolerance)
        )
        if isinstance(found[at], TimeoutError):
            return "It did not come to an end: is there a loop that never stops?"
        called = f"{getattr(answer, '__name__', 'it')}({_arguments(self.reference, draws[at])})"
        return difference(called, found[at], wanted[at], self.tolerance)


def _arguments(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    names = list(inspect.signature(function).parameters)
    return ", ".join(f"{name}={shown(value)}" for name, value in zip(names, arguments, strict=False))
