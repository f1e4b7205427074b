"""Exercises of lesson 11, Decoding: a text's log-probability, beam search, the length penalty."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number

#: Of *la*, *maestra* after it, *duerme* and ``<eos>``, in the grammar's translations of *the teacher sleeps*.
_LA_MAESTRA_DUERME = (0.45, 0.956, 1.0, 1.0)
_NATS = sum(math.log(each) for each in _LA_MAESTRA_DUERME)
_EOS = 2
_GAPS = """\
def beam_search(model, source, width, n_tokens=20):
    beam, finished = [([1], 0.0)], []
    for _ in range(n_tokens):
        extended = []
        for ids, log_prob in beam:
            logits = model(source, torch.tensor([ids]))[0, -1]
            values, tokens = logits.log_softmax(-1).topk(width)
            for value, token in zip(values.tolist(), tokens.tolist()):
                extended.append(([*ids, token], ___))
        best = sorted(extended, key=lambda text: text[1], reverse=True)[___]
        finished += [text for text in best if text[0][-1] == 2]
        beam = [text for text in best if ___]
        if not beam or len(finished) >= width:
            break
    return max(finished or beam, key=lambda text: ___)[0]"""


@dataclass(frozen=True)
class _Model:
    """A small model: the logits of the next token depend on the last one and on the position."""

    logits: Any = field(repr=False)  # [position, token, next token]

    def __call__(self, source: Any, target: Any) -> Any:
        """Return logits [1, target, vocabulary]."""
        import torch

        at = torch.arange(target.shape[1]).clamp(max=len(self.logits) - 1)
        return self.logits[at, target]  # [1, target, vocabulary]


def _searches(rng: np.random.Generator) -> tuple[Any, Any, int]:
    """Draw a model, a source and a beam width; `<eos>` becomes more probable at each position."""
    import torch

    logits = rng.normal(scale=1.5, size=(5, 7, 7))
    logits[:, :, :_EOS] = -20  # neither padding nor <sos>
    logits[:, :, _EOS] += np.arange(5)[:, None] - 1.5
    model = _Model(torch.tensor(logits, dtype=torch.float32))
    return model, torch.tensor([[3, 4, 2]]), int(rng.integers(2, 5))


def _variant(
    *,
    beam: int | None = None,
    total: bool = True,
    reverse: bool = True,
    result: Callable[[list[Any], list[Any]], Any] | None = None,
) -> Callable[..., Any]:
    """Return a beam search with one mistake."""

    def search(model: Any, source: Any, width: int, n_tokens: int = 20) -> Any:
        import torch

        width = beam or width
        kept: list[Any] = [([1], 0.0)]
        finished: list[Any] = []
        for _ in range(n_tokens):
            extended = []
            for ids, log_prob in kept:
                logits = model(source, torch.tensor([ids]))[0, -1]
                values, tokens = logits.log_softmax(-1).topk(width)
                before = log_prob if total else 0.0
                pairs = zip(values.tolist(), tokens.tolist(), strict=True)
                extended += [([*ids, token], before + value) for value, token in pairs]
            best = sorted(extended, key=lambda text: text[1], reverse=reverse)[:width]
            finished += [text for text in best if text[0][-1] == _EOS]
            kept = [text for text in best if text[0][-1] != _EOS]
            if not kept or len(finished) >= width:
                break
        if result is not None:
            return result(finished, kept)
        return max(finished or kept, key=lambda text: text[1])[0]

    return search


def _texts(rng: np.random.Generator) -> tuple[float, int, float]:
    """Draw a text's log-probability, its number of words, and a penalty."""
    return float(-rng.uniform(0.5, 15)), int(rng.integers(1, 20)), float(rng.uniform(0.2, 2.0))


def _score(log_prob: float, n_words: int, penalty: float) -> float:
    return log_prob / ((5 + n_words + 1) / 6) ** penalty


EXERCISES = (
    Exercise(
        "11.1",
        "Compute the log-probability of a text",
        Number(
            _NATS,
            (
                Mistake(
                    math.exp(_NATS),
                    "That is the probability, the product of the four. Take its natural logarithm.",
                ),
                Mistake(
                    math.log(_LA_MAESTRA_DUERME[0]),
                    "That is la alone. The probability of maestra after it counts too.",
                ),
                Mistake(
                    math.log(_LA_MAESTRA_DUERME[1]),
                    "You left out the first word: the text begins with la, which has probability 0.45.",
                ),
                Mistake(
                    _NATS / 4,
                    "That is the mean of the four logarithms. The logarithm of a product is their sum.",
                ),
                Mistake(
                    _NATS / 2,
                    "That is the mean of two logarithms. The logarithm of a product is their sum.",
                ),
                Mistake(
                    -_NATS,
                    "The size is right, but the sign isn't: a probability below 1 has a logarithm below 0.",
                ),
                Mistake(
                    _NATS / math.log(2),
                    "That is in bits, the logarithm to base 2. Nats use the natural logarithm, math.log.",
                ),
                Mistake(
                    _NATS / math.log(10),
                    "You took the logarithm to base 10. Nats use the natural logarithm, math.log.",
                ),
                Mistake(
                    0.45 + 0.956,
                    "You added the probabilities. Add their logarithms: math.log(0.45), and so on.",
                ),
                Mistake(
                    math.log(0.55) + math.log(0.956),
                    "You began with el, which has probability 0.55. This text begins with la.",
                ),
                Mistake(
                    math.log(sum(_LA_MAESTRA_DUERME)),
                    "You added the probabilities. For one word and then the next, multiply them.",
                ),
            ),
            unit="nats",
            right="As a probability that is 0.43.",
        ),
        (
            "import math, and math.log(0.45) is the first number to add. The logarithm of 1 is 0.",
            "The sum is between -0.8 and -0.9.",
        ),
    ),
    Exercise(
        "11.2",
        "Write beam search",
        Function(
            lent.beam_search,
            _searches,
            (
                Mistake(
                    _variant(beam=1),
                    "This is greedy search, whatever the width. Keep the first `width` extensions.",
                ),
                Mistake(
                    _variant(total=False),
                    "An extension has only the log-probability of its last token. Add that of its beginning: "
                    "log_prob + value.",
                ),
                Mistake(
                    _variant(reverse=False),
                    "You keep the least probable extensions. Sort from the largest log-probability down.",
                ),
                Mistake(
                    _variant(result=lambda finished, kept: (finished or kept)[0][0]),
                    "You return the text that was finished first. Return the one with the largest "
                    "log-probability: max with a key.",
                ),
                Mistake(
                    _variant(result=lambda finished, kept: max(finished or kept, key=lambda text: text[1])),
                    "You return the pair of ids and log-probability. Return the ids alone.",
                ),
            ),
            right="With a width of 1, this is greedy search.",
        ),
        (
            "An extension is ([*ids, token], log_prob + value). best[:width] is the beginning of a list.",
            "finished += [text for text in best if text[0][-1] == 2], and the beam has the others. "
            "Return max(finished or beam, key=lambda text: text[1])[0].",
        ),
        part="beam_search",
        lines=_GAPS,
        gaps=(
            Choice(
                "log_prob + value",
                ("value", "log_prob + value", "log_prob * value"),
                (
                    Mistake("value", "The log-probability of the beginning counts too."),
                    Mistake("log_prob * value", "Probabilities are multiplied; their logarithms are added."),
                ),
            ),
            Choice(
                ":width",
                (":width", "-width:", ":1"),
                (
                    Mistake("-width:", "The list is sorted from the largest down: keep its beginning."),
                    Mistake(":1", "That is greedy search: it keeps one beginning."),
                ),
            ),
            Choice(
                "text[0][-1] != 2",
                ("text[0][-1] == 2", "text[0][-1] != 2"),
                (Mistake("text[0][-1] == 2", "Those are finished. The beam has the others."),),
            ),
            Choice(
                "text[1]",
                ("text[0]", "text[1]", "len(text[0])"),
                (
                    Mistake("text[0]", "Those are the ids. The log-probability is text[1]."),
                    Mistake("len(text[0])", "That is the longest text, not the most probable."),
                ),
            ),
        ),
    ),
    Exercise(
        "11.3",
        "Write the score",
        Function(
            _score,
            _texts,
            (
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((5 + n_words) / 6) ** penalty,
                    "You counted only the words. <eos> is a token too, so n is one more.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob * ((6 + n_words) / 6) ** penalty,
                    "You multiplied by the norm, so longer texts lose even more. Divide.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((6 + n_words) / 6 * penalty),
                    "You multiplied by the penalty. It is an exponent: ** penalty.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / ((6 + n_words) / 6),
                    "Your function ignores the penalty: it is the exponent of the norm.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (n_words + 1) ** penalty,
                    "That is another norm, n to the power of the penalty, as in Hugging Face's "
                    "library. Here the base is (5 + n) / 6.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (5 + (n_words + 1) / 6) ** penalty,
                    "You divided only n by 6. The formula divides the whole of 5 + n.",
                ),
                Mistake(
                    lambda log_prob, n_words, penalty: log_prob / (6 + n_words) / 6**penalty,
                    "The power belongs to the whole fraction (5 + n) / 6. Put it in brackets "
                    "before ** penalty.",
                ),
            ),
            right="Even an empty text has n = 1, and its norm is 1.",
        ),
        (
            "n = n_words + 1.",
            "Divide log_prob by ((5 + n) / 6) ** penalty.",
        ),
        lines="""def score(log_prob, n_words, penalty):
    n = ___
    return log_prob / ___
""",
        gaps=(
            Choice(
                "n_words + 1",
                ("n_words", "n_words + 1"),
                (Mistake("n_words", "<eos> is a token too, so n is one more than the number of words."),),
            ),
            Choice(
                "((5 + n) / 6) ** penalty",
                ("((5 + n) / 6) ** penalty", "((5 + n) / 6 * penalty)", "(5 + n) / 6 ** penalty"),
                (
                    Mistake("((5 + n) / 6 * penalty)", "The penalty is an exponent: ** penalty."),
                    Mistake("(5 + n) / 6 ** penalty", "The power belongs to the whole fraction (5 + n) / 6."),
                ),
            ),
        ),
    ),
)
