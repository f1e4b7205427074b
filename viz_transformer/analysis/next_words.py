"""Next-word distributions of a language in which every translation's probability is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from viz_transformer.errors import UserError

#: What follows the last word of a translation.
END = "<eos>"
_TOLERANCE = 1e-6  # how far from 1 the probabilities may sum

#: The translations of one sentence, as tokens, each with its probability.
Translations = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class NextWords:
    """What may follow one beginning of a translation.

    >>> import viz_transformer as vt
    >>> words = vt.analysis.next_words({("el", "gato"): 0.75, ("la", "gata"): 0.25})[0]
    >>> words.prefix, words.words
    ((), {'el': 0.75, 'la': 0.25})

    Attributes:
        prefix: the words so far; empty at the start.
        probability: that a translation begins with them.
        words: the probability of each word that may come next, ``<eos>`` among them; they sum to 1.
    """

    prefix: tuple[str, ...]
    probability: float
    words: dict[str, float]


def next_words(translations: Translations) -> tuple[NextWords, ...]:
    """Return the next-word distribution after every beginning of a translation.

    They are the nodes of the trie of translations, each before those below it. Summed over all of
    them, `probability` is the mean number of tokens of a translation, ``<eos>`` included.

    >>> import viz_transformer as vt
    >>> for each in vt.analysis.next_words({("el", "gato"): 0.75, ("el", "perro"): 0.25}):
    ...     print(each.prefix, each.probability, each.words)
    () 1.0 {'el': 1.0}
    ('el',) 1.0 {'gato': 0.75, 'perro': 0.25}
    ('el', 'gato') 0.75 {'<eos>': 1.0}
    ('el', 'perro') 0.25 {'<eos>': 1.0}

    Args:
        translations: each translation of one sentence, as a tuple of words, with its probability.

    Raises:
        UserError: if the probabilities are negative or do not sum to 1.
    """
    _check(translations)
    totals: dict[tuple[str, ...], dict[str, float]] = {}
    for tokens, probability in translations.items():
        if probability > 0:
            for length, word in enumerate((*tokens, END)):
                following = totals.setdefault(tokens[:length], {})
                following[word] = following.get(word, 0.0) + probability
    nodes = []
    for prefix, following in totals.items():
        total = math.fsum(following.values())
        words = {word: each / total for word, each in following.items()}
        nodes.append(NextWords(prefix, total, words))
    return tuple(nodes)


def modes(translations: Translations) -> frozenset[tuple[str, ...]]:
    """Return the most probable translation; several where they are equally probable.

    >>> import viz_transformer as vt
    >>> vt.analysis.modes({("el", "gato"): 0.75, ("la", "gata"): 0.25})
    frozenset({('el', 'gato')})

    Args:
        translations: the probability of each, as `next_words` takes them.
    """
    highest = max(translations.values())
    return frozenset(
        tokens
        for tokens, probability in translations.items()
        if math.isclose(probability, highest, rel_tol=1e-9)
    )


def entropy_nats(translations: Mapping[Any, float]) -> float:
    """Return how open a sentence's translation is: −Σ p ln p, 0 where there is only one.

    >>> import viz_transformer as vt
    >>> round(vt.analysis.entropy_nats({"el gato": 0.5, "la gata": 0.5}), 3)  # ln 2
    0.693

    Args:
        translations: of one sentence, in any form, each with its probability.

    Raises:
        UserError: as `next_words`.
    """
    _check(translations)
    return max(0.0, -math.fsum(p * math.log(p) for p in translations.values() if p > 0))  # no -0


def lowest_loss(sentences: Iterable[Translations]) -> float:
    """Return the lowest loss that any model can reach on these sentences, in nats per token.

    It is the entropy of their translations, divided by their mean number of tokens with ``<eos>``.

    >>> import viz_transformer as vt
    >>> round(vt.analysis.lowest_loss([{("el", "gato"): 0.5, ("la", "gata"): 0.5}]), 3)  # ln 2 / 3 tokens
    0.231

    Args:
        sentences: of each the probabilities of its translations, as `next_words` takes them.

    Raises:
        UserError: as `next_words`, or if there is no sentence.
    """
    entropy = n_tokens = 0.0
    for translations in sentences:
        entropy += entropy_nats(translations)
        n_tokens += math.fsum(p * (len(tokens) + 1) for tokens, p in translations.items())
    if not n_tokens:
        raise UserError("there is no sentence to compute an entropy for; give at least one")
    return entropy / n_tokens


def _check(translations: Mapping[Any, float]) -> None:
    total = math.fsum(translations.values())
    if abs(total - 1) > _TOLERANCE or min(translations.values(), default=0.0) < 0:
        raise UserError(
            f"the probabilities of {len(translations)} translations sum to {total:.6g}; give "
            "numbers of at least 0 that sum to 1"
        )
