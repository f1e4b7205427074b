"""All translations of a sentence, each with its exact probability; what may fill a Spanish gap.

The grammar draws a sentence and its translation together, so P(translation | sentence) is a sum over
the derivations that write both, divided by the sum over those that write the sentence (Bayes).
A later word can decide an earlier one: *the teacher lost her book* leaves only the derivations in which
the teacher is a woman.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from viz_transformer._text import given_texts
from viz_transformer.corpus.derivation import GAP, Observed, derivations
from viz_transformer.corpus.sentences import sentence
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import join_tokens, tokenize

Tokens = tuple[str, ...]
Key = TypeVar("Key", str, tuple[str, ...])


def translations(text: str) -> dict[str, float]:
    """Return every translation of a sentence with its exact probability, the likeliest first.

    >>> from viz_transformer.corpus import translations
    >>> {text: round(share, 2) for text, share in translations("the teacher lost her book").items()}
    {'la maestra perdió su libro': 0.96, 'la profesora perdió su libro': 0.04}

    Args:
        text: an English sentence, typed as people type.

    Returns:
        Spanish texts; their probabilities sum to 1.

    Raises:
        UserError: if the grammar does not make the sentence.
    """
    return {join_tokens(tokens): share for tokens, share in translation_tokens(text).items()}


def translation_tokens(text: str) -> dict[Tokens, float]:
    """Return what `translations` returns, with the Spanish side as tokens.

    >>> from viz_transformer.corpus import translation_tokens
    >>> next(iter(translation_tokens("the teacher sleeps")))  # the likeliest
    ('la', 'maestra', 'duerme')

    Args:
        text: an English sentence.

    Raises:
        UserError: as `translations`.
    """
    found = _translations(tuple(tokenize(text)))
    if not found:
        raise UserError(
            f"the grammar does not make {text!r:.80}, so it has no probabilities for it; give a sentence "
            "such as 'the teacher lost her book', or one that viz_transformer.corpus.draw(seed) draws"
        )
    return dict(found)


def is_spanish(tokens: Sequence[str]) -> bool:
    """Whether the grammar writes a Spanish sentence, given as tokens.

    >>> from viz_transformer.corpus import is_spanish
    >>> is_spanish("la maestra duerme".split()), is_spanish("la duerme".split())
    (True, False)

    Args:
        tokens: its words and punctuation marks.
    """
    written = given_texts(tokens)
    observed = Observed(spanish=written)
    return any(phrase.write()[1] == written for phrase, _ in derivations(sentence, observed))


def gap_words(tokens: Sequence[str]) -> dict[str, float]:
    """Return which words may fill the gap of a Spanish sentence, with their exact probabilities.

    >>> from viz_transformer.corpus import gap_words
    >>> round(sum(gap_words("la [?] está cansada".split()).values()), 6)
    1.0

    Args:
        tokens: the sentence, with ``[?]`` in place of one word.

    Raises:
        UserError: if there is not one gap, or the grammar makes no such sentence.
    """
    tokens = given_texts(tokens)
    gaps = [index for index, token in enumerate(tokens) if token == GAP]
    if len(gaps) != 1:
        raise UserError(f"{len(gaps)} gaps in {' '.join(tokens)!r:.80}; write {GAP} in place of one word")
    (gap,) = gaps
    before, after = tuple(tokens[:gap]), tuple(tokens[gap + 1 :])
    joint: dict[str, float] = defaultdict(float)
    for filled in (GAP, "del", "al"):  # the two are written as two words, so they are tried apart
        for phrase, probability in derivations(sentence, Observed(spanish=(*before, filled, *after))):
            _, spanish, _ = phrase.write()
            word = spanish[gap] if len(spanish) == len(tokens) else ""
            if (*before, word, *after) == spanish and (word in ("del", "al")) == (filled != GAP):
                joint[word] += probability
    if not joint:
        raise UserError(f"the grammar makes no sentence like {' '.join(tokens)!r:.80}; give another")
    return _normalised(joint)


@lru_cache(maxsize=8192)
def _translations(words: Tokens) -> Mapping[Tokens, float]:
    joint: dict[Tokens, float] = defaultdict(float)
    for phrase, probability in derivations(sentence, Observed(english=words)):
        english, spanish, _ = phrase.write()
        if tuple(word.lower() for word in english) == words:
            joint[spanish] += probability
    return _normalised(joint)


def _normalised(weights: Mapping[Key, float]) -> dict[Key, float]:
    """Return the weights divided by their sum, the largest first."""
    total = sum(weights.values())
    largest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return {key: weight / total for key, weight in largest}
