"""The English→Spanish corpus: sentence pairs generated from a grammar, with word alignments.

The split is a fixed rule, not random: a *combination* of words (*black cat*, *eat apple*, *from
Rome to Paris*, *wolf … bridge*, *teacher … her book*) whose CRC-32 leaves `HELD_OUT_REMAINDER`
modulo `HELD_OUT_MODULUS` never occurs in training, so every held-out sentence contains a combination
that the model has not seen, of words that it has. Combinations are English, so that what is held out
does not depend on which translation was drawn.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

from viz_transformer._bounds import HELD_OUT, OF_A_KIND, SENTENCES, whole_number
from viz_transformer._text import shown
from viz_transformer.corpus.derivation import Derivation
from viz_transformer.corpus.derivation import draw as draw_one
from viz_transformer.corpus.phrases import Phrase
from viz_transformer.corpus.sentences import PATTERNS, belonging, reason, sentence, transitive_or_not
from viz_transformer.corpus.translations import (
    gap_words,
    is_spanish,
    translation_tokens,
    translations,
)
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Vocabulary

__all__ = [
    "Corpus",
    "SentencePair",
    "draw",
    "english_spanish",
    "gap_words",
    "is_held_out",
    "is_spanish",
    "translation_tokens",
    "translations",
    "vocabulary_of",
]

HELD_OUT_MODULUS = 10
HELD_OUT_REMAINDER = 1  # that of "black cat": the cat of the first lesson is new to the model


@dataclass(frozen=True)
class SentencePair:
    """A sentence, its translation and the links between their words.

    >>> from viz_transformer.corpus import SentencePair
    >>> pair = SentencePair(("the", "cat"), ("el", "gato"), links=((0, 0), (1, 1)))
    >>> pair.links
    ((0, 0), (1, 1))

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
    """Whether a combination of words is kept out of training (the fixed rule of the split).

    >>> from viz_transformer.corpus import is_held_out
    >>> isinstance(is_held_out("black cat"), bool)
    True

    Args:
        combination: its words, as `SentencePair.combinations` has them.
    """
    return zlib.crc32(combination.encode()) % HELD_OUT_MODULUS == HELD_OUT_REMAINDER


def draw(seed: int, pattern: str | None = None) -> Iterator[SentencePair]:
    """Draw sentence pairs without end, each by itself, the same ones for the same seed.

    A sentence comes with the probability that the grammar gives it, with another translation each time
    if it has several.

    >>> from viz_transformer.corpus import draw
    >>> pair = next(draw(seed=0))
    >>> len(pair.source) > 1, len(pair.links) > 0
    (True, True)

    Args:
        seed: fixes the pairs.
        pattern: the only sort of sentence to draw, such as ``"belonging"``: *the teacher lost her book*;
            None for the whole language.

    Raises:
        UserError: if there is no such pattern.
    """
    named = {each.derive.__name__: each.derive for each in PATTERNS}
    if pattern is not None and pattern not in named:
        raise UserError(f"there is no pattern {shown(pattern)}; choose one of {', '.join(sorted(named))}")
    return _drawn(sentence if pattern is None else named[pattern], Random(seed))


def _drawn(derive: Callable[[Derivation], Phrase], rng: Random) -> Iterator[SentencePair]:
    while True:
        yield SentencePair.from_phrase(draw_one(derive, rng))


@dataclass(frozen=True)
class Corpus:
    """Training pairs, and what training never shows.

    >>> from viz_transformer.corpus import english_spanish
    >>> corpus = english_spanish(50, n_held_out=20, n_of_a_kind=5)
    >>> len(corpus.train)
    50

    Attributes:
        train: independent draws without any held-out combination; frequent sentences come often.
        held_out: pairs with a held-out combination, each sentence once.
        n_of_a_kind: number of pairs in each of the other held-out sets, which are drawn when asked for.
        seed: of the draw.
    """

    train: tuple[SentencePair, ...]
    held_out: tuple[SentencePair, ...]
    n_of_a_kind: int
    seed: int

    @cached_property
    def held_out_reasons(self) -> tuple[SentencePair, ...]:
        """*tired / wide* pairs over animals and places that training never pairs."""
        return _held_out_of(reason, "…", self.n_of_a_kind, self.seed)

    @cached_property
    def held_out_owners(self) -> tuple[SentencePair, ...]:
        """*her / his* pairs over owners and things that training never pairs."""
        return _held_out_of(belonging, "her his", self.n_of_a_kind, self.seed)

    @cached_property
    def held_out_fish(self) -> tuple[SentencePair, ...]:
        """Pairs in which what *fish* means depends on words it is never trained with."""
        return _held_out_of(transitive_or_not, "fish", self.n_of_a_kind, self.seed)


@cache
def english_spanish(
    n_train: int = 300_000, n_held_out: int = 2_000, n_of_a_kind: int = 300, seed: int = 0
) -> Corpus:
    """Generate the corpus.

    >>> from viz_transformer.corpus import english_spanish
    >>> corpus = english_spanish(50, n_held_out=20, n_of_a_kind=5)
    >>> len(corpus.train)
    50

    Args:
        n_train: number of training pairs.
        n_held_out: number of held-out pairs of any pattern.
        n_of_a_kind: number of held-out *tired / wide*, *her / his* and *fish* pairs each.
        seed: of the draw; the split itself does not depend on it.

    Raises:
        UserError: if a number is below 0, or above a million pairs, 100,000 held out or 1,000 of a kind.
    """
    for name, number, bound in (
        ("n_train", n_train, SENTENCES),
        ("n_held_out", n_held_out, HELD_OUT),
        ("n_of_a_kind", n_of_a_kind, OF_A_KIND),
    ):
        whole_number(name, number, bound, least=0)
    train: list[SentencePair] = []
    held_out: dict[tuple[str, ...], SentencePair] = {}
    for pair in draw(seed):
        if not pair.held_out:
            if len(train) < n_train:
                train.append(pair)
        elif len(held_out) < n_held_out:
            held_out.setdefault(pair.source, pair)
        if len(train) >= n_train and len(held_out) >= n_held_out:
            break
    return Corpus(tuple(train), tuple(held_out.values()), n_of_a_kind, seed)


def _held_out_of(
    pattern: Callable[[Derivation], Phrase], words: str, n: int, seed: int
) -> tuple[SentencePair, ...]:
    """Draw different sentences of a pattern with a held-out combination that has one of the words."""
    rng, wanted = Random(seed), set(words.split())
    pairs: dict[tuple[str, ...], SentencePair] = {}
    while len(pairs) < n:
        phrase = draw_one(pattern, rng)
        if any(wanted & set(each.split()) and is_held_out(each) for each in phrase.combinations):
            pair = SentencePair.from_phrase(phrase)
            pairs.setdefault(pair.source, pair)
    return tuple(pairs.values())


def vocabulary_of(pairs: Iterable[SentencePair], *, mask: bool = False) -> Vocabulary:
    """Make the joint vocabulary of some pairs.

    >>> from viz_transformer.corpus import SentencePair, vocabulary_of
    >>> pair = SentencePair(("the", "cat"), ("el", "gato"), links=((0, 0), (1, 1)))
    >>> vocabulary_of([pair]).tokens
    ('<pad>', '<sos>', '<eos>', 'cat', 'el', 'gato', 'the')

    Args:
        pairs: the sentence pairs.
        mask: whether it has a ``<mask>``, too.
    """
    sources: set[str] = set()
    targets: set[str] = set()
    for pair in pairs:
        sources.update(pair.source)
        targets.update(pair.target)
    return Vocabulary(sources, targets, mask=mask)
