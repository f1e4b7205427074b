"""Sentence patterns of the corpus, each a few lines of grammar.

`sentence` is the whole language: it chooses one of `PATTERNS` by its share. Every pattern takes a
`Derivation` and returns a `Phrase`; the lexicon lists which words can be combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple, TypeVar

from viz_transformer.corpus.derivation import Derivation, Words
from viz_transformer.corpus.grammar import (
    DETERMINERS,
    Nominal,
    Tense,
    copula_clause,
    copula_question,
    joined,
    location,
    name_phrase,
    noun_phrase,
    object_pronoun_phrases,
    pronoun,
    say_verb,
    this_is,
    translate_verb,
    verb_clause,
    verb_question,
    where_is,
    write_verb,
)
from viz_transformer.corpus.lexicon import (
    ADJECTIVES,
    NAMES,
    NOUNS,
    SET_PHRASES,
    TOWNS,
    VERBS,
    Adjective,
    Noun,
    SpanishVerb,
    Verb,
)
from viz_transformer.corpus.phrases import NOTHING, Phrase, after, between_marks, in_orders, same_order

Word = TypeVar("Word", Noun, Adjective, Verb, str)

TOO = ("too", "demasiado")
VERY = ("very", "muy")
#: The most English words of a noun phrase: a determiner, an adjective, the noun.
_NOUN_PHRASE = 3
#: The most English words of a verb: *did not sleep*, *always sleeps*.
_VERB = 3
#: The share of plurals among the nouns that have one.
PLURAL = 0.3
ANIMATE = ("animal", "person")
SUBJECT_PRONOUNS = ("I", "you", "he", "she", "we", "they")
OBJECT_PRONOUNS = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them"}
#: English, Spanish, and the kinds of noun that may follow.
PREPOSITIONS = {
    ("in", "en"): ("place",),
    ("near", "cerca de"): ("place", "thing"),
    ("behind", "detrás de"): ("place", "thing"),
    ("with", "con"): ANIMATE,
}
NOUN = {(noun.lemma, kind): noun for noun in NOUNS for kind in noun.kinds}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}
INTRANSITIVE = tuple(verb for verb in VERBS if not verb.objects)
TRANSITIVE = tuple(verb for verb in VERBS if verb.objects)
TRANSITIVE_VERB = {verb.lemma: verb for verb in TRANSITIVE}
#: What can be too much of an animal, and what of the place that it would have to cross.
ANIMAL_REASONS = tuple(ADJECTIVE[word] for word in ("tired", "sick", "hungry", "scared"))
PLACE_REASONS = tuple(ADJECTIVE[word] for word in ("wide", "narrow", "long", "dangerous", "noisy", "dark"))


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """Return the nouns of some kinds."""
    return tuple(noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds))


@cache
def adjectives_for(kinds: frozenset[str]) -> tuple[Adjective, ...]:
    """Return the adjectives that suit what is of these kinds."""
    return tuple(adjective for adjective in ADJECTIVES if not kinds.isdisjoint(adjective.ser))


@cache
def _evenly(words: tuple[Word, ...]) -> dict[Word, float]:
    return dict.fromkeys(words, 1.0)


@cache
def _numbered(kinds: tuple[str, ...]) -> dict[tuple[Noun, int], float]:
    """Return the nouns of some kinds in singular and plural, all nouns equally often."""
    return {
        (noun, number): share
        for noun in nouns_of(*kinds)
        for number, share in ((0, 1 - PLURAL), (1, PLURAL))
        if noun.english[number] != "-"
    }


def any_noun(d: Derivation, *kinds: str) -> tuple[Noun, int]:
    """Choose a noun of some kinds and its number."""
    return d.choose(
        _numbered(kinds),
        lambda option: option[0].english[option[1]],
        lambda option: tuple(spanish.forms[option[1]] for spanish in option[0].spanish),
        near=_NOUN_PHRASE,
        hold="noun",
    )


def any_adjective(d: Derivation, kinds: frozenset[str], near: int = 0) -> Adjective:
    """Choose an adjective that suits what is of these kinds."""
    return d.choose(
        _evenly(adjectives_for(kinds)),
        lambda adjective: adjective.english,
        lambda adjective: tuple(form for forms in adjective.spanish for form in forms),
        near=near,
    )


def any_verb(d: Derivation, verbs: tuple[Verb, ...]) -> Verb:
    """Choose a verb."""
    return d.choose(_evenly(verbs), lambda verb: verb.english, _spanish_forms, near=_VERB, hold="verb")


def _spanish_forms(verb: Verb) -> tuple[str, ...]:
    return tuple(form for spanish in verb.spanish for form in (*spanish.present, *spanish.past))


def any_of(d: Derivation, words: tuple[str, ...], near: int = 0) -> str:
    """Choose one of some English words."""
    return d.choose(_evenly(words), lambda word: word, near=near)


@cache
def _determiners(
    number: int, mass: bool, subject: bool, possessive: str | None
) -> Mapping[str | None, float]:
    """Return the determiners that a noun may have, with their weights; None is none."""
    own: dict[str | None, float] = {possessive: 0.15} if possessive else {}
    if subject:
        own = {"his": 0.03, "her": 0.03, "their": 0.03}
    weights: dict[str | None, float] = {"the": 0.5, "my": 0.08, "your": 0.05, "our": 0.05, **own}
    weights |= {"this": 0.06, "that": 0.06}
    if number:
        return weights | {"two": 0.06, "three": 0.06, "many": 0.06}
    return weights | ({None: 0.25} if mass and not subject else {}) | ({} if mass else {"a": 0.12})


def any_nominal(
    d: Derivation,
    *kinds: str,
    adjective: float = 0.35,
    subject: bool = True,
    owner: Nominal | None = None,
) -> Nominal:
    """Choose a noun phrase whose noun is of one of the kinds.

    Args:
        d: makes the choices.
        kinds: of the noun.
        adjective: the probability of one.
        subject: whether anybody's *his* or *her* may come before it; else only the owner's.
        owner: whose *his*, *her* or *their* may come before it.
    """
    noun, number = any_noun(d, *kinds)
    possessive = owner.possessive if owner else None
    determiner = d.choose(
        _determiners(number, "mass" in noun.kinds, subject, possessive),
        lambda word: ("a", "an") if word == "a" else DETERMINERS[word][number] if word else "",
        _spanish_determiners,
        near=1,
        hold="noun",
    )
    suits = any_adjective(d, noun.kinds, near=2) if d.chance(adjective) else None
    return noun_phrase(d, determiner, noun, number, suits)


def _spanish_determiners(word: str | None) -> Words:
    if word is None:
        return ""
    return (*DETERMINERS[word][2:], *(("su", "sus") if word == "your" else ()))


def any_subject(d: Derivation, *kinds: str) -> Nominal:
    """Choose a subject: a pronoun, a name, a friend with a name, or a noun of the kinds."""
    form = d.choose({"pronoun": 0.3, "name": 0.06, "friend": 0.06, "noun": 0.58})
    if form == "pronoun":
        return any_pronoun(d, SUBJECT_PRONOUNS)
    if form == "name":
        return any_name(d)
    return friend_by_name(d) if form == "friend" else any_nominal(d, *(kinds or ANIMATE))


def any_pronoun(d: Derivation, words: tuple[str, ...]) -> Nominal:
    """Choose a subject pronoun."""
    word = any_of(d, words, near=1)
    d.say(word)
    return pronoun(d, word)


def any_name(d: Derivation) -> Nominal:
    """Choose a first name."""
    name = _name(d, near=1)
    d.say(name)
    return name_phrase(name)


def _name(d: Derivation, near: int = 0) -> str:
    name = d.choose(_evenly(tuple(NAMES)), lambda name: name, lambda name: NAMES[name][0], near=near)
    d.write(NAMES[name][0])
    return name


def _person_of(d: Derivation, nouns: tuple[Noun, ...], near: int = 0) -> Noun:
    return d.choose(
        _evenly(nouns),
        lambda noun: noun.lemma,
        lambda noun: tuple(spanish.forms[0] for spanish in noun.spanish),
        near=near,
    )


def friend_by_name(d: Derivation) -> Nominal:
    """*my friend Maria* / *mi amiga María*: the name shows the sex."""
    name = _name(d)
    named = name_phrase(name)
    noun = _person_of(d, WITH_NAME, near=_NOUN_PHRASE)
    friend = noun_phrase(d, any_of(d, ("my", "our", "your"), near=1), noun, 0, gender=named.gender)
    d.say(name)
    return replace(friend, phrase=(friend.phrase + named.phrase).using(f"{noun.lemma} {name}"), lemma="")


def any_tense(d: Derivation, subject: Nominal) -> Tense:
    """Choose a tense that the corpus has for the subject."""
    return "past" if subject.is_third and d.chance(0.4) else "present"


def any_object(d: Derivation, verb: Verb, subject: Nominal, tense: Tense) -> tuple[Phrase, SpanishVerb]:
    """Choose a verb's object, and with it the Spanish verb: *know* a person or an answer.

    A person seen, found, known or loved takes the personal *a*.
    """
    if "person" in verb.objects and d.chance(0.1):
        thing = any_name(d)
    else:
        kinds = tuple(sorted(verb.objects))
        thing = any_nominal(d, *kinds, adjective=0.25, subject=False, owner=subject)
    spanish = translate_verb(d, subject, verb, tense, thing.kinds)
    phrase = thing.phrase
    if "person" in thing.kinds:
        d.write("a")
        phrase = after("", "a", phrase)
    if thing.lemma and thing.lemma != "fish":  # see _with_fish
        phrase = phrase.using(f"{verb.lemma} {thing.lemma}")
    return phrase, spanish


def any_place(d: Derivation) -> Phrase:
    """Choose *in the park*, *with the boy*: a preposition and what suits it."""
    options = _evenly(tuple(PREPOSITIONS))
    english, spanish = d.choose(options, lambda words: words[0], lambda words: words[1], near=1)
    d.say(english)
    d.write(spanish)
    return after(english, spanish, any_nominal(d, *PREPOSITIONS[english, spanish], adjective=0.15).phrase)


def _without_object(verb: Verb) -> SpanishVerb:
    (spanish,) = verb.spanish
    return spanish


def intransitive(d: Derivation) -> Phrase:
    """*the black cat sleeps*, *she does not run*, *we walk in the park*."""
    subject, verb = any_subject(d), any_verb(d, INTRANSITIVE)
    tense = any_tense(d, subject)
    extra = d.choose(_EXTRAS, lambda extra: _EXTRA_WORDS[extra][0], lambda extra: _EXTRA_WORDS[extra][1])
    d.write(_EXTRA_WORDS[extra][1])
    spanish = _without_object(verb)
    if extra == "always":
        write_verb(d, subject, verb, tense)
        where: Literal["before", "after"] = "before" if d.chance(0.65) else "after"
        clause = verb_clause(subject, verb, spanish, tense, always=where)
    else:
        negated = d.chance(0.3, "not", "no") if extra in ("nothing", "place") else False
        say_verb(d, subject, verb, tense, negated=negated)
        complement = any_place(d) if extra == "place" else NOTHING
        clause = verb_clause(subject, verb, spanish, tense, negated=negated, complement=complement)
        if extra == "today":
            clause = _today(d, clause)
        if extra == "here":
            clause = _here(d, subject.phrase, verb_clause(_unsaid(subject), verb, spanish, tense))
    return _with_fish(clause, subject.lemma, verb)


_EXTRAS = {"nothing": 0.5, "place": 0.26, "always": 0.08, "today": 0.08, "here": 0.08}
_EXTRA_WORDS = {
    "nothing": ("", ""),
    "place": ("", ""),
    "always": ("always", "siempre"),
    "today": ("today", "hoy"),
    "here": ("here", "aquí"),
}


def _unsaid(subject: Nominal) -> Nominal:
    """Return what agrees as the subject does and has no words."""
    return replace(subject, phrase=NOTHING)


def _today(d: Derivation, clause: Phrase) -> Phrase:
    """Put *today* at the end, in Spanish more often at the beginning."""
    today = same_order(("today", "hoy"))
    return in_orders([clause, today], [today, clause] if d.chance(0.65) else [clause, today])


def _here(d: Derivation, subject: Phrase, verb: Phrase) -> Phrase:
    """*the cat sleeps here*: *el gato duerme aquí*, or less often *aquí duerme el gato*."""
    here = same_order(("here", "aquí"))
    spanish = [subject, verb, here] if d.chance(0.7) else [here, verb, subject]
    return in_orders([subject, verb, here], spanish)


def transitive(d: Derivation) -> Phrase:
    """*the girl eats an apple*, *they did not see the white horse*, *I love cheese*."""
    subject, verb = any_subject(d), any_verb(d, TRANSITIVE)
    tense = any_tense(d, subject)
    negated = d.chance(0.25, "not", "no")
    say_verb(d, subject, verb, tense, negated=negated)
    complement, spanish = any_object(d, verb, subject, tense)
    clause = verb_clause(subject, verb, spanish, tense, negated=negated, complement=complement)
    clause = _with_fish(clause, subject.lemma, verb)
    return _today(d, clause) if not negated and d.chance(0.06, "today", "hoy") else clause


def _with_fish(clause: Phrase, subject: str, verb: Verb) -> Phrase:
    """Note who does what to a fish: the verb decides what *fish* means, so such pairs are held out."""
    if subject == "fish":
        return clause.using(f"fish {verb.lemma}")
    if subject and any(unit.english == "fish" for unit in clause.english):
        return clause.using(f"{subject} {verb.lemma} fish")
    return clause


def transitive_or_not(d: Derivation) -> Phrase:
    """Derive one clause with a verb, with or without an object."""
    return d.choose({transitive: 0.7, intransitive: 0.3})(d)


def object_pronoun(d: Derivation) -> Phrase:
    """*I love you* / *te amo*, *the queen does not see him* / *la reina no lo ve*."""
    subject = any_pronoun(d, SUBJECT_PRONOUNS) if d.chance(0.6) else any_subject(d)
    verb = TRANSITIVE_VERB[any_of_verbs(d, ("see", "love", "find", "know"))]
    spoken = subject.phrase.english[0].english
    others = tuple(word for who, word in OBJECT_PRONOUNS.items() if who != spoken)
    clitic, emphasis = object_pronoun_phrases(d, any_of(d, others))
    tense = any_tense(d, subject)
    write_verb(d, subject, verb, tense)
    spanish = translate_verb(d, subject, verb, tense, frozenset({"person"}))
    negated = d.chance(0.3, "not", "no")
    return verb_clause(subject, verb, spanish, tense, negated=negated, clitic=clitic, complement=emphasis)


def any_of_verbs(d: Derivation, lemmas: tuple[str, ...]) -> str:
    """Choose one of some transitive verbs."""
    return d.choose(
        _evenly(lemmas),
        lambda lemma: TRANSITIVE_VERB[lemma].english,
        lambda lemma: _spanish_forms(TRANSITIVE_VERB[lemma]),
        near=_VERB,
        hold="verb",
    )


def description(d: Derivation) -> Phrase:
    """*the cat is black*, *she was very tired*, *the big houses are not expensive*."""
    if d.chance(0.25):
        subject = any_pronoun(d, SUBJECT_PRONOUNS)
    elif d.chance(0.1):
        subject = friend_by_name(d) if d.chance(0.5) else any_name(d)
    else:
        subject = any_nominal(d, "animal", "person", "thing", "food", "place", adjective=0.2)
    adjective = any_adjective(d, subject.kinds)
    tense = any_tense(d, subject)
    extra = d.choose({"": 0.45, "very": 0.15, "too": 0.15, "not": 0.18, "always": 0.07}, lambda word: word)
    degree = {"very": VERY, "too": TOO}.get(extra)
    clause = copula_clause(
        d, subject, adjective, tense, negated=extra == "not", always=extra == "always", degree=degree
    )
    return _today(d, clause) if extra in ("", "very") and d.chance(0.06, "today", "hoy") else clause


def whereabouts(d: Derivation) -> Phrase:
    """*the cat is in the house*, *the book was near the old door*."""
    subject = any_nominal(d, "animal", "person", "thing")
    d.skip()  # is
    d.expect(("está", "están", "estaba", "estaban"))
    return location(subject, any_place(d), any_tense(d, subject))


def presentation(d: Derivation) -> Phrase:
    """*this is a book*, *those are my red apples*, *this is the house of the girl*."""
    demonstrative = d.choose({"this": 0.5, "that": 0.5}, lambda word: DETERMINERS[word][:2])
    d.skip(2)  # this is
    thing = any_nominal(d, "animal", "person", "thing", "food")
    phrase = this_is(d, demonstrative, thing)
    if d.chance(0.2, "of", "de"):
        d.say("of")
        phrase += after("of", "de", any_nominal(d, "person", adjective=0.15).phrase)
    return phrase


def naming(d: Derivation) -> Phrase:
    """*Maria is my teacher* / *María es mi maestra*: the name shows the sex."""
    name = _name(d)
    named = name_phrase(name)
    d.say(f"{name} is")
    d.write("es")
    noun = _person_of(d, WITH_NAME)
    determiner = any_of(d, ("my", "our", "your", "the"))
    role = noun_phrase(d, determiner, noun, 0, gender=named.gender)
    be = same_order(("is", "es"))
    return (named.phrase + be + role.phrase).using(f"{noun.lemma} {name}")


def question(d: Derivation) -> Phrase:
    """*does the cat sleep*, *what does he eat*, *is the door open*, *where are my books*."""
    asked = {"where": "dónde", "who": "quién", "what": "qué"}
    form = d.choose(
        {"is": 0.22, "where": 0.2, "who": 0.14, "what": 0.2, "does": 0.24},
        lambda form: {"is": ("is", "are"), "does": ("does", "do", "did")}.get(form, form),
        lambda form: asked.get(form, ""),
    )
    for word in ("¿", asked.get(form, ""), "?"):
        d.write(word)
    d.skip({"where": 2, "what": 2}.get(form, 1))  # where is; what does
    if form == "is":
        if d.chance(0.3):
            subject = any_pronoun(d, ("you", "she", "he", "they"))
        else:
            subject = any_nominal(d, "animal", "person", "thing", "food", "place", adjective=0.0)
        return copula_question(d, subject, any_adjective(d, subject.kinds))
    if form == "where":
        return where_is(any_nominal(d, "animal", "person", "thing", adjective=0.3))
    if form == "who":
        who = replace(name_phrase("Ana"), phrase=same_order(("who", "quién")), gender=None)
        verb = any_verb(d, TRANSITIVE)
        say_verb(d, who, verb, "present")
        complement, spanish = any_object(d, verb, replace(who, kinds=frozenset()), "present")
        return between_marks(verb_clause(who, verb, spanish, complement=complement))
    subject = any_subject(d)
    tense = any_tense(d, subject)
    if form == "what":
        verb = TRANSITIVE_VERB[any_of_verbs(d, ("eat", "see", "buy", "want", "have", "find"))]
        write_verb(d, subject, verb, tense)
        (spanish,) = verb.spanish
        return verb_question(subject, verb, spanish, tense, asked=("what", "qué"))
    verb = any_verb(d, VERBS)
    if not verb.objects:
        write_verb(d, subject, verb, tense)
        return verb_question(subject, verb, _without_object(verb), tense)
    d.say(verb.lemma)
    write_verb(d, subject, verb, tense)
    complement, spanish = any_object(d, verb, subject, tense)
    return verb_question(subject, verb, spanish, tense, complement=complement)


def journey(d: Derivation) -> Phrase:
    """*the ticket from Beijing to Shanghai is cheap*, *we walk from the house to the river*."""
    if d.chance(0.5):
        subject = any_subject(d)
        verb = d.choose(_TRAVELLING, lambda verb: verb.english, _spanish_forms)
        negated = d.chance(0.2, "not", "no")
        tense = any_tense(d, subject)
        say_verb(d, subject, verb, tense, negated=negated)
        return verb_clause(
            subject, verb, _without_object(verb), tense, negated=negated, complement=any_route(d)
        )
    noun, number = d.choose(
        _CARRIERS,
        lambda carrier: carrier[0].english[carrier[1]],
        lambda carrier: tuple(spanish.forms[carrier[1]] for spanish in carrier[0].spanish),
    )
    carrier = noun_phrase(d, "the", noun, number)
    carrier = replace(carrier, phrase=carrier.phrase + any_route(d))
    return copula_clause(d, carrier, any_adjective(d, carrier.kinds), any_tense(d, carrier))


def any_route(d: Derivation) -> Phrase:
    """Choose *from Beijing to Shanghai*, *from the house to the river*."""
    d.say("from")
    d.write("de")
    d.write("a")
    if d.chance(0.3):
        places = nouns_of("place")
        here = d.choose(_evenly(places), lambda place: place.lemma)
        start = noun_phrase(d, "the", here, 0).phrase
        d.say("to")
        there = d.choose({place: 1.0 for place in places if place is not here}, lambda place: place.lemma)
        return after("from", "de", start) + after("to", "a", noun_phrase(d, "the", there, 0).phrase)
    town = d.choose(_evenly(tuple(TOWNS)), lambda town: town, TOWNS.__getitem__)
    others = _evenly(tuple(other for other in TOWNS if other != town))
    end = d.choose(others, lambda town: town, TOWNS.__getitem__)
    d.say(f"{town} to {end}")
    d.write(TOWNS[town])
    d.write(TOWNS[end])
    route = same_order(("from", "de"), (town, TOWNS[town]), ("to", "a"), (end, TOWNS[end]))
    return route.using(f"{town} {end}")


_TRAVELLING = {
    verb: 2.0 if verb.lemma == "travel" else 1.0
    for verb in INTRANSITIVE
    if verb.lemma in ("travel", "walk", "run")
}
_CARRIERS = {
    (NOUN[lemma, kind], number): 1.0
    for lemma, kind in (("train", "thing"), ("ticket", "thing"), ("road", "place"), ("bridge", "place"))
    for number in (0, 1)
}


def reason(d: Derivation) -> Phrase:
    """*the animal did not cross the street because it was too tired / too wide*.

    *it* is dropped in Spanish, so the adjective's ending (and *ser* or *estar*) must be taken
    from the noun that *it* stands for: the animal that is tired, or the street that is wide.
    """
    for word in ("no", "porque"):
        d.write(word)
    animal, number = any_noun(d, "animal")
    determiners = {"the": 0.7, "this": 0.1, "that": 0.1, "my": 0.1}
    determiner = d.choose(determiners, lambda word: DETERMINERS[word][number], _spanish_determiners)
    walker = noun_phrase(d, determiner, animal, number)
    tense: Tense = "past" if d.chance(0.7) else "present"
    cross = TRANSITIVE_VERB["cross"]
    say_verb(d, walker, cross, tense, negated=True)
    place, many = any_noun(d, "place")
    crossed = noun_phrase(d, "the", place, many)
    about_animal = d.chance(0.5)
    meant = walker if about_animal else crossed
    reasons = _evenly(ANIMAL_REASONS if about_animal else PLACE_REASONS)
    adjective = d.choose(reasons, lambda adjective: adjective.english)
    it = replace(meant, phrase=same_order(("they" if meant.number else "it", "")), lemma="")
    clause = verb_clause(walker, cross, cross.spanish[0], tense, negated=True, complement=crossed.phrase)
    because = same_order(("because", "porque"))
    sentence = clause + because + copula_clause(d, it, adjective, tense, degree=TOO)
    return sentence.using(f"{animal.lemma} … {place.lemma}")


def belonging(d: Derivation) -> Phrase:
    """*the teacher lost her book* / *la maestra perdió su libro*: *her* shows the sex."""
    owner_noun = _person_of(d, OPEN)
    determiners = {"the": 0.7, "my": 0.15, "our": 0.15}
    determiner = d.choose(determiners, lambda word: word, _spanish_determiners)
    owner = noun_phrase(d, determiner, owner_noun, 0)
    possessive = owner.possessive
    assert possessive is not None
    if d.chance(0.25, "and", "y"):
        d.say("and")
        kind = "wife" if owner.gender == "m" else "husband"
        other, number = (NOUN[kind, kind], 0) if d.chance(0.7) else any_noun(d, "animal")
        both = joined(owner, noun_phrase(d, possessive, other, number))
        verb, tense = any_verb(d, INTRANSITIVE), any_tense(d, both)
        say_verb(d, both, verb, tense)
        where = any_place(d) if d.chance(0.4) else NOTHING
        clause = verb_clause(both, verb, _without_object(verb), tense, complement=where)
        return clause.using(f"{owner_noun.lemma} {possessive} {other.lemma}")
    verb = TRANSITIVE_VERB[any_of_verbs(d, ("lose", "find", "want", "have", "see"))]
    tense = any_tense(d, owner)
    negated = d.chance(0.15, "not", "no")
    say_verb(d, owner, verb, tense, negated=negated)
    thing_noun, number = any_noun(d, "thing")
    thing = noun_phrase(d, possessive, thing_noun, number)
    spanish = translate_verb(d, owner, verb, tense, thing.kinds)
    clause = verb_clause(owner, verb, spanish, tense, negated=negated, complement=thing.phrase)
    return clause.using(f"{owner_noun.lemma} {possessive} {thing_noun.lemma}")


def knowing(d: Derivation) -> Phrase:
    """*I know that the cat sleeps* / *sé que el gato duerme*, *she does not know where the key is*."""
    subject = any_subject(d, "person")
    know = TRANSITIVE_VERB["know"]
    (saber,) = know.translations(frozenset({"knowledge"}))
    negated = d.chance(0.35, "not", "no")
    say_verb(d, subject, know, "present", negated=negated)
    if d.chance(0.5, "that", "que"):
        d.say("that")
        inner = any_subject(d)
        verb = any_verb(d, INTRANSITIVE)
        fact = same_order(("that", "que")) + verb_clause(inner, verb, _without_object(verb))
    else:
        d.say("where")
        d.write("dónde")
        fact = where_is(any_nominal(d, "animal", "person", "thing", adjective=0.1), asked=False)
    return verb_clause(subject, know, saber, negated=negated, complement=fact)


def two_clauses(d: Derivation) -> Phrase:
    """*the cat sleeps and the dog runs*, *she eats bread but he wants an apple*."""
    joint = d.choose(
        {("and", "y"): 0.5, ("but", "pero"): 0.5}, lambda words: words[0], lambda words: words[1]
    )
    d.write(joint[1])
    first = d.choose(_SIMPLE)(d)
    d.begins_with(first + same_order(joint))
    return first + same_order(joint) + d.choose(_SIMPLE)(d)


def set_phrase(d: Derivation) -> Phrase:
    """*good morning* / *¡buenos días!*, *my name is Ana* / *me llamo Ana*."""
    if d.chance(0.3):
        name = _name(d)
        me = "me llamo" if d.chance(0.75) else "mi nombre es"
        d.write(me)
        return same_order(("my name is", me), (name, NAMES[name][0]))
    english = d.choose(
        _evenly(tuple(SET_PHRASES)), lambda english: english, lambda english: tuple(SET_PHRASES[english])
    )
    return same_order((english, d.choose(SET_PHRASES[english], spanish=lambda words: words)))


#: The people whose sex English leaves open, and those of them who may be called by a name, too.
OPEN = tuple(noun for noun in nouns_of("person") if len({each.gender for each in noun.spanish}) == 2)
WITH_NAME = tuple(noun for noun in OPEN if noun.lemma != "singer")
_SIMPLE = {intransitive: 1.0, transitive: 1.0, description: 1.0}


class Pattern(NamedTuple):
    """A pattern, its share of the sentences, and the words that they hold: all of a text, one of a tuple."""

    derive: Callable[[Derivation], Phrase]
    share: float
    english: str | tuple[str, ...] = ""
    spanish: str | tuple[str, ...] = ""


PATTERNS = (
    Pattern(intransitive, 13),
    Pattern(transitive, 15),
    Pattern(object_pronoun, 6),
    Pattern(description, 12),
    Pattern(whereabouts, 4),
    Pattern(
        presentation,
        7,
        ("this", "these", "that", "those"),
        ("este", "esta", "esto", "estos", "estas", "ese", "esa", "eso", "esos", "esas"),
    ),
    Pattern(naming, 3, "is", "es"),
    Pattern(question, 11, spanish="¿ ?"),
    Pattern(journey, 6, "from", ("de", "del")),
    Pattern(reason, 12, "because too not", "porque demasiado no"),
    Pattern(belonging, 10, ("his", "her"), ("su", "sus")),
    Pattern(knowing, 4, ("know", "knows"), ("que", "dónde")),
    Pattern(two_clauses, 6, ("and", "but"), ("y", "pero")),
    Pattern(set_phrase, 3),
)
_SHARES = {pattern: pattern.share for pattern in PATTERNS}


def sentence(d: Derivation) -> Phrase:
    """Derive a sentence of any pattern."""
    pattern = d.choose(_SHARES, lambda pattern: pattern.english, lambda pattern: pattern.spanish)
    return pattern.derive(d)
