"""Hidden tests: the properties of a repaired excerpt, however it was repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import nn

from viz_transformer.exercises.answer_types import Mistake
from viz_transformer.exercises.clinic.checks import CLOSE, build_module
from viz_transformer.exercises.comparison import UnusableError, all_close, describe_type, first_line
from viz_transformer.exercises.feedback import Check
from viz_transformer.exercises.sandbox import NO_END, call_each


class Property(NamedTuple):
    """One hidden test.

    Attributes:
        name: what must hold, in a few words.
        holds: whether an answer has the property; an exception counts as no.
        message: feedback where it does not: what that shows, and where to look.
    """

    name: str
    holds: Callable[[Any], bool]
    message: str

    def full_message(self, message: str = "") -> str:
        """Return the message, or another one in its place, with the name of the test."""
        return f"{message or self.message} (Hidden test: {self.name}.)"


class WrongAnswer(NamedTuple):
    """A likely wrong answer.

    Attributes:
        fails: the name of the first property that it lacks.
        answer: the answer.
        message: replaces the property's own message; empty where that one fits.
    """

    fails: str
    answer: Any
    message: str = ""


@dataclass(frozen=True)
class HiddenTests:
    """Asks for a function or a class that has all the properties.

    Attributes:
        properties: the hidden tests, in the order in which they are run.
        right_answer: an answer that has all of them.
        wrong: wrong answers, first the excerpt as it is handed out.
        right: feedback on a right answer: what follows from it.
        probe: returns what an answer computes, to recognise a wrong answer that has its own message.
    """

    properties: Sequence[Property]
    right_answer: Callable[..., Any]
    wrong: Sequence[WrongAnswer]
    right: str
    probe: Callable[[Any], Any] = id

    @property
    def mistakes(self) -> Sequence[Mistake]:
        """The wrong answers, each with its message.

        They are functions or classes themselves, so each is wrapped in a function that returns it.
        """
        by_name = {each.name: each for each in self.properties}
        return [
            Mistake(partial(_return, one.answer), by_name[one.fails].full_message(one.message))
            for one in self.wrong
        ]

    def check(self, answer: Any) -> Check:
        """Run the hidden tests; the first that fails gives the message."""
        if not callable(answer):
            raise UnusableError(
                f"Give the function or the class itself, without calling it; this is {describe_type(answer)}."
            )
        _warm_up()
        for each in self.properties:
            *_, found = call_each(partial(each.holds, answer), [()])
            if isinstance(found, TimeoutError):
                return Check(False, NO_END)
            if isinstance(found, Exception):
                raised = f"it raised {type(found).__name__}: {first_line(found)}"
                return Check(False, f"In the hidden test “{each.name}” {raised}.")
            if not found:
                symptom = f"This hidden test fails: {each.name}."
                return Check(False, self._message(each, answer), symptom=symptom)
        passed = ", ".join(each.name for each in self.properties)
        return Check(True, f"{self.right} All {len(self.properties)} hidden tests pass: {passed}.")

    def _message(self, failed: Property, answer: Any) -> str:
        """Return the message of the likely mistake that this answer is, or the property's own."""
        for one in self.wrong:
            if one.message and one.fails == failed.name and _alike(self.probe, answer, one.answer):
                return failed.full_message(one.message)
        return failed.full_message()


def _return(value: Any) -> Any:
    return value


def _alike(probe: Callable[[Any], Any], answer: Any, other: Any) -> bool:
    found, wanted = (call_each(partial(probe, each), [()]) for each in (answer, other))
    return all_close(found[0], wanted[0], CLOSE)


@cache
def _warm_up() -> None:
    """Let torch import what its attention needs when it is first given a padding mask.

    On a busy machine the import takes longer than a learner's function may. Stopped in the middle of
    it, a function would leave a half-imported module behind, and torch would fail from then on.
    """
    x, mask = torch.zeros(1, 1, 2), torch.zeros(1, 1, dtype=torch.bool)
    build_module(nn.MultiheadAttention, 2, 1)(x, x, x, key_padding_mask=mask)
