"""All translations of a sentence, each with its exact probability.

The grammar draws a sentence and its translation together, so P(translation | sentence) is a sum over
the derivations that write both, divided by the sum over those that write the sentence (Bayes). What a
later word tells about an earlier one is in it: *the teacher lost her book* leaves only the derivations
in which the teacher is a woman.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from math import log

from viz_transformer.corpus.derivation import Heard, derivations
from viz_transformer.corpus.sentences import sentence
from viz_transformer.errors import UserError

Words = tuple[str, ...]


@lru_cache(maxsize=4096)
def translation_tokens(source: Words) -> Mapping[Words, float]:
    """Return every translation of a sentence with its probability, the likeliest first.

    Args:
        source: the English words; case does not matter.

    Returns:
        Spanish tokens, with probabilities that sum to 1; empty if the grammar does not make the
        sentence.
    """
    heard = tuple(word.lower() for word in source)
    joint: dict[Words, float] = defaultdict(float)
    for phrase, probability in derivations(sentence, Heard(english=heard)):
        english, spanish, _ = phrase.write()
        if tuple(word.lower() for word in english) == heard:
            joint[spanish] += probability
    total = sum(joint.values())
    likeliest = sorted(joint.items(), key=lambda item: (-item[1], item[0]))
    return {spanish: probability / total for spanish, probability in likeliest}
