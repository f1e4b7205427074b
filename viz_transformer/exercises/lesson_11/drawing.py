"""Which words are drawn from: exercise 11.6."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.exercises.kinds import Exercise, Function, Mistake


def _distributions(rng: np.random.Generator) -> tuple[Any, float]:
    """Draw probabilities [vocab], in no order, and a p."""
    import torch

    probabilities = rng.dirichlet(np.full(int(rng.integers(6, 12)), 0.6))
    return torch.tensor(probabilities, dtype=torch.float32), float(rng.uniform(0.3, 0.95))


def _keep_top_p(probabilities: Any, p: float) -> Any:
    kept = _kept(probabilities, p)
    return kept / kept.sum()


def _kept(probabilities: Any, p: float, *, crossing: bool = True) -> Any:
    """Return the probabilities, 0 where left out; with or without the word that reaches p."""
    import torch

    values, order = probabilities.sort(descending=True)
    reached = values.cumsum(0)
    left = (reached - values < p) if crossing else (reached <= p)
    return torch.zeros_like(probabilities).scatter(0, order, values * left)


def _sorted_top_p(probabilities: Any, p: float) -> Any:
    return _keep_top_p(probabilities, p).sort(descending=True).values


def _without_crossing(probabilities: Any, p: float) -> Any:
    kept = _kept(probabilities, p, crossing=False)
    return kept / kept.sum()


def _each_at_least(probabilities: Any, p: float) -> Any:
    kept = probabilities * (probabilities >= p)
    return kept / kept.sum()


def _softmaxed(probabilities: Any, p: float) -> Any:
    return _kept(probabilities, p).softmax(0)


def _unsorted(probabilities: Any, p: float) -> Any:
    kept = probabilities * (probabilities.cumsum(0) - probabilities < p)
    return kept / kept.sum()


DRAWING = (
    Exercise(
        "11.6",
        "Top-p",
        Function(
            _keep_top_p,
            _distributions,
            (
                Mistake(
                    _without_crossing,
                    "You dropped the word with which p is reached. It stays: without it, what is "
                    "left has less than p, and if the first word has more, nothing is left.",
                ),
                Mistake(
                    _kept,
                    "The right words are kept, but they no longer sum to 1. Divide by what is left.",
                ),
                Mistake(
                    _sorted_top_p,
                    "The numbers are right, and they stand in the order of their size. Each must "
                    "stand where its word stands in the vocabulary.",
                ),
                Mistake(
                    _each_at_least,
                    "You kept words that have p each. It is their sum that is to reach p.",
                ),
                Mistake(
                    _softmaxed,
                    "You took a softmax of what is left, so the words that were dropped are back. "
                    "They are probabilities already: divide by their sum.",
                ),
                Mistake(
                    _unsorted,
                    "You added up in the order of the vocabulary. The most probable words come "
                    "first: sort before you add.",
                ),
                Mistake(
                    lambda probabilities, p: probabilities,
                    "Nothing was dropped: these are the probabilities that you were given.",
                ),
            ),
            right="How many words stay depends on how sure the model is. With top-k it is always "
            "the same number.",
        ),
        (
            "probabilities.sort(descending=True) returns the values and the places from which they "
            "come; values.cumsum(0) adds them up.",
            "A word stays if those before it have not reached p: values.cumsum(0) - values < p. "
            "Write the rest into zeros at their places, and divide by the sum.",
        ),
    ),
)
