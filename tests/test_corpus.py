"""The generated corpus: its Spanish, its links and its split, against sentences made by hand."""

from __future__ import annotations

from itertools import islice
from random import Random

import numpy as np
import pytest
from viz_transformer.corpus.random_phrases import NOUN, VERB

from viz_transformer.corpus import (
    SentencePair,
    draw,
    english_spanish,
    grammar,
    is_held_out,
    vocabulary_of,
)
from viz_transformer.corpus.batches import batches, pad
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.lexicon import ADJECTIVES, NOUNS, PERSONS, SET_PHRASES, VERBS
from viz_transformer.corpus.sentences import PATTERNS, crossing
from viz_transformer.vocabulary import Vocabulary

DET = {words[0]: words for words in grammar.DETERMINERS if words[0] != "-"}
ADJ = {adjective.english: adjective for adjective in ADJECTIVES}


def np_of(determiner: str, noun: str, number: int = 0, adjective: str | None = None):
    return grammar.noun_phrase(DET[determiner], NOUN[noun], number, ADJ[adjective] if adjective else None)


def written(phrase: grammar.Phrase) -> tuple[str, str]:
    pair = SentencePair.from_phrase(phrase)
    return " ".join(pair.source), " ".join(pair.target)


@pytest.mark.parametrize(
    ("phrase", "english", "spanish"),
    [
        (np_of("the", "cat", 0, "black").phrase, "the black cat", "el gato negro"),
        (np_of("the", "cow", 1, "black").phrase, "the black cows", "las vacas negras"),
        (np_of("a", "apple").phrase, "an apple", "una manzana"),
        (np_of("a", "car", 0, "old").phrase, "an old car", "un coche viejo"),
        (np_of("our", "house", 1, "green").phrase, "our green houses", "nuestras casas verdes"),
        (
            grammar.verb_clause(np_of("the", "cat"), VERB["sleep"], "past", negated=True),
            "the cat did not sleep",
            "el gato no durmio",
        ),
        (grammar.verb_clause(grammar.pronoun("she"), VERB["run"]), "she runs", "corre"),
        (
            grammar.verb_clause(grammar.pronoun("we"), VERB["run"], negated=True),
            "we do not run",
            "no corremos",
        ),
        (
            grammar.verb_clause(grammar.pronoun("i"), VERB["love"], clitic=grammar.same_order(("you", "te"))),
            "i love you",
            "te amo",
        ),
        (
            grammar.verb_clause(
                grammar.pronoun("i"), VERB["love"], complement=grammar.bare_noun(NOUN["cat"]).phrase
            ),
            "i love cat",
            "amo gato",
        ),
        (grammar.verb_question(np_of("the", "cat"), VERB["sleep"]), "does the cat sleep", "duerme el gato"),
        (
            grammar.verb_question(grammar.pronoun("you"), VERB["eat"], asked=("what", "que")),
            "what do you eat",
            "que comes",
        ),
        (grammar.copula_clause(np_of("the", "cat"), ADJ["black"]), "the cat is black", "el gato es negro"),
        (
            grammar.copula_clause(grammar.pronoun("she"), ADJ["tired"], "past", degree=("too", "demasiado")),
            "she was too tired",
            "estaba demasiado cansada",
        ),
        (
            grammar.copula_question(np_of("the", "door"), ADJ["open"]),
            "is the door open",
            "esta abierta la puerta",
        ),
        (grammar.this_is(DET["this"], np_of("a", "book")), "this is a book", "este es un libro"),
        (
            grammar.this_is(DET["that"], np_of("my", "table", 1)),
            "those are my tables",
            "esas son mis mesas",
        ),
        (
            grammar.location(
                np_of("the", "dog"), grammar.after("near", "cerca de", np_of("the", "park").phrase)
            ),
            "the dog is near the park",
            "el perro esta cerca del parque",
        ),
        (grammar.after("to", "a", np_of("the", "river").phrase), "to the river", "al rio"),
        (grammar.after("to", "a", np_of("the", "beach").phrase), "to the beach", "a la playa"),
    ],
)
def test_the_grammar_writes_correct_pairs(phrase: grammar.Phrase, english: str, spanish: str) -> None:
    assert written(phrase) == (english, spanish)


def test_it_takes_its_gender_from_what_it_stands_for() -> None:
    """*tired* is said of the animal and *wide* of the place, whatever the genders are."""
    rng = Random(1)
    endings = {}
    for _ in range(400):
        for animal, place in (("cow", "river"), ("dog", "street")):
            source, target = written(crossing(rng, NOUN[animal], NOUN[place]))
            words = source.split()
            if "it" in words and words[-1] in ("tired", "wide") and animal in words:
                endings[animal, words[-1]] = target.split()[-1]
    assert endings == {
        ("cow", "tired"): "cansada",
        ("cow", "wide"): "ancho",
        ("dog", "tired"): "cansado",
        ("dog", "wide"): "ancha",
    }


def test_links_join_the_words_that_translate_each_other() -> None:
    pair = SentencePair.from_phrase(
        grammar.verb_clause(
            np_of("the", "cat", 0, "black"),
            VERB["see"],
            negated=True,
            complement=grammar.after("", "a", np_of("the", "boy").phrase),
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
    assert all(len(verb.present) == len(PERSONS) for verb in VERBS)
    assert all(noun.gender in ("m", "f") for noun in NOUNS)
    assert len({noun.lemma for noun in NOUNS}) == len(NOUNS)
    kinds = {noun.kind for noun in NOUNS} | {noun.lemma for noun in NOUNS}
    assert all(a.kinds <= kinds and len(a.forms) == 4 for a in ADJECTIVES)
    assert {adjective.copula for adjective in ADJECTIVES} == {"ser", "estar"}


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in PATTERNS], ids=lambda p: p.__name__)
def test_every_pattern_links_every_spanish_word(pattern) -> None:
    """Only the personal *a* stands for no English word."""
    rng = Random(0)
    for _ in range(300):
        pair = SentencePair.from_phrase(pattern(rng))
        linked = {there for there, _ in pair.links}
        alone = [word for place, word in enumerate(pair.target) if place not in linked]
        assert set(alone) <= {"a"}, (pair.source, pair.target)


@pytest.fixture(scope="module")
def corpus():
    return english_spanish(n_train=8_000, n_held_out=400, n_held_out_reasons=100)


def test_the_corpus_is_a_small_language(corpus) -> None:
    vocabulary = vocabulary_of(corpus.train)
    assert 300 <= len(vocabulary) <= 600
    held_out = vocabulary_of([*corpus.held_out, *corpus.held_out_reasons])
    assert set(held_out.tokens) <= set(vocabulary.tokens)


def test_an_english_sentence_has_one_translation(corpus) -> None:
    translations: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for pair in [*corpus.train, *corpus.held_out, *corpus.held_out_reasons]:
        translations.setdefault(pair.source, set()).add(pair.target)
    assert all(len(found) == 1 for found in translations.values())


def test_training_holds_none_of_the_held_out_combinations(corpus) -> None:
    seen = {combination for pair in corpus.train for combination in pair.combinations}
    assert seen
    assert not any(is_held_out(combination) for combination in seen)
    for pair in [*corpus.held_out, *corpus.held_out_reasons]:
        assert pair.combinations - seen
    assert {pair.source for pair in corpus.train}.isdisjoint(p.source for p in corpus.held_out)


def test_the_first_lessons_cat_is_new_to_the_model() -> None:
    assert is_held_out("black cat")
    assert not is_held_out("cat is black")


def test_set_phrases_are_in_training(corpus) -> None:
    pairs = {(" ".join(pair.source), " ".join(pair.target)) for pair in corpus.train}
    assert set(SET_PHRASES.items()) <= pairs


def test_the_same_seed_draws_the_same_sentences() -> None:
    first, again, other = (list(islice(draw(seed), 50)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


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
