"""Sentence patterns of the corpus, each a few lines of grammar.

`PATTERNS` pairs each with its share of the corpus. Every pattern takes a `random.Random` and
returns a `Phrase`; the lexicon says which words can be combined.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from viz_transformer.corpus.grammar import (
    DEFINITE,
    DEMONSTRATIVES,
    DETERMINERS,
    INDEFINITE,
    Nominal,
    Phrase,
    Tense,
    after,
    copula_clause,
    copula_question,
    location,
    noun_phrase,
    pronoun,
    same_order,
    this_is,
    verb_clause,
    verb_question,
    where_question,
)
from viz_transformer.corpus.lexicon import (
    ADJECTIVES,
    NAMES,
    NOUNS,
    SET_PHRASES,
    TOWNS,
    VERBS,
    Noun,
)
from viz_transformer.corpus.random_phrases import (
    ADJECTIVE,
    INTRANSITIVE,
    NOUN,
    SUBJECT_PRONOUNS,
    TRANSITIVE,
    VERB,
    adjectives_for,
    draw_complement,
    draw_nominal,
    draw_place,
    draw_subject,
    draw_tense,
    nouns_of,
)

TOO = ("too", "demasiado")
VERY = ("very", "muy")

OBJECT_PRONOUNS = {
    "i": ("me", "me"),
    "you": ("you", "te"),
    "he": ("him", "lo"),
    "she": ("her", "la"),
    "we": ("us", "nos"),
    "they": ("them", "los"),
}
#: What can be too much of an animal, and what of the place that it would have to cross.
ANIMAL_REASONS = tuple(ADJECTIVE[word] for word in ("tired", "sick", "hungry", "scared"))
PLACE_REASONS = tuple(ADJECTIVE[word] for word in ("wide", "narrow", "long", "dangerous", "noisy", "dark"))


def intransitive(rng: Random) -> Phrase:
    """*the black cat sleeps*, *she does not run*, *we walk in the park*."""
    subject = draw_subject(rng)
    where = draw_place(rng) if rng.random() < 0.35 else None
    verb, tense = rng.choice(INTRANSITIVE), draw_tense(rng, subject)
    return verb_clause(subject, verb, tense, negated=rng.random() < 0.3, complement=where)


def transitive(rng: Random) -> Phrase:
    """*the girl eats an apple*, *they did not see the white horse*, *i love cheese*."""
    subject, verb = draw_subject(rng), rng.choice(TRANSITIVE)
    tense = draw_tense(rng, subject)
    negated = rng.random() < 0.25
    return verb_clause(subject, verb, tense, negated=negated, complement=draw_complement(rng, verb))


def object_pronoun(rng: Random) -> Phrase:
    """*i love you* / *te amo*, *the queen does not see him* / *la reina no lo ve*."""
    subject = draw_subject(rng, pronoun_share=0.6)
    verb = VERB[rng.choice(("see", "love", "find"))]
    spoken = subject.phrase.english[0].english
    others = [pair for who, pair in OBJECT_PRONOUNS.items() if who != spoken]
    clitic = same_order(rng.choice(others))
    tense = draw_tense(rng, subject)
    return verb_clause(subject, verb, tense, negated=rng.random() < 0.3, clitic=clitic)


def description(rng: Random) -> Phrase:
    """*the cat is black*, *she was very tired*, *the big houses are not expensive*."""
    if rng.random() < 0.25:
        subject = pronoun(rng.choice(SUBJECT_PRONOUNS))
        fitting = tuple(adjective for adjective in ADJECTIVES if "person" in adjective.kinds)
    else:
        subject = draw_nominal(rng, "animal", "person", "thing", "food", "place", adjective_share=0.2)
        fitting = adjectives_for(NOUN[subject.lemma])
    degree = rng.choice((None, None, None, VERY, TOO))
    return copula_clause(
        subject,
        rng.choice(fitting),
        draw_tense(rng, subject),
        negated=rng.random() < 0.2,
        degree=degree,
    )


def whereabouts(rng: Random) -> Phrase:
    """*the cat is in the house*, *the book was near the old door*."""
    subject = draw_nominal(rng, "animal", "person", "thing")
    return location(subject, draw_place(rng), draw_tense(rng, subject))


def presentation(rng: Random) -> Phrase:
    """*this is a book*, *those are my red apples*, *this is the house of the girl*."""
    thing = draw_nominal(rng, "animal", "person", "thing", "food")
    if rng.random() < 0.5 and thing.number == 0:
        noun = NOUN[thing.lemma]
        adjective = rng.choice(adjectives_for(noun)) if rng.random() < 0.4 else None
        thing = noun_phrase(INDEFINITE, noun, 0, adjective)
    phrase = this_is(rng.choice(DEMONSTRATIVES), thing)
    if rng.random() < 0.25:
        phrase += after("of", "de", draw_nominal(rng, "person", adjective_share=0.2).phrase)
    return phrase


def question(rng: Random) -> Phrase:
    """*does the cat sleep*, *what does he eat*, *is the door open*, *where are my books*."""
    form = rng.randrange(5)
    if form == 0:
        noun = rng.choice(NOUNS)
        subject = noun_phrase(DEFINITE, noun, rng.randrange(2))
        return copula_question(subject, rng.choice(adjectives_for(noun)))
    if form == 1:
        return where_question(draw_nominal(rng, "animal", "person", "thing", adjective_share=0.3))
    if form == 2:
        verb = rng.choice(TRANSITIVE)
        who = same_order(("who", "quien"))
        asker = Nominal(who, pronoun("he").person, "m", 0, "person")
        return verb_clause(asker, verb, complement=draw_complement(rng, verb))
    subject = draw_subject(rng)
    tense = draw_tense(rng, subject)
    if form == 3:
        verb = VERB[rng.choice(("eat", "see", "buy", "want", "have", "find"))]
        return verb_question(subject, verb, tense, asked=("what", "que"))
    verb = rng.choice(VERBS)
    complement = draw_complement(rng, verb) if verb.objects else None
    return verb_question(subject, verb, tense, complement=complement)


def journey(rng: Random) -> Phrase:
    """*the ticket from beijing to shanghai is cheap*, *we walk from the house to the river*."""
    if rng.random() < 0.3:
        here, there = rng.sample(nouns_of("place"), 2)
        route = after("from", "de", noun_phrase(DEFINITE, here, 0).phrase)
        route += after("to", "a", noun_phrase(DEFINITE, there, 0).phrase)
    else:
        start, end = rng.sample(sorted(TOWNS), 2)
        route = same_order(("from", "de"), (start, TOWNS[start]), ("to", "a"), (end, TOWNS[end]))
        route = route.using(f"{start} {end}")
    if rng.random() < 0.5:
        subject = draw_subject(rng)
        verb = VERB[rng.choice(("travel", "travel", "walk", "run"))]
        negated = rng.random() < 0.2
        return verb_clause(subject, verb, draw_tense(rng, subject), negated=negated, complement=route)
    carrier = noun_phrase(DEFINITE, NOUN[rng.choice(("train", "ticket", "road", "bridge"))], rng.randrange(2))
    carrier = Nominal(
        carrier.phrase + route,
        carrier.person,
        carrier.gender,
        carrier.number,
        carrier.kind,
        carrier.lemma,
    )
    return copula_clause(carrier, rng.choice(adjectives_for(NOUN[carrier.lemma])), draw_tense(rng, carrier))


def reason(rng: Random) -> Phrase:
    """*the animal did not cross the street because it was too tired / too wide*.

    *it* is dropped in Spanish, so the adjective's ending (and *ser* or *estar*) must be taken
    from the noun that *it* stands for: the animal that is tired, or the street that is wide.
    """
    animal, place = rng.choice(nouns_of("animal")), rng.choice(nouns_of("place"))
    return crossing(rng, animal, place)


def animal_and_place(animal: Noun, place: Noun) -> str:
    """Return the combination by which *reason* sentences are split."""
    return f"{animal.lemma} … {place.lemma}"


def crossing(rng: Random, animal: Noun, place: Noun) -> Phrase:
    """Make a *reason* sentence over one animal and one place."""
    numbers = (int(rng.random() < 0.2), int(rng.random() < 0.2))
    determiner = DEFINITE if rng.random() < 0.7 else rng.choice((DETERMINERS[2], DETERMINERS[4]))
    walker = noun_phrase(determiner, animal, numbers[0])
    crossed = noun_phrase(DEFINITE, place, numbers[1])
    tense: Tense = "past" if rng.random() < 0.7 else "present"
    about_animal = rng.random() < 0.5
    meant = walker if about_animal else crossed
    adjective = rng.choice(ANIMAL_REASONS if about_animal else PLACE_REASONS)
    it = Nominal(
        same_order(("they" if meant.number else "it", "")),
        meant.person,
        meant.gender,
        meant.number,
        meant.kind,
    )
    clause = verb_clause(walker, VERB["cross"], tense, negated=True, complement=crossed.phrase)
    because = same_order(("because", "porque"))
    sentence = clause + because + copula_clause(it, adjective, tense, degree=TOO)
    return sentence.using(animal_and_place(animal, place))


def two_clauses(rng: Random) -> Phrase:
    """*the cat sleeps and the dog runs*, *she eats bread but he wants an apple*."""
    simple = (intransitive, transitive, description)
    joint = same_order(rng.choice((("and", "y"), ("but", "pero"))))
    return rng.choice(simple)(rng) + joint + rng.choice(simple)(rng)


def set_phrase(rng: Random) -> Phrase:
    """*good morning* / *buenos dias*, *my name is ana* / *me llamo ana*."""
    if rng.random() < 0.3:
        name = rng.choice(NAMES)
        return same_order(("my name is", "me llamo"), (name, name))
    english = rng.choice(tuple(SET_PHRASES))
    return same_order((english, SET_PHRASES[english]))


#: Each pattern with its share of the sentences drawn.
PATTERNS: tuple[tuple[Callable[[Random], Phrase], float], ...] = (
    (intransitive, 12),
    (transitive, 16),
    (object_pronoun, 7),
    (description, 14),
    (whereabouts, 6),
    (presentation, 9),
    (question, 12),
    (journey, 8),
    (reason, 16),
    (two_clauses, 8),
    (set_phrase, 2),
)
