"""Predictions: a learner commits to an answer, and only then is the picture shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.labs.guesses import ChoiceGuess, NumberGuess, RowGuess


def predict_number(
    question: str,
    answer: float | Callable[[], float],
    *,
    unit: str = "",
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> NumberGuess:
    """Ask for a number before it is shown. Scored by the factor that the guess is off.

    Args:
        question: what is asked.
        answer: the number, or a function that computes it once a guess was made.
        unit: what it is measured in.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: told with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.
    """
    return NumberGuess(question, answer, unit, reveal=reveal, afterwards=afterwards, name=name)


def predict_choice(
    question: str,
    options: Sequence[str],
    answer: str | Callable[[], str],
    *,
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> ChoiceGuess:
    """Ask for one of a few answers before the right one is shown.

    Args:
        question: what is asked.
        options: what can be answered, each once.
        answer: the right one, or a function that finds it once a guess was made.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: told with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.

    Raises:
        UserError: if there are fewer than two options, or one of them twice.
    """
    if len(set(options)) != len(options) or len(options) < 2:
        raise UserError(f"options are at least two different answers, not {list(options)}")
    return ChoiceGuess(question, options, answer, reveal=reveal, afterwards=afterwards, name=name)


def predict_row(
    question: str,
    labels: Sequence[str],
    weights: Any,
    *,
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> RowGuess:
    """Ask for a row of attention weights, drawn with sliders, before the real one is shown.

    What is drawn is scaled to sum to 1. The score is the weight that both rows share, 0 to 1.

    Args:
        question: what is asked.
        labels: the keys.
        weights: the real row [key], or a function that computes it once a guess was made.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: told with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.
    """
    return RowGuess(question, labels, weights, reveal=reveal, afterwards=afterwards, name=name)
