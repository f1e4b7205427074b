"""Grammar of the corpus: noun phrases, clauses, agreement, and what English leaves open.

Every function that has something to choose takes the `Derivation` first. What English leaves open,
the sex of a teacher or who *you* is, is chosen with the probabilities of the lexicon, and everything
that depends on it agrees: the article, the adjective, *her* or *his*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from viz_transformer.corpus.derivation import Derivation
from viz_transformer.corpus.lexicon import (
    FEMININE_PLURAL,
    NAMES,
    PERSONS,
    YOU,
    Adjective,
    Copula,
    Gender,
    Noun,
    SpanishNoun,
    SpanishVerb,
    Verb,
)
from viz_transformer.corpus.phrases import NOTHING, Phrase, Unit, between_marks, in_orders, same_order

Tense = Literal["present", "past"]
YOU_ALONE, HE, THEY = (PERSONS.index(word) for word in ("you", "he", "they"))

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
their their su su sus sus
- two       - - dos dos
- three     - - tres tres
- many      - - muchos muchas
"""
DETERMINERS = {
    next(word for word in line.split() if word != "-"): tuple(line.split())
    for line in _DETERMINERS.strip().splitlines()
}
#: The polite *your* is the *his* and *her* of Spanish.
_POLITE = DETERMINERS["his"][2:]

_BE = {"present": ("am", "are", "is", "are", "are"), "past": ("was", "were", "was", "were", "were")}
_COPULAS: dict[tuple[Copula, Tense], tuple[str, ...]] = {
    ("ser", "present"): ("soy", "eres", "es", "somos", "son"),
    ("ser", "past"): ("era", "eras", "era", "éramos", "eran"),
    ("estar", "present"): ("estoy", "estás", "está", "estamos", "están"),
    ("estar", "past"): ("estaba", "estabas", "estaba", "estábamos", "estaban"),
}


@dataclass(frozen=True)
class Nominal:
    """A subject or object: its phrase and what agrees with it.

    Attributes:
        phrase: its words.
        english: which of `PERSONS` its English verb agrees with.
        spanish: which of them its Spanish verb agrees with; differs for a polite *you*.
        gender: None for a pronoun without one; see `gender_of`.
        number: of Spanish adjectives.
        kinds: what it names.
        lemma: its noun; empty for a pronoun or name.
    """

    phrase: Phrase
    english: int
    spanish: int
    gender: Gender | None
    number: int
    kinds: frozenset[str]
    lemma: str = ""

    @property
    def is_third(self) -> bool:
        """Whether it is a *he* or a *they*: only those have a past tense in the corpus."""
        return self.english in (HE, THEY)

    @property
    def possessive(self) -> str | None:
        """The determiner of what belongs to it, if it is a *he*, a *she* or a *they*."""
        if self.english == THEY:
            return "their"
        if self.english != HE or "person" not in self.kinds:
            return None
        return "her" if self.gender == "f" else "his"


def translate_noun(
    d: Derivation, noun: Noun, number: int, gender: Gender | None = None
) -> tuple[SpanishNoun, Gender]:
    """Choose a noun's translation, of a given gender if its sex is known."""
    options = {
        spanish: share * (FEMININE_PLURAL if number and spanish.gender == "f" else 1)
        for spanish, share in noun.spanish.items()
        if gender in (None, spanish.gender)
    }
    chosen = d.choose(options, spanish=lambda spanish: spanish.forms[number])
    return chosen, chosen.gender


def translate_adjective(d: Derivation, adjective: Adjective, gender: Gender, number: int) -> str:
    """Choose an adjective's translation and return the form that agrees."""
    form = 2 * number + (gender == "f")
    return d.choose(adjective.spanish, spanish=lambda forms: forms[form])[form]


def who_you_are(d: Derivation) -> str:
    """Choose who *you* is, once in a sentence: ``"tú"``, ``"usted"`` or ``"ustedes"``."""
    return d.once("you", YOU)


def translate_determiner(d: Derivation, determiner: str, gender: Gender, number: int) -> str:
    """Return the Spanish determiner; *your* depends on who *you* is."""
    form = 2 * number + (gender == "f")
    if determiner == "your" and who_you_are(d) != "tú":
        return _POLITE[form]
    return DETERMINERS[determiner][2 + form]


def noun_phrase(
    d: Derivation,
    determiner: str | None,
    noun: Noun,
    number: int,
    adjective: Adjective | None = None,
    gender: Gender | None = None,
) -> Nominal:
    """Make *the black cat* / *el gato negro*: the adjective follows the noun and agrees with it.

    Args:
        d: makes the choices, and compares the English words.
        determiner: a key of `DETERMINERS`, or None for a bare noun (*bread* / *pan*).
        noun: the noun.
        number: 0 for singular, 1 for plural.
        adjective: an adjective that suits the noun.
        gender: of a person whose sex is known.
    """
    words = [noun.english[number]]
    if adjective is not None:
        words.insert(0, adjective.english)
    if determiner is not None:
        article = DETERMINERS[determiner][number]
        words.insert(0, "an" if article == "a" and words[0][0] in "aeiou" else article)
    d.say(" ".join(words))
    d.release("noun")
    spanish, gender = translate_noun(d, noun, number, gender)
    the = black = NOTHING
    if determiner is not None:
        the = same_order((words[0], translate_determiner(d, determiner, gender, number)))
    if adjective is not None:
        black = same_order((adjective.english, translate_adjective(d, adjective, gender, number)))
    cat = same_order((words[-1], spanish.forms[number]))
    d.write(" ".join(unit.spanish for part in (the, cat, black) for unit in part.spanish))
    phrase = in_orders([the, black, cat], [the, cat, black])
    if adjective is not None:
        phrase = phrase.using(f"{adjective.english} {noun.lemma}")
    person = THEY if number else HE
    return Nominal(phrase, person, person, gender, number, noun.kinds, noun.lemma)


def name_phrase(name: str) -> Nominal:
    """Make *Maria* / *María*."""
    spanish, gender = NAMES[name]
    return Nominal(same_order((name, spanish)), HE, HE, gender, 0, frozenset({"person"}))


def pronoun(d: Derivation, english: str) -> Nominal:
    """Make a subject pronoun, which Spanish drops, except *usted* and *ustedes*."""
    kinds = frozenset({"person"})
    if english == "you" and (you := who_you_are(d)) != "tú":
        d.write(you)
        number = int(you == "ustedes")
        return Nominal(same_order(("you", you)), YOU_ALONE, THEY if number else HE, None, number, kinds)
    person = HE if english in ("he", "she") else PERSONS.index(english.lower())
    gender: dict[str, Gender] = {"he": "m", "she": "f"}
    number = int(english in ("we", "they"))
    return Nominal(same_order((english, "")), person, person, gender.get(english), number, kinds)


def gender_of(d: Derivation, nominal: Nominal) -> Gender:
    """Return the gender an adjective takes; *I*, *you*, *we* and *they* leave it open, so it is chosen."""
    if nominal.gender is not None:
        return nominal.gender
    masculine = 0.7 if nominal.number else 0.6
    genders: dict[Gender, float] = {"m": masculine, "f": 1 - masculine}
    return d.once(("gender", nominal.english), genders)


def translate_be(d: Derivation, subject: Nominal, adjective: Adjective, tense: Tense) -> tuple[str, str]:
    """Choose *ser* or *estar*: with some adjectives both are possible and mean different things."""
    ser = next(share for kind, share in adjective.ser.items() if kind in subject.kinds)
    options: dict[Copula, float] = {"ser": ser, "estar": 1 - ser}
    be = _be(subject, d.choose(options, spanish=lambda copula: _be(subject, copula, tense)[1]), tense)
    d.write(be[1])
    return be


def copula_clause(
    d: Derivation,
    subject: Nominal,
    adjective: Adjective,
    tense: Tense = "present",
    *,
    negated: bool = False,
    always: bool = False,
    degree: tuple[str, str] | None = None,
) -> Phrase:
    """Make *the cat is (not) (always) (very) black*: ser or estar, as the adjective asks."""
    be = same_order(translate_be(d, subject, adjective, tense))
    no = same_order(("not", "no")) if negated else NOTHING
    very = same_order(degree) if degree else NOTHING
    ever = same_order(("always", "siempre")) if always else NOTHING
    for part in (no, very, ever):
        d.write(" ".join(unit.spanish for unit in part.spanish))
    form = translate_adjective(d, adjective, gender_of(d, subject), subject.number)
    d.write(form)
    black = same_order((adjective.english, form))
    spanish_be = [ever, be] if always and d.chance(0.65) else [be, ever]
    clause = in_orders(
        [subject.phrase, be, no, ever, very, black], [subject.phrase, no, *spanish_be, very, black]
    )
    return clause.using(f"{subject.lemma} is {adjective.english}") if subject.lemma else clause


def copula_question(d: Derivation, subject: Nominal, adjective: Adjective) -> Phrase:
    """Make *is the cat black* / *¿es negro el gato?*."""
    be = same_order(translate_be(d, subject, adjective, "present"))
    form = translate_adjective(d, adjective, gender_of(d, subject), subject.number)
    d.write(form)
    black = same_order((adjective.english, form))
    question = in_orders([be, subject.phrase, black], [be, black, subject.phrase])
    if subject.lemma:
        question = question.using(f"{subject.lemma} is {adjective.english}")
    return between_marks(question)


def location(subject: Nominal, where: Phrase, tense: Tense = "present") -> Phrase:
    """Make *the cat is in the house*: places take estar."""
    return subject.phrase + same_order(_be(subject, "estar", tense)) + where


def where_is(subject: Nominal, *, asked: bool = True) -> Phrase:
    """Make *where is the cat*, or after a verb *where the cat is* / *dónde está el gato*."""
    where, be = same_order(("where", "dónde")), same_order(_be(subject, "estar", "present"))
    spanish = [where, be, subject.phrase]
    if asked:
        return between_marks(in_orders([where, be, subject.phrase], spanish))
    return in_orders([where, subject.phrase, be], spanish)


def this_is(d: Derivation, demonstrative: str, nominal: Nominal) -> Phrase:
    """Make *this is a book* / *este es un libro*, or *esto es un libro*, which shows no gender."""
    number = nominal.number
    gender = gender_of(d, nominal)
    spanish = DETERMINERS[demonstrative][2 + 2 * number + (gender == "f")]
    if not number and "person" not in nominal.kinds and not d.chance(0.7):
        spanish = {"this": "esto", "that": "eso"}[demonstrative]
    english, be = DETERMINERS[demonstrative][number], _be(nominal, "ser", "present")
    d.write(f"{spanish} {be[1]}")
    return same_order((english, spanish), be) + nominal.phrase


def verb_clause(
    subject: Nominal,
    verb: Verb,
    spanish: SpanishVerb,
    tense: Tense = "present",
    *,
    negated: bool = False,
    always: Literal["before", "after"] | None = None,
    complement: Phrase = NOTHING,
    clitic: Phrase = NOTHING,
) -> Phrase:
    """Make *the cat does not eat the apple*; an object pronoun (`clitic`) precedes the verb.

    *always* comes before the English verb, and before or after the Spanish one.
    """
    do_not, english = english_verb(subject, verb, tense, negated=negated)
    auxiliary = same_order((do_not, "no")) if negated else NOTHING
    eat = same_order((english, _spanish_form(spanish, subject, tense)))
    ever = same_order(("always", "siempre")) if always else NOTHING
    predicate = [ever, clitic, eat] if always == "before" else [clitic, eat, ever]
    return in_orders(
        [subject.phrase, auxiliary, ever, eat, clitic, complement],
        [subject.phrase, auxiliary, *predicate, complement],
    )


def verb_question(
    subject: Nominal,
    verb: Verb,
    spanish: SpanishVerb,
    tense: Tense = "present",
    *,
    complement: Phrase = NOTHING,
    asked: tuple[str, str] | None = None,
) -> Phrase:
    """Make *(what) does the cat eat* / *¿(qué) come el gato?*: Spanish has no *do*."""
    what = same_order(asked) if asked else NOTHING
    does = same_order((_do(subject, tense), ""))
    eat = same_order((verb.lemma, _spanish_form(spanish, subject, tense)))
    return between_marks(
        in_orders([what, does, subject.phrase, eat, complement], [what, eat, subject.phrase, complement])
    )


_OBJECT_PRONOUNS = {"me": "me", "him": "lo", "her": "la", "us": "nos"}


def object_pronoun_phrases(d: Derivation, english: str) -> tuple[Phrase, Phrase]:
    """Return what *me*, *you*, *her* … is before the Spanish verb, and what may follow: *a usted*."""
    several = {"los": 0.7, "las": 0.3}
    emphasis = NOTHING
    if english in _OBJECT_PRONOUNS:
        clitic = _OBJECT_PRONOUNS[english]
    elif english == "them":
        clitic = d.choose(several, spanish=str)
    elif (you := who_you_are(d)) == "tú":
        clitic = "te"
    else:
        clitic = d.choose({"lo": 0.6, "la": 0.4} if you == "usted" else several, spanish=str)
        emphasis = Phrase((), (Unit("", f"a {you}"),))
        d.write(f"a {you}")
    d.write(clitic)
    return same_order((english, clitic)), emphasis


def joined(first: Nominal, second: Nominal) -> Nominal:
    """Make *the doctor and his wife*: a plural, masculine unless both are feminine."""
    gender: Gender = "f" if first.gender == second.gender == "f" else "m"
    phrase = first.phrase + same_order(("and", "y")) + second.phrase
    return replace(first, phrase=phrase, english=THEY, spanish=THEY, gender=gender, number=1, lemma="")


def _be(subject: Nominal, copula: Copula, tense: Tense) -> tuple[str, str]:
    return _BE[tense][subject.english], _COPULAS[copula, tense][subject.spanish]


def _do(subject: Nominal, tense: Tense) -> str:
    if tense == "past":
        return "did"
    return "does" if subject.english == HE else "do"


def english_verb(subject: Nominal, verb: Verb, tense: Tense, *, negated: bool = False) -> tuple[str, str]:
    """Return the English auxiliary, such as *does not*, and the form of the verb after it."""
    if negated:
        return f"{_do(subject, tense)} not", verb.lemma
    return "", verb.english[2] if tense == "past" else verb.english[subject.english == HE]


def say_verb(d: Derivation, subject: Nominal, verb: Verb, tense: Tense, *, negated: bool = False) -> None:
    """Tell the derivation the verb's words; what they are in Spanish may depend on the object.

    Raises:
        ContradictionError: if something else was observed.
    """
    d.say(" ".join(english_verb(subject, verb, tense, negated=negated)))
    write_verb(d, subject, verb, tense)


def write_verb(d: Derivation, subject: Nominal, verb: Verb, tense: Tense) -> None:
    """Tell the derivation the Spanish verb, if there is only one; see `translate_verb`."""
    d.release("verb")
    forms = tuple(_spanish_form(spanish, subject, tense) for spanish in verb.spanish)
    if len(forms) == 1:
        d.write(forms[0])
    else:
        d.expect(forms, hold="verb")


def translate_verb(
    d: Derivation, subject: Nominal, verb: Verb, tense: Tense, kinds: frozenset[str]
) -> SpanishVerb:
    """Choose a verb's translation before an object of these kinds, after `write_verb`."""
    options = verb.translations(kinds & verb.objects)
    d.release("verb")
    if len(verb.spanish) == 1:
        return d.choose(options)
    chosen = d.choose(options, spanish=lambda spanish: _spanish_form(spanish, subject, tense))
    d.write(_spanish_form(chosen, subject, tense))
    return chosen


def _spanish_form(verb: SpanishVerb, subject: Nominal, tense: Tense) -> str:
    return verb.past[subject.spanish == THEY] if tense == "past" else verb.present[subject.spanish]
