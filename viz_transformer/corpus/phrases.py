"""Phrases: words of both languages, each side in its own order.

A `Phrase` is a set of `Unit`s (words that translate each other) with an English order and a
Spanish order. Joining phrases joins both orders, so a sentence, its translation and the links
between their words come from one derivation and cannot disagree:

    the black cat  =  the/el  black/negro  cat/gato      English order: 0 1 2   Spanish: 0 2 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

_CONTRACTIONS = {("de", "el"): "del", ("a", "el"): "al"}


@dataclass(frozen=True, eq=False)
class Unit:
    """Words that translate each other; either side may be empty."""

    english: str
    spanish: str


@dataclass(frozen=True)
class Phrase:
    """Units in English order and in Spanish order, with the word combinations they hold."""

    english: tuple[Unit, ...] = ()
    spanish: tuple[Unit, ...] = ()
    combinations: frozenset[str] = frozenset()

    def __add__(self, other: Phrase) -> Phrase:
        """Put `other` after this phrase in both languages."""
        return Phrase(
            self.english + other.english,
            self.spanish + other.spanish,
            self.combinations | other.combinations,
        )

    @property
    def text(self) -> str:
        """The English words."""
        return " ".join(unit.english for unit in self.english)

    def using(self, *combinations: str) -> Phrase:
        """Note word combinations, by which the corpus is split."""
        return replace(self, combinations=self.combinations | set(combinations))

    def write(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, int], ...]]:
        """Return the English words, the Spanish words, and the links (Spanish, English) between them."""
        english, english_positions = _write(self.english, lambda unit: unit.english)
        spanish, spanish_positions = _write(self.spanish, lambda unit: unit.spanish)
        links = sorted(
            (there, here)
            for unit, heres in english_positions.items()
            for here in heres
            for there in spanish_positions.get(unit, ())
        )
        return english, spanish, tuple(links)


def _write(
    units: Iterable[Unit], side: Callable[[Unit], str]
) -> tuple[tuple[str, ...], dict[Unit, list[int]]]:
    words: list[str] = []
    positions: dict[Unit, list[int]] = {}
    for unit in units:
        for word in side(unit).split():
            positions.setdefault(unit, []).append(len(words))
            words.append(word)
    return tuple(words), positions


NOTHING = Phrase()


def same_order(*units: tuple[str, str]) -> Phrase:
    """Make a phrase whose units (English, Spanish) have the same order in both."""
    made = tuple(Unit(english, spanish) for english, spanish in units)
    return Phrase(made, made)


def in_orders(english: list[Phrase], spanish: list[Phrase]) -> Phrase:
    """Join the same phrases in an English and in a Spanish order."""
    return Phrase(
        tuple(unit for phrase in english for unit in phrase.english),
        tuple(unit for phrase in spanish for unit in phrase.spanish),
        frozenset().union(*(phrase.combinations for phrase in [*english, *spanish])),
    )


def after(english: str, spanish: str, phrase: Phrase) -> Phrase:
    """Put a preposition before a noun phrase; *de + el* is *del* and *a + el* is *al*."""
    preposition = Unit(english, spanish)
    head, *rest = phrase.spanish
    contracted = _CONTRACTIONS.get((spanish.split()[-1], head.spanish))
    if contracted is None:
        return Phrase((preposition,), (preposition,)) + phrase
    merged = Unit(f"{english} {head.english}".strip(), " ".join([*spanish.split()[:-1], contracted]))
    return Phrase(
        (merged, *(unit for unit in phrase.english if unit is not head)),
        (merged, *rest),
        phrase.combinations,
    )


def between_marks(phrase: Phrase, opening: str = "¿", closing: str = "?") -> Phrase:
    """Put marks around the Spanish side; the English is typed without."""
    return Phrase(
        phrase.english,
        (Unit("", opening), *phrase.spanish, Unit("", closing)),
        phrase.combinations,
    )
