"""Derivations: a grammar written as a program of choices, drawn at random or followed one by one.

A pattern of the grammar is a function of a `Derivation`. Each time it has a choice it calls
`choose`, with the probability of every option. The same function can then be run in two ways: `draw`
makes every choice at random, and `derivations` goes through all of them and returns each result with
its probability, which is exact. Where a text is given, options whose words the text does not hold
are skipped, so that only the derivations that may lead to it are followed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

#: Words that an option brings into a sentence, or alternatives, one of which it brings.
Words = str | tuple[str, ...]

Option = TypeVar("Option", bound=Hashable)
Result = TypeVar("Result")


class Heard:
    """What is known of the sentence that is derived."""

    def __init__(
        self,
        english: tuple[str, ...] | None = None,
        spanish: tuple[str, ...] | None = None,
        n_missing: int = 0,
    ) -> None:
        """Keep what is known.

        Args:
            english: the English words; None: nothing is known of them. Case does not matter.
            spanish: the known Spanish words; None: nothing is known.
            n_missing: how many Spanish words there are beside those, which may be any.
        """
        self.english = None if english is None else tuple(word.lower() for word in english)
        self._english = None if english is None else frozenset(self.english)
        self.spanish = None if spanish is None else frozenset(spanish)
        self.n_missing = n_missing

    def english_within(self, position: int, near: int) -> frozenset[str] | None:
        """Return the English words that may come among the next `near`; 0: anywhere in the text."""
        if self.english is None or not near:
            return self._english
        return frozenset(self.english[position : position + near])


def _any_within(
    words: Words, known: frozenset[str] | None, n_missing: int = 0, *, lower: bool = False
) -> bool:
    if known is None or not words:
        return True
    # Whether the text may hold the words, or one of the alternatives.
    alternatives = (words,) if isinstance(words, str) else words
    for each in alternatives:
        if sum(word not in known for word in (each.lower() if lower else each).split()) <= n_missing:
            return True
    return False


NOTHING_HEARD = Heard()


class Contradiction(Exception):
    """The choices made so far cannot lead to the text that was heard."""


@dataclass
class Derivation:
    """One way through a grammar's choices.

    Attributes:
        path: the options to take at its choices; beyond its end, the first that agrees with `heard`.
        rng: where choices are drawn at random instead.
        heard: what is known of the sentence.
        probability: of the choices so far.
        untried: the paths that take another option where this one took the first.
        position: how many English words were said.
    """

    path: tuple[Any, ...] = ()
    rng: Random | None = None
    heard: Heard = NOTHING_HEARD
    probability: float = 1.0
    untried: list[tuple[Any, ...]] = field(default_factory=list)
    position: int = 0
    _taken: list[Any] = field(default_factory=list)
    _settled: dict[Hashable, object] = field(default_factory=dict)

    def choose(
        self,
        options: Mapping[Option, float],
        english: Callable[[Option], Words] = lambda option: "",
        spanish: Callable[[Option], Words] = lambda option: "",
        near: int = 0,
    ) -> Option:
        """Choose one of some options.

        Args:
            options: each with its weight; the weights need not sum to 1.
            english: the English words that the sentence will hold if an option is chosen.
            spanish: likewise the Spanish ones.
            near: among how many next words the English ones will be; 0: anywhere.

        Raises:
            Contradiction: if no option agrees with what was heard.
        """
        if self.rng is not None:
            (chosen,) = self.rng.choices(tuple(options), tuple(options.values()))
            return chosen
        depth = len(self._taken)
        if depth < len(self.path):
            chosen = self.path[depth]
        else:
            heard, known = self.heard, self.heard.english_within(self.position, near)
            fitting = [
                option
                for option, weight in options.items()
                if weight
                and _any_within(english(option), known, lower=True)
                and _any_within(spanish(option), heard.spanish, heard.n_missing)
            ]
            if not fitting:
                raise Contradiction
            chosen, *others = fitting
            self.untried += [(*self._taken, other) for other in others]
        self._taken.append(chosen)
        self.probability *= options[chosen] / sum(options.values())
        return chosen

    def say(self, english: str) -> None:
        """Compare the next English words with what was heard, so that a wrong way ends early.

        Raises:
            Contradiction: if something else was heard.
        """
        heard = self.heard.english
        if heard is None:
            return
        words = tuple(english.lower().split())
        end = self.position + len(words)
        if heard[self.position : end] != words:
            raise Contradiction
        self.position = end

    def skip(self, n_words: int = 1) -> None:
        """Pass over English words that are compared later, with the whole sentence."""
        self.position += n_words

    def chance(self, probability: float, english: str = "", spanish: str = "") -> bool:
        """Choose between yes, with a probability, and no; yes brings the words."""
        return self.choose(
            {True: probability, False: 1 - probability},
            lambda yes: english if yes else "",
            lambda yes: spanish if yes else "",
        )

    def once(
        self,
        key: Hashable,
        options: Mapping[Option, float],
        spanish: Callable[[Option], Words] = lambda option: "",
    ) -> Option:
        """Choose as `choose` does, but only once in a sentence: the same `key`, the same option."""
        if key not in self._settled:
            self._settled[key] = self.choose(options, spanish=spanish)
        return self._settled[key]  # type: ignore[return-value]


def draw(program: Callable[[Derivation], Result], rng: Random) -> Result:
    """Run a program of choices, each drawn at random."""
    return program(Derivation(rng=rng))


def derivations(
    program: Callable[[Derivation], Result], heard: Heard = NOTHING_HEARD
) -> Iterator[tuple[Result, float]]:
    """Yield every result of a program of choices, with the probability of the choices made.

    One result may come several times, of different choices.
    """
    paths: list[tuple[Any, ...]] = [()]
    while paths:
        derivation = Derivation(paths.pop(), heard=heard)
        try:
            result = program(derivation)
        except Contradiction:
            pass
        else:
            yield result, derivation.probability
        paths += derivation.untried
