"""How texts of different lengths compare: exercises 11.4 and 11.5."""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.exercises.kinds import Exercise, Function, Mistake


def _texts(rng: np.random.Generator) -> tuple[float, int, float]:
    """Draw a text's log-probability, its number of words, and a penalty."""
    return float(-rng.uniform(0.5, 15)), int(rng.integers(1, 20)), float(rng.uniform(0.2, 2.0))


def _score(log_prob: float, n_words: int, penalty: float) -> float:
    return log_prob / ((5 + n_words + 1) / 6) ** penalty


def _two_texts(rng: np.random.Generator) -> tuple[float, int, float, int]:
    """Draw a short text and a longer, less probable one."""
    log_prob, n_words = float(-rng.uniform(0.5, 6)), int(rng.integers(1, 10))
    longer = log_prob * float(rng.uniform(1.05, 2.5))
    return log_prob, n_words, longer, n_words + int(rng.integers(1, 8))


def _tie(log_prob: float, n_words: int, longer_log_prob: float, longer_n_words: int) -> float:
    return math.log(longer_log_prob / log_prob) / math.log((6 + longer_n_words) / (6 + n_words))


SCORES = (
    Exercise(
        "11.4",
        "The score",
        Function(
            _score,
            _texts,
            (
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((5 + n_words) / 6) ** penalty,
                    "You counted the words alone. <eos> is a token of the text, too: n is one more.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob * ((6 + n_words) / 6) ** penalty,
                    "You multiplied by the norm, so that longer texts lose even more. Divide.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((6 + n_words) / 6 * penalty),
                    "You multiplied by the penalty. It is an exponent: ** penalty.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((6 + n_words) / 6),
                    "The penalty does nothing in your function: it is the exponent of the norm.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (n_words + 1) ** penalty,
                    "That is another norm, n to the power of the penalty, as some libraries have "
                    "it. Here the base is (5 + n) / 6.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (5 + (n_words + 1) / 6) ** penalty,
                    "Only n was divided by 6. In the formula the whole of 5 + n is.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (6 + n_words) / 6**penalty,
                    "The power belongs to the whole fraction (5 + n) / 6. Put it in brackets "
                    "before ** penalty.",
                ),
            ),
            right="A text of no words at all has n = 1, and its norm is 1.",
        ),
        (
            "n = n_words + 1.",
            "Divide log_prob by ((5 + n) / 6) ** penalty.",
        ),
    ),
    Exercise(
        "11.5",
        "Where two texts tie",
        Function(
            _tie,
            _two_texts,
            (
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        math.log(longer_log_prob / log_prob) / math.log((5 + longer_n_words) / (5 + n_words))
                    ),
                    "Nearly: you counted the words alone. <eos> is a token of each text, too.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        -_tie(log_prob, n_words, longer_log_prob, longer_n_words)
                    ),
                    "The size is right, the sign is not: one of the two fractions is upside down.",
                ),
                Mistake(
                    lambda log_prob, n_words, longer_log_prob, longer_n_words: (
                        longer_log_prob / log_prob / ((6 + longer_n_words) / (6 + n_words))
                    ),
                    "You divided the two ratios. The penalty stands in an exponent: to bring it "
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
                    "Your fraction is upside down: the log-probabilities stand above, the lengths below.",
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
            "Set the two scores equal. The 6 falls away, and what is left is a ratio of the "
            "log-probabilities, and a ratio of the (5 + n), to the power of the penalty.",
            "If a = b ** x, then x = math.log(a) / math.log(b).",
        ),
    ),
)
