"""Random words and phrases for the sentence patterns, drawn with a `random.Random`."""

from __future__ import annotations

from functools import cache
from random import Random

from viz_transformer.corpus.grammar import (
    DEFINITE,
    DETERMINERS,
    Nominal,
    Phrase,
    Tense,
    after,
    bare_noun,
    noun_phrase,
    pronoun,
)
from viz_transformer.corpus.lexicon import ADJECTIVES, NOUNS, VERBS, Adjective, Noun, Verb

ANIMATE = ("animal", "person")
SUBJECT_PRONOUNS = ("i", "you", "he", "she", "we", "they")
#: English, Spanish, and the kinds of noun that may follow.
PREPOSITIONS = (
    ("in", "en", ("place",)),
    ("near", "cerca de", ("place", "thing")),
    ("behind", "detras de", ("place", "thing")),
    ("with", "con", ANIMATE),
)
INTRANSITIVE = tuple(verb for verb in VERBS if not verb.objects)
TRANSITIVE = tuple(verb for verb in VERBS if verb.objects)
VERB = {verb.lemma: verb for verb in VERBS}
NOUN = {noun.lemma: noun for noun in NOUNS}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """Return the nouns of some kinds."""
    return tuple(noun for noun in NOUNS if noun.kind in kinds)


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that suit a noun."""
    return tuple(a for a in ADJECTIVES if noun.kind in a.kinds or noun.lemma in a.kinds)


def draw_nominal(rng: Random, *kinds: str, adjective_share: float = 0.4) -> Nominal:
    """Draw a noun phrase whose noun is of one of the kinds."""
    noun = rng.choice(nouns_of(*kinds))
    number = int(rng.random() < 0.35)
    fitting = [words for words in DETERMINERS if words[number] != "-"]
    determiner = DEFINITE if rng.random() < 0.5 else rng.choice(fitting)
    adjective = rng.choice(adjectives_for(noun)) if rng.random() < adjective_share else None
    return noun_phrase(determiner, noun, number, adjective)


def draw_subject(rng: Random, pronoun_share: float = 0.35) -> Nominal:
    """Draw a subject: a pronoun, or an animal or person."""
    if rng.random() < pronoun_share:
        return pronoun(rng.choice(SUBJECT_PRONOUNS))
    return draw_nominal(rng, *ANIMATE)


def draw_tense(rng: Random, subject: Nominal) -> Tense:
    """Draw a tense that the corpus has for the subject."""
    return "past" if subject.is_third and rng.random() < 0.4 else "present"


def draw_complement(rng: Random, verb: Verb) -> Phrase:
    """Draw a verb's object; a person seen, found or loved takes the personal *a*."""
    if rng.random() < 0.15:
        noun = rng.choice(nouns_of(*verb.objects))
        thing = bare_noun(noun)
        return thing.phrase.using(f"{verb.lemma} {noun.lemma}")
    thing = draw_nominal(rng, *verb.objects, adjective_share=0.3)
    phrase = after("", "a", thing.phrase) if thing.kind == "person" else thing.phrase
    return phrase.using(f"{verb.lemma} {thing.lemma}")


def draw_place(rng: Random) -> Phrase:
    """Draw *in the park*, *with the boy*: a preposition and what suits it."""
    english, spanish, kinds = rng.choice(PREPOSITIONS)
    return after(english, spanish, draw_nominal(rng, *kinds, adjective_share=0.2).phrase)
