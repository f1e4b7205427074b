"""Exercises of the notebook that goes further on decoding: the cache, a pruned candidate, a tie, top-p."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number

_STEPS = 20


def _two_texts(rng: np.random.Generator) -> tuple[float, int, float, int]:
    """Draw a short text and a longer, less probable one."""
    log_prob, n_words = float(-rng.uniform(0.5, 6)), int(rng.integers(1, 10))
    longer = log_prob * float(rng.uniform(1.05, 2.5))
    return log_prob, n_words, longer, n_words + int(rng.integers(1, 8))


def _tie(log_prob: float, n_words: int, longer_log_prob: float, longer_n_words: int) -> float:
    return math.log(longer_log_prob / log_prob) / math.log((6 + longer_n_words) / (6 + n_words))


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


EXERCISES = (
    Exercise(
        "decoding.1",
        "Count what the cache saves",
        Number(
            _STEPS * (_STEPS + 1) / 2,
            (
                Mistake(
                    _STEPS**2,
                    "You counted 20 positions in every step. Step 1 has only one.",
                ),
                Mistake(
                    _STEPS * (_STEPS - 1) / 2,
                    "You started with a step that reads no token. Step 1 reads <sos>, and step 20 reads "
                    "20 tokens.",
                ),
                Mistake(
                    _STEPS,
                    "That is with the cache. Without it, step 2 computes position 1 again.",
                ),
            ),
            tolerance=1e-6,
            unit="positions",
            right="About ten times as many. With 200 steps it would be about a hundred times as many.",
        ),
        (
            "Step 1 computes 1 position, step 2 computes 2, step 3 computes 3. Add them all up.",
            "sum(range(1, 21)) adds the numbers from 1 to 20.",
        ),
    ),
    Exercise(
        "decoding.2",
        "Measure how close a pruned candidate was",
        Number(
            0.229,
            (
                Mistake(
                    -0.814,
                    "That is the log-probability of la itself. How far is it behind the last candidate "
                    "that was kept?",
                ),
                Mistake(
                    0.331,
                    "That is maestro in step 2, where la maestra is already pruned: look at step 1.",
                ),
                Mistake(
                    10.95,
                    "That is a candidate of the search with width 2. Set the width to 1, and look at la.",
                ),
                Mistake(
                    0.114,
                    "You took the difference of the probabilities. The search ranks by "
                    "log-probability: subtract those.",
                ),
                Mistake(
                    0.443,
                    "That is the probability of la. Choose the candidate in the view and read why it "
                    "was pruned.",
                ),
                Mistake(
                    -0.229,
                    "The number is right, but a distance is never negative: leave out the minus sign.",
                ),
            ),
            tolerance=0.02,
            unit="nats",
            right="la is 0.23 nats behind the last candidate kept (0.20 in the grammar itself). A pruned "
            "text never comes back, however small the difference.",
        ),
        (
            "In the view, set the beam width to 1, go to step 1, and choose the la that is marked as pruned.",
            "In Python: search.beam_width = 1; each candidate has token, status, reason and margin.",
        ),
    ),
    Exercise(
        "decoding.3",
        "Find where two texts tie",
        Function(
            _tie,
            _two_texts,
            (
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        math.log(longer_log_prob / log_prob) / math.log((5 + longer_n_words) / (5 + n_words))
                    ),
                    "Nearly: you counted only the words. <eos> is a token of each text too.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        -_tie(log_prob, n_words, longer_log_prob, longer_n_words)
                    ),
                    "The size is right, but the sign isn't: one of the two fractions is inverted.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        longer_log_prob / log_prob / ((6 + longer_n_words) / (6 + n_words))
                    ),
                    "You divided the two ratios. The penalty is an exponent: to bring it "
                    "down, take the logarithm of both sides first.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        math.log(longer_log_prob / log_prob) / math.log((1 + longer_n_words) / (1 + n_words))
                    ),
                    "The 5 of the norm is missing: its base is (5 + n) / 6.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        1 / _tie(log_prob, n_words, longer_log_prob, longer_n_words)
                    ),
                    "Your fraction is inverted: the log-probabilities belong in the numerator, the "
                    "lengths in the denominator.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        (log_prob - longer_log_prob) / math.log((6 + longer_n_words) / (6 + n_words))
                    ),
                    "You took the difference of the log-probabilities. The scores are equal when "
                    "their *ratio* is that of the norms.",
                ),
            ),
            right="For buenos and buenos dias it is 0.27, which is why 0.6 was enough there and "
            "not for hola mundo.",
        ),
        (
            "Set the two scores equal. The 6 cancels, which leaves a ratio of log-probabilities "
            "on one side and a ratio of (5 + n), to the power of the penalty, on the other.",
            "If a = b ** x, then x = math.log(a) / math.log(b).",
        ),
        lines="""def tie(log_prob, n_words, longer_log_prob, longer_n_words):
    ratio = ___
    lengths = ___
    return ___
""",
        gaps=(
            Choice(
                "longer_log_prob / log_prob",
                ("longer_log_prob - log_prob", "longer_log_prob / log_prob"),
                (
                    Mistake(
                        "longer_log_prob - log_prob",
                        "That is the difference. The scores are equal when the *ratio* of the "
                        "log-probabilities "
                        "is that of the norms.",
                    ),
                ),
            ),
            Choice(
                "(6 + longer_n_words) / (6 + n_words)",
                (
                    "(1 + longer_n_words) / (1 + n_words)",
                    "(5 + longer_n_words) / (5 + n_words)",
                    "(6 + longer_n_words) / (6 + n_words)",
                ),
                (
                    Mistake(
                        "(1 + longer_n_words) / (1 + n_words)",
                        "The 5 of the norm is missing: its base is (5 + n) / 6.",
                    ),
                    Mistake(
                        "(5 + longer_n_words) / (5 + n_words)",
                        "That counts only the words. <eos> is a token of each text too.",
                    ),
                ),
            ),
            Choice(
                "math.log(ratio) / math.log(lengths)",
                (
                    "ratio / lengths",
                    "math.log(lengths) / math.log(ratio)",
                    "math.log(ratio) / math.log(lengths)",
                ),
                (
                    Mistake(
                        "ratio / lengths",
                        "The penalty is an exponent: to bring it down, take the logarithm of both sides "
                        "first.",
                    ),
                    Mistake(
                        "math.log(lengths) / math.log(ratio)",
                        "The fraction is inverted: the log-probabilities belong in the numerator, the "
                        "lengths in the denominator.",
                    ),
                ),
            ),
        ),
    ),
    Exercise(
        "decoding.4",
        "Write the top-p filter",
        Function(
            _keep_top_p,
            _distributions,
            (
                Mistake(
                    _without_crossing,
                    "You dropped the word that reaches p. Keep it: without it the rest has less than p, "
                    "and if the first word has more than p, no word is left.",
                ),
                Mistake(
                    _kept,
                    "You kept the right words, but they no longer sum to 1. Divide by their sum.",
                ),
                Mistake(
                    _sorted_top_p,
                    "The numbers are right but sorted by size. Put each back in the position of "
                    "its word in the vocabulary.",
                ),
                Mistake(
                    _each_at_least,
                    "You kept words that each have p or more. Their sum must reach p.",
                ),
                Mistake(
                    _softmaxed,
                    "You took a softmax of the rest, so the dropped words get probabilities again. These "
                    "are probabilities already: divide by their sum.",
                ),
                Mistake(
                    _unsorted,
                    "You added in the order of the vocabulary. The most probable words come first: sort "
                    "before you add.",
                ),
                Mistake(
                    lambda probabilities, p: (
                        _kept(probabilities, p)[_kept(probabilities, p) > 0] / _kept(probabilities, p).sum()
                    ),
                    "You returned only the words that are kept. Return one value for every word of the "
                    "vocabulary, 0 where it is dropped.",
                ),
                Mistake(
                    lambda probabilities, p: probabilities,
                    "No word was dropped: these are the given probabilities.",
                ),
            ),
            right="Top-p keeps few words where one has a high probability, and many where none has. Top-k "
            "always keeps the same number.",
        ),
        (
            "probabilities.sort(descending=True) returns the values and the positions that they "
            "came from; values.cumsum(0) adds them up.",
            "Keep a word if those before it have not reached p: values.cumsum(0) - values < p. "
            "Write the kept ones into zeros at their positions, and divide by the sum.",
        ),
        lines="""def keep_top_p(probabilities, p):
    values, positions = probabilities.sort(___)
    before = values.cumsum(0) - values
    kept = values * (___)
    return torch.zeros_like(probabilities).scatter(0, positions, ___)
""",
        gaps=(
            Choice(
                "descending=True",
                ("descending=False", "descending=True"),
                (
                    Mistake(
                        "descending=False", "The most probable words come first: that is the least probable."
                    ),
                ),
            ),
            Choice(
                "before < p",
                ("before < p", "before + values < p", "values >= p"),
                (
                    Mistake(
                        "before + values < p",
                        "This drops the word that reaches p. Keep it: without it the rest has less than p.",
                    ),
                    Mistake(
                        "values >= p",
                        "This keeps words that each have p or more. Their sum must reach p.",
                    ),
                ),
            ),
            Choice(
                "kept / kept.sum()",
                ("kept", "kept.softmax(0)", "kept / kept.sum()"),
                (
                    Mistake(
                        "kept", "These are the right words, but they no longer sum to 1. Divide by their sum."
                    ),
                    Mistake(
                        "kept.softmax(0)",
                        "A softmax brings the dropped words back. These are probabilities already: divide by "
                        "their sum.",
                    ),
                ),
            ),
        ),
    ),
)
