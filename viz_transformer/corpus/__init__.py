"""The English→Spanish corpus: sentence pairs generated from a grammar, with word alignments.

The split is a fixed rule, not random: a *combination* of words (*black cat*, *eat apple*, *from
rome to paris*, *wolf … bridge*) whose CRC-32 leaves `HELD_OUT_REMAINDER` modulo
`HELD_OUT_MODULUS` never occurs in training, so every held-out sentence contains a combination that
the model has not seen, of words that it has.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

from viz_transformer.corpus.grammar import Phrase, Unit, same_order
from viz_transformer.corpus.lexicon import SET_PHRASES
from viz_transformer.corpus.random_phrases import nouns_of
from viz_transformer.corpus.sentences import PATTERNS, animal_and_place, crossing
from viz_transformer.vocabulary import Vocabulary

HELD_OUT_MODULUS = 10
#: The grammar does not generate set phrases, so each is repeated this often in training.
SET_PHRASE_COPIES = 20
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
        source, source_places = _write(phrase.english, lambda unit: unit.english)
        target, target_places = _write(phrase.spanish, lambda unit: unit.spanish)
        links = sorted(
            (there, here)
            for unit, heres in source_places.items()
            for here in heres
            for there in target_places.get(unit, ())
        )
        return cls(source, target, tuple(links), phrase.combinations)

    @property
    def held_out(self) -> bool:
        """Whether the pair belongs to the held-out set."""
        return any(is_held_out(combination) for combination in self.combinations)


def _write(
    units: Iterable[Unit], side: Callable[[Unit], str]
) -> tuple[tuple[str, ...], dict[Unit, list[int]]]:
    words: list[str] = []
    places: dict[Unit, list[int]] = {}
    for unit in units:
        for word in side(unit).split():
            places.setdefault(unit, []).append(len(words))
            words.append(word)
    return tuple(words), places


def is_held_out(combination: str) -> bool:
    """Whether a combination of words is kept out of training (the fixed rule of the split)."""
    return zlib.crc32(combination.encode()) % HELD_OUT_MODULUS == HELD_OUT_REMAINDER


def draw(seed: int) -> Iterator[SentencePair]:
    """Draw distinct sentence pairs without end, the same ones for the same seed."""
    rng = Random(seed)
    patterns, shares = zip(*PATTERNS, strict=True)
    seen: set[tuple[str, ...]] = set()
    while True:
        (pattern,) = rng.choices(patterns, shares)
        pair = SentencePair.from_phrase(pattern(rng))
        if pair.source not in seen:
            seen.add(pair.source)
            yield pair


@dataclass(frozen=True)
class Corpus:
    """Training pairs, held-out pairs, and held-out *tired / wide* pairs."""

    train: tuple[SentencePair, ...]
    held_out: tuple[SentencePair, ...]
    held_out_reasons: tuple[SentencePair, ...]


@cache
def english_spanish(
    n_train: int = 80_000, n_held_out: int = 2_000, n_held_out_reasons: int = 500, seed: int = 0
) -> Corpus:
    """Generate the corpus; the set phrases are always in the training part.

    Args:
        n_train: number of different training pairs.
        n_held_out: number of held-out pairs of any pattern.
        n_held_out_reasons: number of held-out *tired / wide* pairs.
        seed: of the draw; the split itself does not depend on it.
    """
    train = {pair.source: pair for pair in map(_set_phrase, SET_PHRASES.items())}
    held_out: dict[tuple[str, ...], SentencePair] = {}
    for pair in draw(seed):
        part, size = (held_out, n_held_out) if pair.held_out else (train, n_train)
        if len(part) < size:
            part.setdefault(pair.source, pair)
        elif len(held_out) >= n_held_out and len(train) >= n_train:
            break
    reasons = _held_out_reasons(n_held_out_reasons, seed)
    phrases = [_set_phrase(words) for words in SET_PHRASES.items()]
    return Corpus((*train.values(), *phrases * (SET_PHRASE_COPIES - 1)), tuple(held_out.values()), reasons)


def _set_phrase(words: tuple[str, str]) -> SentencePair:
    return SentencePair.from_phrase(same_order(words))


def _held_out_reasons(n: int, seed: int) -> tuple[SentencePair, ...]:
    """Draw *reason* sentences over animals and places that training never pairs."""
    rng = Random(seed)
    unseen = [
        pair
        for pair in product(nouns_of("animal"), nouns_of("place"))
        if is_held_out(animal_and_place(*pair))
    ]
    pairs: dict[tuple[str, ...], SentencePair] = {}
    while len(pairs) < n:
        pair = SentencePair.from_phrase(crossing(rng, *rng.choice(unseen)))
        pairs.setdefault(pair.source, pair)
    return tuple(pairs.values())


def vocabulary_of(pairs: Iterable[SentencePair]) -> Vocabulary:
    """Make the joint vocabulary of some pairs."""
    sources: set[str] = set()
    targets: set[str] = set()
    for pair in pairs:
        sources.update(pair.source)
        targets.update(pair.target)
    return Vocabulary(sources, targets)
