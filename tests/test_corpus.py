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
from viz_transformer.corpus.derivation import GAP, NOTHING_OBSERVED, Derivation, Observed, derivations
from viz_transformer.corpus.derivation import draw as draw_one
from viz_transformer.corpus.lexicon import ADJECTIVES, FEMININE_PLURAL, NAMES, NOUNS, SET_PHRASES, VERBS, YOU
from viz_transformer.corpus.phrases import Phrase
from viz_transformer.corpus.sentences import ADJECTIVE, NOUN, PATTERNS, TRANSITIVE_VERB
from viz_transformer.errors import UserError

# The exact translations

CERTAIN = """
the black cows sleep | las vacas negras duermen
an apple is red | una manzana es roja
I see our green houses | veo nuestras casas verdes
they bought an old book | compraron un libro viejo
the cat did not sleep | el gato no durmió
I don't sleep | no duermo
she runs | corre
I see her | la veo
does the cat sleep | ¿duerme el gato?
what did they eat | ¿qué comieron?
the cat is black | el gato es negro
she was too tired | estaba demasiado cansada
is the door open | ¿está abierta la puerta?
where are my keys | ¿dónde están mis llaves?
she does not know where the keys are | no sabe dónde están las llaves
those are my tables | esas son mis mesas
the dog is near the park | el perro está cerca del parque
the road from the river to the forest is dangerous | el camino del río al bosque es peligroso
David ran from the street to the beach | David corrió de la calle a la playa
she crossed the street | cruzó la calle
my friend Maria sleeps | mi amiga María duerme
the fish swims | el pez nada
we eat the fish | comemos el pescado
she knows the answer | sabe la respuesta
she knows the girl | conoce a la niña
he plays the piano | toca el piano
he plays | juega
the animal did not cross the street because it was too wide | el animal no cruzó la calle porque era demasiado ancha
the cow did not cross the river because it was too wide | la vaca no cruzó el río porque era demasiado ancho
The animal didn't cross the street because it was too tired! | el animal no cruzó la calle porque estaba demasiado cansado
"""  # noqa: E501


def test_sentences_that_leave_nothing_open_have_the_one_right_translation() -> None:
    table = dict(line.split(" | ") for line in CERTAIN.strip().splitlines())
    found = {english: translations(english) for english in table}
    assert found == {english: pytest.approx({text: 1}, abs=1e-12) for english, text in table.items()}


def test_ambiguous_sentences_have_the_probabilities_worked_by_hand() -> None:
    women, feminine = 0.43 + 0.02, 0.4 * FEMININE_PLURAL
    assert translations("  The TEACHER sleeps. ") == pytest.approx(
        {
            "la maestra duerme": 0.43,
            "el profesor duerme": 0.32,
            "el maestro duerme": 0.23,
            "la profesora duerme": 0.02,
        }
    )
    assert translations("you are tired") == pytest.approx(
        {
            "estás cansado": YOU["tú"] * 0.6,
            "estás cansada": YOU["tú"] * 0.4,
            "usted está cansado": YOU["usted"] * 0.6,
            "usted está cansada": YOU["usted"] * 0.4,
            "ustedes están cansados": YOU["ustedes"] * 0.7,
            "ustedes están cansadas": YOU["ustedes"] * 0.3,
        }
    )
    assert translations("the teacher lost her book") == pytest.approx(
        {"la maestra perdió su libro": 0.43 / women, "la profesora perdió su libro": 0.02 / women}
    )
    assert translations("the friends sleep") == pytest.approx(
        {"los amigos duermen": 0.6 / (0.6 + feminine), "las amigas duermen": feminine / (0.6 + feminine)}
    )
    assert {text.split()[-1] for text in translations("David is my teacher")} == {"profesor", "maestro"}
    # The likeliest first word does not begin the likeliest translation.
    for english, share, best in (
        ("the teacher sleeps", 0.55, "la maestra duerme"),
        ("the teacher works in the park", 0.55, "la maestra trabaja en el parque"),
        ("the student sings", 0.53, "la alumna canta"),
    ):
        begin: Counter[str] = Counter()
        for tokens, probability in translation_tokens(english).items():
            begin[tokens[0]] += probability
        assert begin.most_common(1)[0] == ("el", pytest.approx(share))
        assert next(iter(translations(english))) == best


def pairs_of(program: Callable[[Derivation], Phrase], observed: Observed = NOTHING_OBSERVED) -> Counter:
    """Return the probability of every pair that a program writes."""
    found: Counter = Counter()
    for phrase, probability in derivations(program, observed):
        english, spanish, _ = phrase.write()
        found[english, spanish] += probability
    return found


def test_links_join_the_words_that_translate_each_other() -> None:
    english = "the black cat does not see the boy"
    ((phrase, _),) = derivations(sentences.transitive, Observed(english=tuple(english.split())))
    pair = SentencePair.from_phrase(phrase)
    assert " ".join(pair.source) == english
    named = " ".join(f"{pair.target[there]}-{pair.source[here]}" for there, here in pair.links)
    assert named == "el-the gato-cat negro-black no-does no-not ve-see al-the niño-boy"


# Drawn sentences


def words_of(text: str) -> set[str]:
    return set(text.split())


@pytest.fixture(scope="module")
def drawn() -> list[SentencePair]:
    return list(islice(draw(5), 12_000))


def test_every_pattern_links_every_spanish_word_and_the_seed_decides() -> None:
    """Only the personal *a*, *a usted* and the marks stand for no English word."""
    assert list(islice(draw(3), 50)) == list(islice(draw(3), 50)) != list(islice(draw(4), 50))
    for pattern in PATTERNS:
        rng = Random(0)
        for _ in range(200):
            pair = SentencePair.from_phrase(draw_one(pattern.derive, rng))
            linked = {there for there, _ in pair.links}
            alone = {word for place, word in enumerate(pair.target) if place not in linked}
            assert alone <= {"a", "usted", "ustedes", "¿", "?"}, (pair.source, pair.target)


def test_marks_come_in_pairs_and_a_question_is_one_on_both_sides(drawn) -> None:
    asking = ("is", "are", "does", "do", "did", "where", "who", "what", "how")
    n_marked = Counter()
    for pair in drawn:
        assert (pair.source[0].lower() in asking) == (pair.target[0] == "¿"), (pair.source, pair.target)
        for opening, closing in ("¿?", "¡!"):
            marked = pair.target[0] == opening
            assert (pair.target[-1] == closing) == marked, pair.target
            assert pair.target.count(opening) == pair.target.count(closing) == marked, pair.target
            n_marked[opening] += marked
    assert min(n_marked.values()) > 100


def test_article_noun_and_adjective_agree(drawn) -> None:
    """Read as a teacher reads: however it was made, the three words must fit each other."""
    determiners = {
        "el": "m0", "la": "f0", "los": "m1", "las": "f1", "un": "m0", "una": "f0",
        "este": "m0", "esta": "f0", "estos": "m1", "estas": "f1", "ese": "m0", "esa": "f0",
        "esos": "m1", "esas": "f1", "nuestro": "m0", "nuestra": "f0", "nuestros": "m1",
        "nuestras": "f1", "muchos": "m1", "muchas": "f1", "del": "m0", "al": "m0",
    }  # fmt: skip
    nouns: dict[str, set[str]] = {}
    for spanish in (each for noun in NOUNS for each in noun.spanish):
        for number, word in enumerate(spanish.forms):
            nouns.setdefault(word, set()).add(f"{spanish.gender}{number}")
    adjectives: dict[str, set[str]] = {}
    for forms in (each for adjective in ADJECTIVES for each in adjective.spanish):
        for word, agrees in zip(forms, ("m0", "f0", "m1", "f1"), strict=True):
            adjectives.setdefault(word, set()).add(agrees)
    n_nouns = n_adjectives = 0
    for pair in drawn:
        for one, two, three in zip(pair.target, pair.target[1:], (*pair.target[2:], ""), strict=False):
            if one in determiners and two in nouns:
                assert determiners[one] in nouns[two], pair.target
                n_nouns += 1
                if three in adjectives:
                    assert determiners[one] in adjectives[three], pair.target
                    n_adjectives += 1
    assert n_nouns > 8_000
    assert n_adjectives > 1_000


def test_a_person_seen_takes_the_personal_a(drawn) -> None:
    """Also after *know*, *find* and *love*; a thing, an animal or an answer takes none."""
    verbs = words_of("see sees saw know knows knew find finds found love loves loved")
    no_object = words_of("and but where that him her you today")
    people = {form for noun in NOUNS if "person" in noun.kinds for form in noun.english} | set(NAMES)
    others = {form for noun in NOUNS if "person" not in noun.kinds for form in noun.english} - people
    n_checked = Counter()
    for pair in drawn:
        for index in (index for index, word in enumerate(pair.source[:-1]) if word in verbs):
            rest = pair.source[index + 1 :]
            head = next((at for at, each in enumerate(rest[:3]) if each in people | others), None)
            if head is None or set(rest[:head]) & no_object:
                continue
            first = min(there for there, here in pair.links if here == index + 1)
            marked = pair.target[first] == "al" or pair.target[first - 1] == "a"
            assert marked == (rest[head] in people), (pair.source, pair.target)
            n_checked[marked] += 1
    assert min(n_checked[True], n_checked[False]) > 300


def test_words_carry_their_accents_and_are_joined_as_spanish_joins_them(drawn) -> None:
    accented = words_of(
        "está están estás dónde qué quién cómo durmió corrió cantó caminó trabajó viajó nadó jugó "
        "comió compró perdió encontró cruzó tocó tenía tenían quería querían conocía sabía sé aquí río "
        "pájaro días adiós María Lucía Pekín París rápido médico detrás canción"
    )
    # This and that; and what I do, where the accent makes it what he did.
    other_words = words_of("esta estas que como se canto camino compro cruzo toco trabajo viajo nado")
    words = Counter(word for pair in drawn for word in pair.target)
    bare = {word.translate(str.maketrans("áéíóú", "aeiou")) for word in accented} - other_words
    assert not accented - words.keys()
    assert not {*bare, "vió", "fué", "dió", "tí"} & words.keys()
    joined = " ".join(f"| {' '.join(pair.target)} |" for pair in drawn)
    assert not re.search(r"\b(de|a) el\b", joined)
    assert not re.search(r"\by (?:i|hi(?!e))", joined)
    assert min(words["del"], words["al"], words["y"] / 2) > 100
    # Names, towns and “I” are the only capitals.
    capitals = {word for pair in drawn for word in (*pair.source, *pair.target) if word != word.lower()}
    spanish = {spanish for spanish, _ in NAMES.values()} | set(sentences.TOWNS.values())
    assert capitals == {"I", *NAMES, *sentences.TOWNS, *spanish}


# Exact probabilities of what is drawn


def test_the_lexicon_s_shares_sum_to_one() -> None:
    tables = [noun.spanish for noun in NOUNS] + [adjective.spanish for adjective in ADJECTIVES]
    tables += [YOU, *SET_PHRASES.values()]
    for verb in VERBS:
        kinds = [frozenset({kind}) for kind in verb.objects] or [frozenset()]
        tables += [verb.translations(each) for each in kinds]
    for table in tables:
        assert sum(table.values()) == pytest.approx(1), table


def test_exact_probabilities_are_the_shares_of_many_draws() -> None:
    for pattern, n in (
        (sentences.set_phrase, 3_000),
        (sentences.description, 9_000),
        (sentences.question, 9_000),
    ):
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


def test_every_drawn_pair_is_found_again_from_its_english_and_from_its_spanish(drawn) -> None:
    for pair in {pair.source: pair for pair in drawn[:500]}.values():
        found = translation_tokens(" ".join(pair.source))
        assert pair.target in found, pair
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(is_spanish(pair.target) for pair in drawn[:60])


def test_what_the_grammar_does_not_make_is_refused() -> None:
    for text in (
        *("the dragon sleeps", "the cat sleeps the dog runs", "el gato duerme", "cat the black", "", " . "),
        *("cat " * 2_000, "<script>alert(1)</script>"),
    ):
        with pytest.raises(UserError, match=r"^the grammar does not make .*give a sentence such as"):
            translations(text)
    for text in (
        *("el gata duerme", "la gato duerme", "el gato duermen", "el gato cruzo la calle"),
        *("el gato esta cansado", "duerme el gato ?", "el negro gato duerme", "veo el niño"),
        *("cerca de el parque", "the cat sleeps", ""),
    ):
        assert not is_spanish(text.split()), text
    for text, message in {
        "el gato duerme": r"^0 gaps in .*write \[\?\]",
        "el [?] [?]": "^2 gaps in",
        "el [?] cruzo la calle": "the grammar makes no sentence like",
    }.items():
        with pytest.raises(UserError, match=message):
            gap_words(text.split())


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch):
    """A language so small that all its derivations can be followed."""
    sleep, run = (next(verb for verb in VERBS if verb.lemma == lemma) for lemma in ("sleep", "run"))
    know, eat = (TRANSITIVE_VERB[lemma] for lemma in ("know", "eat"))

    def near(d: Derivation) -> Phrase:
        """*the cat sleeps*, *your good cats run*."""
        subject = sentences.any_nominal(d, "animal")
        verb = sentences.any_verb(d, (sleep, run))
        grammar.say_verb(d, subject, verb, "present")
        return grammar.verb_clause(subject, verb, verb.spanish[0])

    caches = (sentences.nouns_of, sentences.adjectives_for, sentences._numbered)
    nouns = "cat animal, teacher person, river place, street place, apple food"
    for name, value in {
        "NOUNS": tuple(NOUN[tuple(key.split())] for key in nouns.split(", ")),
        "ADJECTIVES": tuple(ADJECTIVE[word] for word in ("tired", "good", "long", "cheap")),
        "NAMES": {name: NAMES[name] for name in ("Ana", "David")},
        "SUBJECT_PRONOUNS": ("I", "you", "they"),
        "VERBS": (sleep, know),
        "INTRANSITIVE": (sleep, run),
        "TRANSITIVE": (know, eat),
        "PREPOSITIONS": {("near", "cerca de"): ("place",)},
        "_determiners": lambda *_: {"the": 1.0, "your": 1.0},
        "any_subject": lambda d, *_: sentences.any_pronoun(d, sentences.SUBJECT_PRONOUNS),
        "_SIMPLE": {near: 1.0},
    }.items():
        monkeypatch.setattr(sentences, name, value)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.usefixtures("few_words")
def test_pruned_and_full_search_give_the_same_probabilities() -> None:
    """The pruned sum is the unpruned one: given the English, the Spanish, or the Spanish with a gap."""
    patterns = [each.derive for each in PATTERNS]
    for pattern in set(patterns) - {sentences.belonging, sentences.presentation}:  # they have too many
        everything = pairs_of(pattern)
        assert sum(everything.values()) == pytest.approx(1)
        for english, spanish in Random(0).sample(sorted(everything), 8):
            gap = len(spanish) // 2
            given = [
                (Observed(english=english), lambda pair, english=english: pair[0] == english),
                (Observed(spanish=spanish), lambda pair, spanish=spanish: pair[1] == spanish),
            ]
            if spanish[gap] not in ("del", "al"):  # looked for apart
                holed = (*spanish[:gap], GAP, *spanish[gap + 1 :])
                given.append((Observed(spanish=holed), lambda pair, holed=holed: fills(pair[1], holed)))
            for observed, fits in given:
                pruned, whole = (
                    {pair: share for pair, share in found.items() if fits(pair)}
                    for found in (pairs_of(pattern, observed), everything)
                )
                assert pruned == pytest.approx(whole), (pattern.__name__, observed)


def fills(spanish: tuple[str, ...], holed: tuple[str, ...]) -> bool:
    if len(spanish) != len(holed):
        return False
    gap = holed.index(GAP)
    return (*spanish[:gap], GAP, *spanish[gap + 1 :]) == holed and spanish[gap] not in ("del", "al")


def test_gaps_have_the_probabilities_worked_by_hand() -> None:
    for text, expected in {
        "¡ [?] !": {"hola": 1 / 2.7, "gracias": 1 / 2.7, "adiós": 0.7 / 2.7},
        "me llamo [?]": {spanish: 1 / 6 for spanish, _ in NAMES.values()},
        "¿ dónde [?] el gato ?": {"está": 1},
        "el perro está cerca [?] parque": {"del": 1},
    }.items():
        assert gap_words(text.split()) == pytest.approx(expected)
    found = gap_words(["la", "[?]", "está", "cansada"])
    assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    feminine = {spanish.forms[0] for noun in NOUNS for spanish in noun.spanish if spanish.gender == "f"}
    assert {"maestra", "vaca"} <= set(found) <= feminine - {"mesa", "calle"}


# The split


@pytest.fixture(scope="module")
def corpus():
    return english_spanish(n_train=12_000, n_held_out=300, n_of_a_kind=60)


def test_training_is_a_small_language_without_the_tenth_of_combinations_held_out(corpus, drawn) -> None:
    vocabulary = vocabulary_of(corpus.train)
    assert 600 <= len(vocabulary) <= 800
    seen = {combination for pair in corpus.train for combination in pair.combinations}
    assert len(seen) > 1_000
    assert not any(map(is_held_out, seen))
    assert is_held_out("black cat")  # the first lesson's cat is new to the model
    assert not is_held_out("cat is black")
    pairs = {(" ".join(pair.source), " ".join(pair.target)) for pair in corpus.train}
    assert {(english, max(shares, key=shares.get)) for english, shares in SET_PHRASES.items()} <= pairs
    combinations = {combination for pair in drawn for combination in pair.combinations}
    assert np.mean([is_held_out(each) for each in combinations]) == pytest.approx(0.1, abs=0.02)


def test_held_out_sentences_are_new_of_their_kind_and_come_once(corpus) -> None:
    seen = {combination for pair in corpus.train for combination in pair.combinations}
    sources = {pair.source for pair in corpus.train}
    words = set()
    for pairs, n, signs in (
        (corpus.held_out, 300, None),
        (corpus.held_out_reasons, 60, {"because"}),
        (corpus.held_out_owners, 60, {"her", "his"}),
        (corpus.held_out_fish, 60, {"fish"}),
    ):
        assert len(pairs) == len({pair.source for pair in pairs}) == n
        for pair in pairs:
            assert pair.combinations - seen
            assert pair.source not in sources
            assert signs is None or signs & set(pair.source)
        words |= set(vocabulary_of(pairs).tokens)
    assert len(words - set(vocabulary_of(corpus.train).tokens)) <= 2  # rare, in 12,000 of 300,000 pairs
