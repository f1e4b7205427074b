"""The English→Spanish corpus: sentence pairs generated from a grammar, with word alignments.

The split is a fixed rule, not random: a *combination* of words (*black cat*, *eat apple*, *from
Rome to Paris*, *wolf … bridge*, *teacher … her book*) whose CRC-32 leaves `HELD_OUT_REMAINDER`
modulo `HELD_OUT_MODULUS` never occurs in training, so every held-out sentence contains a combination
that the model has not seen, of words that it has. Combinations are English, so that what is held out
does not depend on which translation was drawn.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random

from viz_transformer.corpus.derivation import draw as draw_one
from viz_transformer.corpus.phrases import Phrase
from viz_transformer.corpus.sentences import sentence
from viz_transformer.vocabulary import Vocabulary

HELD_OUT_MODULUS = 10
HELD_OUT_REMAINDER = 1  # that of "black cat": the cat of the first lesson is new to the model


@dataclass(frozen=True)
class SentencePair:
    """A sentence, its translation and the links between their words.

    Attributes:
        source: English words.
        target: Spanish words.
        links: pairs (target index, source index) of words that translate each other.
        combinations: the word combinations that decide which side of the split it is on.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    combinations: frozenset[str] = frozenset()

    @classmethod
    def from_phrase(cls, phrase: Phrase) -> SentencePair:
        """Write a phrase out in both languages."""
        return cls(*phrase.write(), phrase.combinations)

    @property
    def held_out(self) -> bool:
        """Whether the pair belongs to the held-out set."""
        return any(is_held_out(combination) for combination in self.combinations)


@cache
def is_held_out(combination: str) -> bool:
    """Whether a combination of words is kept out of training (the fixed rule of the split)."""
    return zlib.crc32(combination.encode()) % HELD_OUT_MODULUS == HELD_OUT_REMAINDER


def draw(seed: int) -> Iterator[SentencePair]:
    """Draw sentence pairs without end, each by itself, the same ones for the same seed.

    A sentence comes as often as the grammar's probabilities say, with another translation each time
    if it has several.
    """
    rng = Random(seed)
    while True:
        yield SentencePair.from_phrase(draw_one(sentence, rng))
