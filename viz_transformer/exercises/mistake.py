"""A likely mistake, and what to tell who makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """A likely wrong answer.

    Attributes:
        answer: the wrong answer itself; for a number or an array also a function that computes it.
        message: what is told to whoever gives it: what they did, and what to look at.
    """

    answer: Any
    message: str
