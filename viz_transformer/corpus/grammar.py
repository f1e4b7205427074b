"""Grammar of the corpus: phrases with both languages' word orders, and agreement.

A `Phrase` is a set of `Unit`s (words that translate each other) with an English order and a
Spanish order. Joining phrases joins both orders, so a sentence, its translation and the links
between their words come from one derivation and cannot disagree:

    the black cat  =  the/el  black/negro  cat/gato      English order: 0 1 2   Spanish: 0 2 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viz_transformer.corpus.lexicon import PERSONS, Adjective, Gender, Noun, Verb

Tense = Literal["present", "past"]

# English singular, English plural, then Spanish m sg, f sg, m pl, f pl; "-" where there is none.
_DETERMINERS = """
the the     el la los las
a -         un una - -
this these  este esta estos estas
that those  ese esa esos esas
my my       mi mi mis mis
your your   tu tu tus tus
his his     su su sus sus
her her     su su sus sus
our our     nuestro nuestra nuestros nuestras
- two       - - dos dos
- three     - - tres tres
- many      - - muchos muchas
"""
DETERMINERS = tuple(tuple(line.split()) for line in _DETERMINERS.strip().splitlines())
DEFINITE = DETERMINERS[0]
INDEFINITE = DETERMINERS[1]
DEMONSTRATIVES = DETERMINERS[2:4]

_BE = {"present": ("am", "are", "is", "are", "are"), "past": ("was", "were", "was", "were", "were")}
_COPULAS = {
    ("ser", "present"): ("soy", "eres", "es", "somos", "son"),
    ("ser", "past"): ("era", "eras", "era", "eramos", "eran"),
    ("estar", "present"): ("estoy", "estas", "esta", "estamos", "estan"),
    ("estar", "past"): ("estaba", "estabas", "estaba", "estabamos", "estaban"),
}
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

    def using(self, *combinations: str) -> Phrase:
        """Note word combinations, by which the corpus is split."""
        return Phrase(self.english, self.spanish, self.combinations | set(combinations))


def same_order(*units: tuple[str, str]) -> Phrase:
    """Make a phrase whose units (English, Spanish) stand in the same order in both."""
    made = tuple(Unit(english, spanish) for english, spanish in units)
    return Phrase(made, made)


def in_orders(english: list[Phrase], spanish: list[Phrase]) -> Phrase:
    """Join the same phrases in an English and in a Spanish order."""
    return Phrase(
        tuple(unit for phrase in english for unit in phrase.english),
        tuple(unit for phrase in spanish for unit in phrase.spanish),
        frozenset().union(*(phrase.combinations for phrase in [*english, *spanish])),
    )


@dataclass(frozen=True)
class Nominal:
    """A subject or object: its phrase and what agrees with it. `person` indexes PERSONS."""

    phrase: Phrase
    person: int
    gender: Gender
    number: int
    kind: str
    lemma: str = ""

    @property
    def is_third(self) -> bool:
        """Whether it is a *he* or a *they*: only those have a past tense in the corpus."""
        return PERSONS[self.person] in ("he", "they")


def noun_phrase(
    determiner: tuple[str, ...], noun: Noun, number: int, adjective: Adjective | None = None
) -> Nominal:
    """Make *the black cat* / *el gato negro*: the adjective follows the noun and agrees with it."""
    english_noun, spanish_noun = noun.english[number], noun.spanish[number]
    first_word = english_noun if adjective is None else adjective.english
    english_determiner = determiner[number]
    if english_determiner == "a" and first_word[0] in "aeiou":
        english_determiner = "an"
    spanish_determiner = determiner[2 + 2 * number + (noun.gender == "f")]
    the = same_order((english_determiner, spanish_determiner))
    cat = same_order((english_noun, spanish_noun))
    phrase = the + cat
    if adjective is not None:
        black = same_order((adjective.english, adjective.agree(noun.gender, number)))
        phrase = in_orders([the, black, cat], [the, cat, black])
        phrase = phrase.using(f"{adjective.english} {noun.lemma}")
    person = PERSONS.index("they" if number else "he")
    return Nominal(phrase, person, noun.gender, number, noun.kind, noun.lemma)


def bare_noun(noun: Noun, number: int = 0) -> Nominal:
    """Make *bread* / *pan*: a noun without a determiner."""
    phrase = same_order((noun.english[number], noun.spanish[number]))
    person = PERSONS.index("they" if number else "he")
    return Nominal(phrase, person, noun.gender, number, noun.kind, noun.lemma)


def pronoun(english: str) -> Nominal:
    """Make a subject pronoun, which Spanish drops; *i, you, we, they* count as masculine."""
    person = PERSONS.index("he" if english in ("he", "she") else english)
    number = int(english in ("we", "they"))
    gender: Gender = "f" if english == "she" else "m"
    return Nominal(same_order((english, "")), person, gender, number, "person")


def after(english: str, spanish: str, nominal: Phrase) -> Phrase:
    """Put a preposition before a noun phrase; *de + el* is *del* and *a + el* is *al*."""
    preposition = Unit(english, spanish)
    head, *rest = nominal.spanish
    contracted = _CONTRACTIONS.get((spanish.split()[-1], head.spanish))
    if contracted is None:
        return Phrase((preposition,), (preposition,)) + nominal
    merged = Unit(f"{english} {head.english}".strip(), " ".join([*spanish.split()[:-1], contracted]))
    return Phrase(
        (merged, *(unit for unit in nominal.english if unit is not head)),
        (merged, *rest),
        nominal.combinations,
    )


def copula_clause(
    subject: Nominal,
    adjective: Adjective,
    tense: Tense = "present",
    *,
    negated: bool = False,
    degree: tuple[str, str] | None = None,
) -> Phrase:
    """Make *the cat is (not) (very) black*: ser or estar, as the adjective asks."""
    be = same_order(_be(subject, adjective.copula, tense))
    no = same_order(("not", "no")) if negated else Phrase()
    very = same_order(degree) if degree else Phrase()
    black = same_order((adjective.english, adjective.agree(subject.gender, subject.number)))
    clause = in_orders([subject.phrase, be, no, very, black], [subject.phrase, no, be, very, black])
    return clause.using(f"{subject.lemma} is {adjective.english}") if subject.lemma else clause


def copula_question(subject: Nominal, adjective: Adjective) -> Phrase:
    """Make *is the cat black* / *es negro el gato*."""
    be = same_order(_be(subject, adjective.copula, "present"))
    black = same_order((adjective.english, adjective.agree(subject.gender, subject.number)))
    question = in_orders([be, subject.phrase, black], [be, black, subject.phrase])
    return question.using(f"{subject.lemma} is {adjective.english}")


def location(subject: Nominal, where: Phrase, tense: Tense = "present") -> Phrase:
    """Make *the cat is in the house*: places take estar."""
    return subject.phrase + same_order(_be(subject, "estar", tense)) + where


def where_question(subject: Nominal) -> Phrase:
    """Make *where is the cat* / *donde esta el gato*."""
    return same_order(("where", "donde"), _be(subject, "estar", "present")) + subject.phrase


def this_is(demonstrative: tuple[str, ...], nominal: Nominal) -> Phrase:
    """Make *this is a book* / *este es un libro*: *this* takes the noun's gender and number."""
    spanish = demonstrative[2 + 2 * nominal.number + (nominal.gender == "f")]
    be = _be(nominal, "ser", "present")
    return same_order((demonstrative[nominal.number], spanish), be) + nominal.phrase


def verb_clause(
    subject: Nominal,
    verb: Verb,
    tense: Tense = "present",
    *,
    negated: bool = False,
    complement: Phrase | None = None,
    clitic: Phrase | None = None,
) -> Phrase:
    """Make *the cat does not eat the apple*; an object pronoun (`clitic`) precedes the verb."""
    auxiliary = Phrase()
    english = _english_form(verb, subject, tense)
    if negated:
        auxiliary = same_order((f"{_do(subject, tense)} not", "no"))
        english = verb.lemma
    eat = same_order((english, _spanish_form(verb, subject, tense)))
    rest, it = complement or Phrase(), clitic or Phrase()
    return in_orders([subject.phrase, auxiliary, eat, it, rest], [subject.phrase, auxiliary, it, eat, rest])


def verb_question(
    subject: Nominal,
    verb: Verb,
    tense: Tense = "present",
    *,
    complement: Phrase | None = None,
    asked: tuple[str, str] | None = None,
) -> Phrase:
    """Make *(what) does the cat eat* / *(que) come el gato*: Spanish has no *do*."""
    what = same_order(asked) if asked else Phrase()
    does = same_order((_do(subject, tense), ""))
    eat = same_order((verb.lemma, _spanish_form(verb, subject, tense)))
    rest = complement or Phrase()
    return in_orders([what, does, subject.phrase, eat, rest], [what, eat, subject.phrase, rest])


def _be(subject: Nominal, copula: str, tense: Tense) -> tuple[str, str]:
    return _BE[tense][subject.person], _COPULAS[copula, tense][subject.person]


def _do(subject: Nominal, tense: Tense) -> str:
    if tense == "past":
        return "did"
    return "does" if PERSONS[subject.person] == "he" else "do"


def _english_form(verb: Verb, subject: Nominal, tense: Tense) -> str:
    if tense == "past":
        return verb.english[2]
    return verb.english[PERSONS[subject.person] == "he"]


def _spanish_form(verb: Verb, subject: Nominal, tense: Tense) -> str:
    return verb.past[subject.number] if tense == "past" else verb.present[subject.person]
