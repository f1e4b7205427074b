"""Exercises of lesson 11, Decoding: the cache, a text's log-probability, length penalty, top-p."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, Number

# -- 11.1 to 11.3: the cache, the log-probability of a text, a text that the beam misses -----------

_STEPS = 20
#: Of *buenos*, *dias* after it, and ``<eos>`` after both, by the half-trained model.
_BUENOS_DIAS = (0.633, 0.220, 0.746)
_NATS = sum(math.log(each) for each in _BUENOS_DIAS)

_SEARCH = (
    Exercise(
        "11.1",
        "What the cache saves",
        Number(
            _STEPS * (_STEPS + 1) / 2,
            (
                Mistake(
                    _STEPS**2,
                    "You counted 20 words in each of the 20 steps. In step 1 there is only one.",
                ),
                Mistake(
                    _STEPS * (_STEPS - 1) / 2,
                    "You began with a step that reads nothing. Step 1 reads <sos>, and step 20 "
                    "reads 20 tokens.",
                ),
                Mistake(
                    _STEPS,
                    "That is with the cache. Without it, step 2 reads its first word once more.",
                ),
            ),
            tolerance=1e-6,
            unit="positions",
            right="Ten times as many. With 200 steps it would be a hundred times as many.",
        ),
        (
            "Step 1 reads 1 word, step 2 reads 2, step 3 reads 3. Add them all up.",
            "sum(range(1, 21)) adds the numbers from 1 to 20.",
        ),
    ),
    Exercise(
        "11.2",
        "The log-probability of a text",
        Number(
            _NATS,
            (
                Mistake(
                    math.exp(_NATS),
                    "That is the probability, the product of the three. Its natural logarithm is asked for.",
                ),
                Mistake(
                    _NATS - math.log(_BUENOS_DIAS[2]),
                    "You left out <eos>. So far the text has only begun with buenos dias; it must "
                    "also end there.",
                ),
                Mistake(
                    _NATS / 3,
                    "That is the mean of the three logarithms. The logarithm of a product is their sum.",
                ),
                Mistake(
                    -_NATS,
                    "The size is right. A probability is below 1, so its logarithm is below 0.",
                ),
                Mistake(
                    _NATS / math.log(2),
                    "You took the logarithm to base 2. Nats need the natural one, math.log.",
                ),
                Mistake(
                    _NATS / math.log(10),
                    "You took the logarithm to base 10. Nats need the natural one, math.log.",
                ),
                Mistake(
                    math.log(sum(_BUENOS_DIAS)),
                    "You added the probabilities. One word *and* then the next: they are multiplied.",
                ),
            ),
            unit="nats",
            right="As a probability that is 0.104: about one in ten.",
        ),
        (
            "import math, and math.log(0.633) is the first of three numbers to add.",
            "The sum is between -2 and -3.",
        ),
    ),
    Exercise(
        "11.3",
        "A text that is missed",
        Number(
            0.211,
            (
                Mistake(
                    0.744,
                    "That is how far it is behind the first candidate. With a width of 2, the "
                    "second may end as well: look at the last that may.",
                ),
                Mistake(
                    -2.184,
                    "That is the log-probability of the candidate itself. How far is it behind the "
                    "last candidate that may end there?",
                ),
                Mistake(
                    0.178,
                    "That is the probability of <eos> after buenos. Choose the candidate in the "
                    "view, and read why it was pruned.",
                ),
                Mistake(
                    0.632,
                    "That is a candidate of the search with width 3: dias <eos>. Set the width to "
                    "2, and look at the <eos> after buenos.",
                ),
                Mistake(
                    -0.211,
                    "The number is right, and it is a distance: it has no sign.",
                ),
            ),
            tolerance=0.04,
            unit="nats",
            right="It misses the beam by 0.21 nats. In a search it takes little to be lost for good.",
        ),
        (
            "In the view, set the beam width to 2, go to step 2, and choose the <eos> that is "
            "marked as pruned.",
            "In Python: search.beam_width = 2; each candidate has token, status, reason and margin.",
        ),
    ),
)

# -- 11.4 and 11.5: the length penalty -------------------------------------------------------------


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


_LENGTH_PENALTY = (
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

# -- 11.6: top-p -----------------------------------------------------------------------------------


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


_SAMPLING = (
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

EXERCISES = (*_SEARCH, *_LENGTH_PENALTY, *_SAMPLING)
