"""Feedback on an answer: whether it is right, and why."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """Feedback on an answer.

    >>> import viz_transformer as vt
    >>> vt.exercises.Check(passed=True, message="Right.").passed
    True

    Attributes:
        passed: whether it is right.
        message: what the answer shows, or what to look at.
        answered: whether an answer was given at all.
        symptom: which test a wrong answer fails, without the reason; empty where there are no tests.
    """

    passed: bool
    message: str
    answered: bool = True
    symptom: str = ""

    def __bool__(self) -> bool:
        """Return whether the answer is right."""
        return self.passed

    @property
    def verdict(self) -> str:
        """The result in two or three words."""
        if not self.answered:
            return "Not answered yet."
        return "Right." if self.passed else "Not yet."

    def __str__(self) -> str:
        """Return verdict and message as text."""
        return f"{self.verdict} {self.message}".strip()

    def _repr_html_(self) -> str:
        if not self.answered:
            mark, colour = "", "--jp-border-color1, #9e9e9e"
        elif self.passed:
            mark, colour = "✓", "--jp-success-color1, #388e3c"
        else:
            mark, colour = "✗", "--jp-error-color1, #d32f2f"
        sign = f'<b style="color: var({colour})">{mark}</b> ' if mark else ""
        return (
            f'<div role="status" style="border-left: 4px solid var({colour}); padding: 4px 12px">'
            f"{sign}<b>{self.verdict}</b> {html.escape(self.message)}</div>"
        )


def unanswered(what: str) -> Check:
    """Return feedback where no answer was given; `what` says what to do."""
    return Check(False, what, answered=False)
