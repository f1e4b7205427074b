"""Coreference sentences, in which one adjective decides what *it* refers to.

*the animal did not cross the street because it was too tired*: the animal. With *wide* in place of
*tired*: the street. 12 animals × 11 places × 3 verbs × 10 adjectives make 3,960 sentences, all of
the same length, so that each part of the sentence is always at the same position.

The split is a fixed rule over the lists below: whole combinations of an animal and a place, *animal
+ street* among them, are kept out of training, each word of which training has seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product

from viz_transformer.vocabulary import Vocabulary

ANIMALS = (
    "animal",
    "badger",
    "beaver",
    "camel",
    "donkey",
    "fox",
    "goat",
    "hedgehog",
    "lizard",
    "otter",
    "tortoise",
    "weasel",
)
PLACES = (
    "street",
    "river",
    "bridge",
    "canal",
    "canyon",
    "valley",
    "railway",
    "path",
    "tunnel",
    "alley",
    "beach",
)
VERBS = ("cross", "enter", "follow")
#: Adjectives that apply to animals and to no place.
ANIMAL_ADJECTIVES = ("tired", "hungry", "scared", "sick", "lazy")
#: Adjectives that apply to places and to no animal.
PLACE_ADJECTIVES = ("wide", "narrow", "steep", "winding", "crowded")
#: One combination of animal and place in so many is held out.
HELD_OUT_MODULUS = 6


@dataclass(frozen=True)
class PronounSentence:
    """One sentence of the set.

    Attributes:
        animal: the subject.
        verb: what it did not do, such as ``"cross"``.
        place: the object.
        adjective: the reason; it alone decides which of the two *it* refers to.
    """

    animal: str
    verb: str
    place: str
    adjective: str

    @property
    def words(self) -> tuple[str, ...]:
        """All twelve words."""
        start = ("the", self.animal, "did", "not", self.verb, "the", self.place)
        return (*start, "because", "it", "was", "too", self.adjective)

    @property
    def means_animal(self) -> bool:
        """Whether *it* is the animal; otherwise it is the place."""
        return self.adjective in ANIMAL_ADJECTIVES

    @property
    def referent(self) -> str:
        """The noun that *it* stands for."""
        return self.animal if self.means_animal else self.place

    @property
    def held_out(self) -> bool:
        """Whether its animal and place are never seen together in training."""
        return (ANIMALS.index(self.animal) + PLACES.index(self.place)) % HELD_OUT_MODULUS == 0


@dataclass(frozen=True)
class PronounSentences:
    """The training and held-out sentences, which share no pair of animal and place."""

    train: tuple[PronounSentence, ...]
    held_out: tuple[PronounSentence, ...]


@cache
def pronoun_sentences() -> PronounSentences:
    """Return all sentences, split: 3,300 to train on and 660 held out."""
    everything = [
        PronounSentence(*parts)
        for parts in product(ANIMALS, VERBS, PLACES, ANIMAL_ADJECTIVES + PLACE_ADJECTIVES)
    ]
    return PronounSentences(
        tuple(each for each in everything if not each.held_out),
        tuple(each for each in everything if each.held_out),
    )


def pronoun_vocabulary(sentences: Iterable[PronounSentence]) -> Vocabulary:
    """Make the vocabulary of some sentences; there is no second language."""
    words = {word for each in sentences for word in each.words}
    return Vocabulary(words, (), languages=("English", "none"))
