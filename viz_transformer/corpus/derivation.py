"""Derivations: a grammar written as a program of choices, drawn at random or followed one by one.

A pattern of the grammar is a function of a `Derivation`. Each time it has a choice it calls
`choose`, with the probability of every option. The same function can then be run in two ways: `draw`
makes every choice at random, and `derivations` goes through all of them and returns each result with
its probability, which is exact. Where a text is given, options whose words the text does not hold
are skipped, so that only the derivations that may lead to it are followed.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

from viz_transformer.corpus.phrases import Phrase

#: Words that an option brings into a sentence, or alternatives, one of which it brings.
Words = str | tuple[str, ...]

Option = TypeVar("Option", bound=Hashable)
Result = TypeVar("Result")


class Observed:
    """What is known of the sentence that is derived."""

    def __init__(
        self, english: tuple[str, ...] | None = None, spanish: tuple[str, ...] | None = None
    ) -> None:
        """Keep what is known.

        Args:
            english: the English words; None if they are unknown. Case does not matter.
            spanish: the Spanish words, `GAP` for any that are not known, except *del* and *al*;
                None likewise.
        """
        self.english = None if english is None else tuple(word.lower() for word in english)
        self.spanish = spanish
        self._english = None if english is None else frozenset(self.english or ())
        #: How often each Spanish word comes; *del* and *al* are apart, as the grammar writes them.
        self.n_spanish = Counter(_APART.get(word, word) for word in spanish or ())
        for pair in _APART.values():
            for word in pair.split():
                self.n_spanish[word] += self.n_spanish[pair]
            del self.n_spanish[pair]
        self.n_missing = self.n_spanish.pop(GAP, 0)

    def english_within(self, position: int, near: int) -> frozenset[str] | None:
        """Return the English words that may come among the next `near`; 0: anywhere in the text."""
        if self.english is None or not near:
            return self._english
        return frozenset(self.english[position : position + near])


def _may_hold(words: Words, known: frozenset[str] | None) -> bool:
    """Whether the English text may hold the words, or one of the alternatives."""
    if known is None or not words:
        return True
    alternatives = (words,) if isinstance(words, str) else words
    return any(known.issuperset(each.lower().split()) for each in alternatives)


#: What stands for a word that is not known.
GAP = "[?]"
_APART = {"del": "de el", "al": "a el"}
NOTHING_OBSERVED = Observed()


class ContradictionError(Exception):
    """The choices made so far cannot lead to the text that was observed."""


@dataclass
class Derivation:
    """One way through a grammar's choices.

    Attributes:
        path: the options to take at its choices; beyond its end, the first that agrees with `observed`.
        rng: where choices are drawn at random instead.
        observed: what is known of the sentence.
        probability: of the choices so far.
        untried: the paths that take another option where this one took the first.
        position: how many English words were compared.
    """

    path: tuple[Any, ...] = ()
    rng: Random | None = None
    observed: Observed = NOTHING_OBSERVED
    probability: float = 1.0
    untried: list[tuple[Any, ...]] = field(default_factory=list)
    position: int = 0
    _taken: list[Any] = field(default_factory=list)
    _settled: dict[Hashable, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with all Spanish words that were observed, and all gaps, still to be written."""
        self._unwritten = self.observed.n_spanish.copy()
        self._n_missing = self.observed.n_missing
        self._held: Counter[str] = Counter()

    def choose(
        self,
        options: Mapping[Option, float],
        english: Callable[[Option], Words] = lambda option: "",
        spanish: Callable[[Option], Words] = lambda option: "",
        near: int = 0,
        *,
        hold: str = "",
    ) -> Option:
        """Choose one of some options.

        Args:
            options: each with its weight; the weights need not sum to 1.
            english: the English words that the sentence will hold if an option is chosen.
            spanish: likewise the Spanish ones, beside those written so far.
            near: among how many next words the English ones will be; 0: anywhere.
            hold: keep the gaps that the Spanish words need for what is named, until `release`.

        Raises:
            ContradictionError: if no option agrees with what was observed.
        """
        if self.rng is not None:
            # As rng.choices draws, the same options of the same numbers, in a third of its time.
            sums = tuple(accumulate(options.values()))
            return tuple(options)[bisect(sums, self.rng.random() * sums[-1], 0, len(sums) - 1)]
        depth = len(self._taken)
        if depth < len(self.path):
            chosen = self.path[depth]
        else:
            nearby = self.observed.english_within(self.position, near)
            fitting = [
                option
                for option, weight in options.items()
                if weight and _may_hold(english(option), nearby) and self._may_write(spanish(option))
            ]
            if not fitting:
                raise ContradictionError
            chosen, *others = fitting
            self.untried += [(*self._taken, other) for other in others]
        self._taken.append(chosen)
        self.probability *= options[chosen] / sum(options.values())
        if hold and self._n_missing:
            self._held[hold] += self._gaps_for(spanish(chosen))
        return chosen

    def release(self, held: str) -> None:
        """Give back the gaps that were held, so that the words can be written."""
        self._held[held] = 0

    def say(self, english: str) -> None:
        """Compare the next English words with what was observed, so that a wrong way ends early.

        Raises:
            ContradictionError: if something else was observed.
        """
        observed = self.observed.english
        if observed is None:
            return
        words = tuple(english.lower().split())
        end = self.position + len(words)
        if observed[self.position : end] != words:
            raise ContradictionError
        self.position = end

    def write(self, spanish: str) -> None:
        """Take Spanish words, which are side by side, from those that were observed.

        Each can be taken only once.

        Raises:
            ContradictionError: if more are missing than there are gaps.
        """
        if self.observed.spanish is None:
            return
        words = spanish.split()
        if not any(self._stands_at(start, words) for start in range(len(self.observed.spanish))):
            raise ContradictionError
        for word in words:
            if self._unwritten[word]:
                self._unwritten[word] -= 1
            else:
                self._n_missing -= 1
        if self._n_missing < 0:
            raise ContradictionError

    def _may_write(self, words: Words) -> bool:
        """Whether the words, or one of the alternatives, are among those not written yet."""
        if self.observed.spanish is None or not words:
            return True
        return self._gaps_for(words) <= self._n_missing - self._held.total()

    def _gaps_for(self, words: Words) -> int:
        """Return how many gaps the words need, or that of the alternatives which needs the fewest."""
        alternatives = (words,) if isinstance(words, str) else words
        needed = (sum((Counter(each.split()) - self._unwritten).values()) for each in alternatives)
        return min(needed, default=0)

    def _stands_at(self, start: int, words: list[str]) -> bool:
        observed = (self.observed.spanish or ())[start : start + len(words)]
        return len(observed) == len(words) and all(
            word == known or known == GAP or word in _APART.get(known, "").split()
            for word, known in zip(words, observed, strict=True)
        )

    def expect(self, spanish: tuple[str, ...], hold: str = "") -> None:
        """Check that one of some Spanish words can still be written.

        Args:
            spanish: the words.
            hold: as for `choose`.

        Raises:
            ContradictionError: if none can.
        """
        if not self._may_write(spanish):
            raise ContradictionError
        if hold and self._n_missing:
            self._held[hold] += self._gaps_for(spanish)

    def begins_with(self, phrase: Phrase) -> None:
        """Compare the beginning of the sentence, on both sides.

        Raises:
            ContradictionError: if something else was observed.
        """
        self.position = 0
        self.say(phrase.text)
        if self.observed.spanish is not None:
            _, spanish, _ = phrase.write()
            if any(
                GAP != observed != word
                for observed, word in zip(self.observed.spanish, spanish, strict=False)
            ):
                raise ContradictionError

    def skip(self, n_words: int = 1) -> None:
        """Pass over English words that are compared later, with the whole sentence."""
        self.position += n_words

    def chance(self, probability: float, english: str = "", spanish: str = "") -> bool:
        """Choose between yes, with a probability, and no; yes brings the words and writes the Spanish."""
        chosen = self.choose(
            {True: probability, False: 1 - probability},
            lambda yes: english if yes else "",
            lambda yes: spanish if yes else "",
        )
        if chosen and spanish:
            self.write(spanish)
        return chosen

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
    program: Callable[[Derivation], Result], observed: Observed = NOTHING_OBSERVED
) -> Iterator[tuple[Result, float]]:
    """Yield every result of a program of choices, with the probability of the choices made.

    One result may come several times, of different choices.
    """
    paths: list[tuple[Any, ...]] = [()]
    while paths:
        derivation = Derivation(paths.pop(), observed=observed)
        try:
            result = program(derivation)
        except ContradictionError:
            pass
        else:
            yield result, derivation.probability
        paths += derivation.untried
