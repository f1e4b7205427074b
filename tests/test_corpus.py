"""The generated corpus: its Spanish, its links, its split and its exact probabilities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice
from random import Random

import numpy as np
import pytest

from viz_transformer.corpus import (
    SentencePair,
    draw,
    english_spanish,
    gap_words,
    grammar,
    is_held_out,
    is_spanish,
    sentences,
    translation_tokens,
    translations,
    vocabulary_of,
)
from viz_transformer.corpus.batches import batches, pad
from viz_transformer.corpus.derivation import GAP, NOTHING_HEARD, Derivation, Heard, derivations
from viz_transformer.corpus.derivation import draw as draw_one
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.lexicon import (
    ADJECTIVES,
    FEMININE_PLURAL,
    NAMES,
    NOUNS,
    PERSONS,
    SET_PHRASES,
    VERBS,
    YOU,
)
from viz_transformer.corpus.phrases import Phrase, after
from viz_transformer.corpus.sentences import ADJECTIVE, NOUN, PATTERNS, TRANSITIVE_VERB
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Vocabulary

ANY = Derivation(rng=Random(0))
SLEEP, RUN = (next(verb for verb in VERBS if verb.lemma == lemma) for lemma in ("sleep", "run"))
SEE = TRANSITIVE_VERB["see"]


def np_of(determiner: str | None, noun: str, number: int = 0, adjective: str = "", kind: str = ""):
    named = NOUN[noun, kind] if kind else next(each for each in NOUNS if each.lemma == noun)
    return grammar.noun_phrase(ANY, determiner, named, number, ADJECTIVE[adjective] if adjective else None)


def clause(subject: grammar.Nominal, verb=SLEEP, *args, **options) -> Phrase:
    return grammar.verb_clause(subject, verb, verb.spanish[0], *args, **options)


def pronoun(word: str) -> grammar.Nominal:
    return grammar.pronoun(ANY, word)


def words_of(text: str) -> list[str]:
    return text.split()


def written(phrase: Phrase) -> tuple[str, str]:
    pair = SentencePair.from_phrase(phrase)
    return " ".join(pair.source), " ".join(pair.target)


@pytest.mark.parametrize(
    ("phrase", "english", "spanish"),
    [
        (np_of("the", "cat", 0, "black").phrase, "the black cat", "el gato negro"),
        (np_of("the", "cow", 1, "black").phrase, "the black cows", "las vacas negras"),
        (np_of("a", "apple").phrase, "an apple", "una manzana"),
        (np_of("a", "book", 0, "old").phrase, "an old book", "un libro viejo"),
        (np_of("our", "house", 1, "green").phrase, "our green houses", "nuestras casas verdes"),
        (
            clause(np_of("the", "cat"), SLEEP, "past", negated=True),
            "the cat did not sleep",
            "el gato no durmió",
        ),
        (clause(pronoun("she"), RUN), "she runs", "corre"),
        (clause(pronoun("we"), RUN, negated=True), "we do not run", "no corremos"),
        (
            clause(pronoun("I"), SEE, clitic=grammar.object_pronoun_phrases(ANY, "her")[0]),
            "I see her",
            "la veo",
        ),
        (
            grammar.verb_question(np_of("the", "cat"), SLEEP, SLEEP.spanish[0]),
            "does the cat sleep",
            "¿ duerme el gato ?",
        ),
        (
            grammar.verb_question(
                pronoun("they"),
                TRANSITIVE_VERB["eat"],
                TRANSITIVE_VERB["eat"].spanish[0],
                "past",
                asked=("what", "qué"),
            ),
            "what did they eat",
            "¿ qué comieron ?",
        ),
        (
            grammar.copula_clause(ANY, np_of("the", "cat"), ADJECTIVE["black"]),
            "the cat is black",
            "el gato es negro",
        ),
        (
            grammar.copula_clause(ANY, pronoun("she"), ADJECTIVE["tired"], "past", degree=sentences.TOO),
            "she was too tired",
            "estaba demasiado cansada",
        ),
        (
            grammar.copula_question(ANY, np_of("the", "door"), ADJECTIVE["open"]),
            "is the door open",
            "¿ está abierta la puerta ?",
        ),
        (grammar.where_is(np_of("my", "key", 1)), "where are my keys", "¿ dónde están mis llaves ?"),
        (
            grammar.where_is(np_of("my", "key"), asked=False),
            "where my key is",
            "dónde está mi llave",
        ),
        (grammar.this_is(ANY, "that", np_of("my", "table", 1)), "those are my tables", "esas son mis mesas"),
        (
            grammar.location(np_of("the", "dog"), after("near", "cerca de", np_of("the", "park").phrase)),
            "the dog is near the park",
            "el perro está cerca del parque",
        ),
        (after("to", "a", np_of("the", "river").phrase), "to the river", "al río"),
        (after("to", "a", np_of("the", "beach").phrase), "to the beach", "a la playa"),
    ],
)  # fmt: skip
def test_the_grammar_writes_correct_pairs(phrase: Phrase, english: str, spanish: str) -> None:
    assert written(phrase) == (english, spanish)


def test_links_join_the_words_that_translate_each_other() -> None:
    pair = SentencePair.from_phrase(
        clause(
            np_of("the", "cat", 0, "black"),
            SEE,
            negated=True,
            complement=after("", "a", np_of("the", "boy").phrase),
        )
    )
    assert " ".join(pair.source) == "the black cat does not see the boy"
    assert " ".join(pair.target) == "el gato negro no ve al niño"
    named = [(pair.target[there], pair.source[here]) for there, here in pair.links]
    assert named == [
        ("el", "the"),
        ("gato", "cat"),
        ("negro", "black"),
        ("no", "does"),
        ("no", "not"),
        ("ve", "see"),
        ("al", "the"),
        ("niño", "boy"),
    ]


def test_the_lexicon_has_every_form() -> None:
    assert all(len(spanish.present) == len(PERSONS) for verb in VERBS for spanish in verb.spanish)
    assert all(spanish.gender in ("m", "f") for noun in NOUNS for spanish in noun.spanish)
    assert {noun.lemma for noun in NOUNS if sum(n.lemma == noun.lemma for n in NOUNS) > 1} == {"fish"}
    kinds = {kind for noun in NOUNS for kind in noun.kinds}
    assert all(set(each.ser) <= kinds for each in ADJECTIVES)
    assert all(len(forms) == 4 for each in ADJECTIVES for forms in each.spanish)


def test_what_english_leaves_open_sums_to_one() -> None:
    tables = [noun.spanish for noun in NOUNS] + [adjective.spanish for adjective in ADJECTIVES]
    tables += [YOU, *SET_PHRASES.values()]
    for verb in VERBS:
        tables += [verb.translations(frozenset({kind})) for kind in verb.objects] or [
            verb.translations(frozenset())
        ]
    for table in tables:
        assert sum(table.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for adjective in ADJECTIVES for share in adjective.ser.values())


# Drawn sentences


@pytest.fixture(scope="module")
def drawn() -> list[SentencePair]:
    return list(islice(draw(5), 12_000))


@pytest.fixture(scope="module")
def texts(drawn) -> list[str]:
    return [" ".join(pair.target) for pair in drawn]


def test_the_same_seed_draws_the_same_sentences() -> None:
    first, again, other = (list(islice(draw(seed), 50)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.derive.__name__)
def test_every_pattern_links_every_spanish_word(pattern) -> None:
    """Only the personal *a*, *a usted* and the marks stand for no English word."""
    rng = Random(0)
    for _ in range(200):
        pair = SentencePair.from_phrase(draw_one(pattern.derive, rng))
        linked = {there for there, _ in pair.links}
        alone = [word for place, word in enumerate(pair.target) if place not in linked]
        assert set(alone) <= {"a", "usted", "ustedes", "¿", "?"}, (pair.source, pair.target)


def test_marks_come_in_pairs_around_the_sentence(texts) -> None:
    n_marked = Counter()
    for text in texts:
        for opening, closing in ("¿?", "¡!"):
            found = text.startswith(opening), text.endswith(closing)
            assert found[0] == found[1], text
            assert text.count(opening) == text.count(closing) == found[0], text
            n_marked[opening] += found[0]
    assert min(n_marked.values()) > 100


def test_a_question_is_one_on_both_sides(drawn) -> None:
    asking = ("is", "are", "does", "do", "did", "where", "who", "what", "how")
    for pair in drawn:
        assert (pair.source[0].lower() in asking) == (pair.target[0] == "¿"), (pair.source, pair.target)


def forms(adjective: bool) -> dict[str, set[tuple[str, int]]]:
    """Return the genders and numbers of each form of an adjective, or of a noun."""
    found: dict[str, set[tuple[str, int]]] = {}
    if adjective:
        for each in ADJECTIVES:
            for words in each.spanish:
                for word, agrees in zip(words, (("m", 0), ("f", 0), ("m", 1), ("f", 1)), strict=True):
                    found.setdefault(word, set()).add(agrees)
    else:
        for noun in NOUNS:
            for spanish in noun.spanish:
                for number, word in enumerate(spanish.forms):
                    found.setdefault(word, set()).add((spanish.gender, number))
    return found


def test_article_noun_and_adjective_agree(drawn) -> None:
    """Read as a teacher reads: whatever the grammar meant, the three words must fit each other."""
    determiners = {
        "el": "m0", "la": "f0", "los": "m1", "las": "f1", "un": "m0", "una": "f0",
        "este": "m0", "esta": "f0", "estos": "m1", "estas": "f1", "ese": "m0", "esa": "f0",
        "esos": "m1", "esas": "f1", "nuestro": "m0", "nuestra": "f0", "nuestros": "m1",
        "nuestras": "f1", "muchos": "m1", "muchas": "f1", "del": "m0", "al": "m0",
    }  # fmt: skip
    nouns, adjectives = forms(adjective=False), forms(adjective=True)
    n_checked = Counter()
    for pair in drawn:
        for one, two, three in zip(pair.target, pair.target[1:], (*pair.target[2:], ""), strict=False):
            if one in determiners and two in nouns:
                gender, number = determiners[one]
                assert (gender, int(number)) in nouns[two], pair.target
                n_checked["noun"] += 1
                if three in adjectives:
                    assert (gender, int(number)) in adjectives[three], pair.target
                    n_checked["adjective"] += 1
    assert n_checked["noun"] > 8_000
    assert n_checked["adjective"] > 1_000


def test_de_el_and_a_el_are_one_word(texts) -> None:
    joined = " ".join(f"| {text} |" for text in texts)
    assert not re.search(r"\b(de|a) el\b", joined)
    assert len(re.findall(r"\bdel\b", joined)) > 100
    assert len(re.findall(r"\bal\b", joined)) > 100


def test_a_person_seen_takes_the_personal_a(drawn) -> None:
    """Also after *know*, *find* and *love*; a thing, an animal or an answer takes none."""
    verbs = {
        "see",
        "sees",
        "saw",
        "know",
        "knows",
        "knew",
        "find",
        "finds",
        "found",
        "love",
        "loves",
        "loved",
    }
    people = {form for noun in NOUNS if "person" in noun.kinds for form in noun.english} | set(NAMES)
    others = {form for noun in NOUNS if "person" not in noun.kinds for form in noun.english} - people
    n_checked = Counter()
    for pair in drawn:
        for index, word in enumerate(pair.source[:-1]):
            if word not in verbs:
                continue
            rest = pair.source[index + 1 :]
            head = next((at for at, each in enumerate(rest[:3]) if each in people | others), None)
            if head is None or set(rest[:head]) & {
                "and",
                "but",
                "where",
                "that",
                "him",
                "her",
                "you",
                "today",
            }:
                continue
            (first, *_) = sorted(there for there, here in pair.links if here == index + 1)
            marked = pair.target[first] == "al" or pair.target[first - 1] == "a"
            assert marked == (rest[head] in people), (pair.source, pair.target)
            n_checked[marked] += 1
    assert min(n_checked[True], n_checked[False]) > 300


#: Forms that are another word, or none, without their accent.
ACCENTED = words_of(
    "está están estás dónde qué quién cómo durmió corrió cantó caminó trabajó viajó nadó jugó "
    "comió compró perdió encontró cruzó tocó tenía tenían quería querían conocía sabía sé aquí río "
    "pájaro días adiós María Lucía Pekín París rápido médico detrás canción"
)


def test_words_carry_their_accents(texts) -> None:
    words = Counter(word for text in texts for word in text.split())
    assert not {word for word in ACCENTED if not words[word]}
    bare = str.maketrans("áéíóú", "aeiou")
    # This and that; and what I do, where the accent makes it what he did.
    other_words = words_of("esta estas que como se canto camino compro cruzo toco trabajo viajo nado")
    for word in ACCENTED:
        if (without := word.translate(bare)) not in other_words:
            assert not words[without], without
    assert not any(words[word] for word in ("vió", "fué", "dió", "tí"))


def test_a_past_and_a_copula_are_written_with_their_accents(drawn) -> None:
    """*cruzo* is right of *I cross* and never of *crossed*; *esta* is *this* and never *is*."""
    past = {"crossed": "cruzó", "walked": "caminó", "sang": "cantó", "bought": "compró", "worked": "trabajó"}
    allowed = {word: {spanish, spanish.replace("ó", "aron")} for word, spanish in past.items()}
    allowed |= {
        "is": {"es", "está"},
        "are": {"son", "están", "eres", "estás", "es", "está", "somos", "estamos"},
    }
    n_checked = Counter()
    for pair in drawn:
        for index, word in enumerate(pair.source):
            if word in allowed and "name" not in pair.source and pair.source[0] != "how":
                (there,) = [pair.target[there] for there, here in pair.links if here == index]
                assert there in allowed[word], pair.target
                n_checked[word] += 1
    assert min(n_checked[word] for word in allowed) > 20


def test_no_y_before_the_sound_i(texts) -> None:
    assert sum(" y " in text for text in texts) > 200
    assert not any(re.search(r"\by (?:i|hi(?!e))", text) for text in texts)


def test_names_towns_and_i_are_the_only_capitals(drawn) -> None:
    capitals = {word for pair in drawn for word in (*pair.source, *pair.target) if word != word.lower()}
    spanish = {spanish for spanish, _ in NAMES.values()} | set(sentences.TOWNS.values())
    assert capitals == {"I", *NAMES, *sentences.TOWNS, *spanish}


# Exact probabilities


def by_text(found: dict[str, float]) -> dict[str, float]:
    return pytest.approx(found, abs=1e-12)


def test_translations_by_hand() -> None:
    assert translations("the teacher sleeps") == by_text(
        {
            "la maestra duerme": 0.43,
            "el profesor duerme": 0.32,
            "el maestro duerme": 0.23,
            "la profesora duerme": 0.02,
        }
    )
    assert translations("you are tired") == by_text(
        {
            "estás cansado": YOU["tú"] * 0.6,
            "estás cansada": YOU["tú"] * 0.4,
            "usted está cansado": YOU["usted"] * 0.6,
            "usted está cansada": YOU["usted"] * 0.4,
            "ustedes están cansados": YOU["ustedes"] * 0.7,
            "ustedes están cansadas": YOU["ustedes"] * 0.3,
        }
    )
    women = 0.43 + 0.02
    assert translations("the teacher lost her book") == by_text(
        {"la maestra perdió su libro": 0.43 / women, "la profesora perdió su libro": 0.02 / women}
    )
    feminine = 0.4 * FEMININE_PLURAL
    assert translations("the friends sleep") == by_text(
        {"los amigos duermen": 0.6 / (0.6 + feminine), "las amigas duermen": feminine / (0.6 + feminine)}
    )


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("my friend Maria sleeps", "mi amiga María duerme"),
        ("David is my teacher", None),
        ("the fish swims", "el pez nada"),
        ("she knows the answer", "sabe la respuesta"),
        ("she knows the girl", "conoce a la niña"),
        ("he plays the piano", "toca el piano"),
        ("he plays", "juega"),
        ("The animal didn't cross the street because it was too tired!",
         "el animal no cruzó la calle porque estaba demasiado cansado"),
        ("the animal did not cross the street because it was too wide",
         "el animal no cruzó la calle porque era demasiado ancha"),
        ("the cow did not cross the river because it was too wide",
         "la vaca no cruzó el río porque era demasiado ancho"),
    ],
)  # fmt: skip
def test_the_rest_of_the_sentence_decides(english: str, spanish: str | None) -> None:
    found = translations(english)
    if spanish is None:
        assert all(text.startswith("David es mi ") for text in found)
        assert {text.split()[-1] for text in found} == {"profesor", "maestro"}
    else:
        assert found == {spanish: pytest.approx(1)}


def test_a_fish_that_is_eaten_is_another_word() -> None:
    assert set(translations("we eat the fish")) == {"comemos el pescado"}


@pytest.mark.parametrize(
    ("english", "first", "best"),
    [("the teacher sleeps", ("el", 0.55), "la maestra duerme"),
     ("the teacher works in the park", ("el", 0.55), "la maestra trabaja en el parque"),
     ("the student sings", ("el", 0.53), "la alumna canta")],
)  # fmt: skip
def test_garden_paths(english: str, first: tuple[str, float], best: str) -> None:
    """The likeliest first word does not begin the likeliest translation."""
    begin: Counter[str] = Counter()
    for tokens, probability in translation_tokens(english).items():
        begin[tokens[0]] += probability
    assert begin.most_common(1)[0] == (first[0], pytest.approx(first[1]))
    assert next(iter(translations(english))) == best
    assert not best.startswith(first[0])


@pytest.mark.parametrize(
    ("pattern", "n"),
    [(sentences.set_phrase, 3_000), (sentences.description, 9_000), (sentences.question, 9_000)],
)
def test_exact_probabilities_are_the_shares_of_many_draws(pattern, n: int) -> None:
    rng = Random(1)
    seen: dict[str, Counter] = {}
    for _ in range(n):
        source, target, _ = draw_one(pattern, rng).write()
        seen.setdefault(" ".join(source), Counter())[target] += 1
    often = {english: found for english, found in seen.items() if found.total() >= 18}
    assert any(len(found) > 1 for found in often.values())
    for english, found in often.items():
        exact = translation_tokens(english)
        assert set(found) <= set(exact)
        for target, p in exact.items():
            expected = p * found.total()
            assert abs(found[target] - expected) <= 4 * np.sqrt(expected * (1 - p)) + 3, (english, target)


def test_every_drawn_pair_parses_back(drawn) -> None:
    different = {pair.source: pair for pair in drawn[:500]}
    for pair in different.values():
        found = translation_tokens(" ".join(pair.source))
        assert pair.target in found, pair
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_every_drawn_translation_is_spanish(drawn) -> None:
    assert all(is_spanish(pair.target) for pair in drawn[:150])


@pytest.mark.parametrize(
    "text",
    ["el gata duerme", "la gato duerme", "el gato duermen", "el gato cruzo la calle", "el gato esta cansado",
     "duerme el gato ?", "el negro gato duerme", "veo el niño", "cerca de el parque", "the cat sleeps", ""],
)  # fmt: skip
def test_wrong_spanish_is_refused(text: str) -> None:
    assert not is_spanish(text.split())


# What is skipped while derivations are followed


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch):
    """A language so small that all its derivations can be followed."""
    caches = (sentences.nouns_of, sentences.adjectives_for, sentences._numbered)
    keys = [
        ("cat", "animal"),
        ("teacher", "person"),
        ("river", "place"),
        ("street", "place"),
        ("apple", "food"),
    ]
    for name, value in {
        "NOUNS": tuple(NOUN[key] for key in keys),
        "ADJECTIVES": tuple(ADJECTIVE[word] for word in ("tired", "good", "long", "cheap")),
        "NAMES": {name: NAMES[name] for name in ("Ana", "David")},
        "SUBJECT_PRONOUNS": ("I", "you", "they"),
        "VERBS": (SLEEP, TRANSITIVE_VERB["know"]),
        "INTRANSITIVE": (SLEEP, RUN),
        "TRANSITIVE": (TRANSITIVE_VERB["know"], TRANSITIVE_VERB["eat"]),
        "PREPOSITIONS": {("near", "cerca de"): ("place",)},
        "_determiners": lambda *_: {"the": 1.0, "your": 1.0},
        "any_subject": lambda d, *_: sentences.any_pronoun(d, sentences.SUBJECT_PRONOUNS),
        "_SIMPLE": {_near: 1.0},
    }.items():
        monkeypatch.setattr(sentences, name, value)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def _near(d: Derivation) -> Phrase:
    """*the cat sleeps*, *your good cats run*."""
    subject = sentences.any_nominal(d, "animal")
    verb = sentences.any_verb(d, (SLEEP, RUN))
    grammar.say_verb(d, subject, verb, "present")
    return clause(subject, verb)


def pairs_of(program: Callable[[Derivation], Phrase], heard: Heard = NOTHING_HEARD) -> Counter:
    """Return the probability of every pair that a program writes."""
    found: Counter = Counter()
    for phrase, probability in derivations(program, heard):
        english, spanish, _ = phrase.write()
        found[english, spanish] += probability
    return found


@pytest.mark.parametrize(
    "pattern",
    [each.derive for each in PATTERNS if each.derive not in (sentences.belonging, sentences.presentation)],
    ids=lambda pattern: pattern.__name__,
)
def test_what_is_skipped_could_not_have_led_to_the_text(few_words, pattern) -> None:
    """With a text given, the same pairs come with the same probabilities as when all ways are followed."""
    everything = pairs_of(pattern)
    assert sum(everything.values()) == pytest.approx(1)
    pairs = Random(0).sample(sorted(everything), 8)
    for english, spanish in pairs:
        heard = pairs_of(pattern, Heard(english=english))
        assert _only(heard, 0, english) == pytest.approx(_only(everything, 0, english))
        heard = pairs_of(pattern, Heard(spanish=spanish))
        assert _only(heard, 1, spanish) == pytest.approx(_only(everything, 1, spanish))
        gap = len(spanish) // 2
        if spanish[gap] in ("del", "al"):
            continue
        heard = pairs_of(pattern, Heard(spanish=(*spanish[:gap], GAP, *spanish[gap + 1 :])))
        assert _filled(heard, spanish, gap) == pytest.approx(_filled(everything, spanish, gap))


def _only(found: Counter, side: int, text: tuple[str, ...]) -> dict:
    return {pair: share for pair, share in found.items() if pair[side] == text}


def _filled(found: Counter, spanish: tuple[str, ...], gap: int) -> dict:
    return {
        pair: share
        for pair, share in found.items()
        if len(pair[1]) == len(spanish)
        and pair[1][:gap] == spanish[:gap]
        and pair[1][gap + 1 :] == spanish[gap + 1 :]
        and pair[1][gap] not in ("del", "al")  # looked for apart
    }


def test_gaps_by_hand() -> None:
    assert gap_words(words_of("¡ [?] !")) == by_text(
        {"hola": 1 / 2.7, "gracias": 1 / 2.7, "adiós": 0.7 / 2.7}
    )
    assert gap_words(words_of("me llamo [?]")) == by_text({spanish: 1 / 6 for spanish, _ in NAMES.values()})
    assert gap_words(words_of("¿ dónde [?] el gato ?")) == by_text({"está": 1})
    assert gap_words(words_of("el perro está cerca [?] parque")) == by_text({"del": 1})


def test_a_gap_is_filled_by_what_agrees() -> None:
    found = gap_words(words_of("la [?] está cansada"))
    assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    feminine = {spanish.forms[0] for noun in NOUNS for spanish in noun.spanish if spanish.gender == "f"}
    assert set(found) <= feminine
    assert {"maestra", "vaca"} <= set(found)
    assert not {"mesa", "calle"} & set(found)


@pytest.mark.parametrize(
    "text",
    [
        "the dragon sleeps",
        "the cat sleeps the dog runs",
        "el gato duerme",
        "cat the black",
        "",
        " . ",
        "cat " * 2_000,
        "<script>alert(1)</script>",
    ],
)
def test_no_probabilities_of_what_the_grammar_does_not_make(text: str) -> None:
    with pytest.raises(UserError, match=r"^the grammar does not make .*give a sentence such as"):
        translations(text)


def test_typed_text_is_forgiven() -> None:
    assert translations("  The TEACHER sleeps. ") == translations("the teacher sleeps")
    assert translations("I don't sleep") == translations("i do not sleep") == {"no duermo": pytest.approx(1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("el gato duerme", r"^0 gaps in .*write \[\?\]"),
        ("el [?] [?]", "^2 gaps in"),
        ("el [?] cruzo la calle", "the grammar makes no sentence like"),
    ],
)
def test_a_text_needs_one_gap_that_can_be_filled(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        gap_words(text.split())


# The split


@pytest.fixture(scope="module")
def corpus():
    return english_spanish(n_train=12_000, n_held_out=300, n_of_a_kind=60)


def kinds_of(corpus) -> dict[str, tuple[SentencePair, ...]]:
    return {
        "any": corpus.held_out,
        "reasons": corpus.held_out_reasons,
        "owners": corpus.held_out_owners,
        "fish": corpus.held_out_fish,
    }


def test_the_corpus_is_a_small_language(corpus) -> None:
    vocabulary = vocabulary_of(corpus.train)
    assert 600 <= len(vocabulary) <= 800
    held_out = vocabulary_of([pair for pairs in kinds_of(corpus).values() for pair in pairs])
    assert len(set(held_out.tokens) - set(vocabulary.tokens)) <= 2  # rare words, in 12,000 of 300,000 pairs


def test_training_holds_none_of_the_held_out_combinations(corpus) -> None:
    seen = Counter(combination for pair in corpus.train for combination in pair.combinations)
    assert len(seen) > 1_000
    assert sum(n for combination, n in seen.items() if is_held_out(combination)) == 0
    sources = {pair.source for pair in corpus.train}
    for pairs in kinds_of(corpus).values():
        for pair in pairs:
            assert pair.combinations - set(seen)
            assert pair.source not in sources


def test_a_tenth_of_the_combinations_is_held_out(drawn) -> None:
    combinations = {combination for pair in drawn for combination in pair.combinations}
    assert np.mean([is_held_out(each) for each in combinations]) == pytest.approx(0.1, abs=0.02)


def test_held_out_sentences_are_of_their_kind_and_come_once(corpus) -> None:
    for name, pairs in kinds_of(corpus).items():
        assert len(pairs) == (300 if name == "any" else 60)
        assert len({pair.source for pair in pairs}) == len(pairs)
    assert all("because" in pair.source for pair in corpus.held_out_reasons)
    assert all({"her", "his"} & set(pair.source) for pair in corpus.held_out_owners)
    assert all("fish" in pair.source for pair in corpus.held_out_fish)


def test_the_first_lessons_cat_is_new_to_the_model() -> None:
    assert is_held_out("black cat")
    assert not is_held_out("cat is black")


def test_set_phrases_are_in_training(corpus) -> None:
    pairs = {(" ".join(pair.source), " ".join(pair.target)) for pair in corpus.train}
    assert {(english, max(shares, key=shares.get)) for english, shares in SET_PHRASES.items()} <= pairs


def test_an_epoch_holds_every_pair_once(corpus) -> None:
    pairs = corpus.train[:1000]
    vocabulary = vocabulary_of(corpus.train)
    stream = batches(pairs, vocabulary, batch_size=64, seed=0)
    read = [tuple(row) for batch in islice(stream, 16) for row in batch.source]
    expected = [tuple(vocabulary.source_ids(" ".join(pair.source))) for pair in pairs]
    stripped = [tuple(index for index in row if index != vocabulary.pad_id) for row in read]
    assert sorted(stripped) == sorted(expected)


def test_batches_of_tokens_hold_every_pair_once_and_little_padding() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers((3, 0), (40, 9), (2000, 2)).tolist()
    lengths = [(n, n + more) for n, more in drawn]
    pairs = [TextPair(" ".join(["a"] * n), " ".join(["b"] * m)) for n, m in lengths]
    vocabulary = Vocabulary(["a"], ["b"])
    stream = batches(pairs, vocabulary, 1, seed=0, batch_tokens=600)
    read: list[tuple[int, int]] = []
    padded, real = 0, 0
    while len(read) < len(pairs):
        batch = next(stream)
        assert max(batch.source.size, batch.target.size) <= 600
        n_source = (batch.source != vocabulary.pad_id).sum(1)
        n_target = (batch.target != vocabulary.pad_id).sum(1)
        read += zip((n_source - 1).tolist(), (n_target - 2).tolist(), strict=True)
        padded += batch.source.size + batch.target.size
        real += int(n_source.sum() + n_target.sum())
    assert sorted(read) == sorted(lengths)
    assert 1 - real / padded < 0.06


def test_rows_are_padded_on_the_right() -> None:
    np.testing.assert_array_equal(pad([[5, 6, 7], [8]], 0), [[5, 6, 7], [8, 0, 0]])
