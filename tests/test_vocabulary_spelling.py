"""Words with accents, capitals and punctuation: typed text is forgiven, and written text is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer import load_translator
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.config import ModelConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.recipes.files import vocabulary_for
from viz_transformer.training import make_model
from viz_transformer.vocabulary import (
    SeveralSentencesError,
    Side,
    UnknownWordError,
    Vocabulary,
    from_json,
    join_tokens,
    split_sentences,
)
from viz_transformer.vocabulary.spelling import MARKS, Spellings

ENGLISH = "the cat is black where sleeps dog runs Maria Madrid in not my friend"
SPANISH = "¿ ? ¡ ! , el la gato es negro dónde está esta tú tu hola mundo María en Madrid cruzó niño"
#: As the bundled translator's was, before its Spanish had accents.
FORMER = """{
 "languages": ["English", "Spanish"],
 "source_words": ["animal", "crossed", "maria", "the", "where", "is"],
 "target_words": ["animal", "cruzo", "donde", "el", "esta", "maria", "niño"]
}"""


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(ENGLISH.split(), SPANISH.split())


def written(vocabulary: Vocabulary, text: str, side: Side = "target") -> str:
    return vocabulary.decode(vocabulary.encode(text, side))


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("¿Dónde está el gato?", "¿dónde está el gato?"),
        ("donde está el gato", "dónde está el gato"),
        ("el gato está en madrid.", "el gato está en Madrid"),
        ("¡HOLA, MUNDO!", "¡hola, mundo!"),
        ("hola mundo", "hola mundo"),
        ("maria cruzo", "María cruzó"),
        ("MARÍA CRUZÓ", "María cruzó"),
        ("el nino; «el niño»", "el niño el niño"),
        ("el nin\u0303o", "el niño"),
        ("dónde ( está ) el gato ?", "dónde está el gato?"),
    ],
)
def test_spanish_is_forgiven_and_written_as_people_write_it(
    vocabulary: Vocabulary, typed: str, text: str
) -> None:
    assert written(vocabulary, typed) == text


def test_marks_are_tokens_where_the_side_knows_them(vocabulary: Vocabulary) -> None:
    ids = vocabulary.encode("¿dónde está el gato?", "target")
    assert vocabulary.tokens_of(ids) == ("¿", "dónde", "está", "el", "gato", "?")
    assert vocabulary.tokens_of(vocabulary.encode("where is, the cat?")) == ("where", "is", "the", "cat")
    assert vocabulary.encode("¿", "target") == vocabulary.ids_of(["¿"])  # a beginning to decode from


def test_english_is_forgiven_too(vocabulary: Vocabulary) -> None:
    assert written(vocabulary, "Where is my friend María?", "source") == "where is my friend Maria"
    assert written(vocabulary, "The CAT isn't in madrid!", "source") == "the cat is not in Madrid"


def test_the_exact_spelling_wins(vocabulary: Vocabulary) -> None:
    for text in ("esta", "está", "tu", "tú"):
        assert written(vocabulary, text) == text
    assert written(vocabulary, "ESTA TÚ ESTÁ") == "esta tú está"


@pytest.mark.parametrize(
    ("words", "typed", "found"),
    [
        ("papá Papa", "papa", "Papa"),  # accents weigh more than case
        ("Rosa rosa", "ROSA", "rosa"),
        ("Rosa rosa", "Rosa", "Rosa"),
        ("sóno sonó soño", "sono", "sonó"),  # alike but for accents: the first in the alphabet
        ("añó año", "ano", "año"),  # the fewest accents
        ("año anó", "ano", "anó"),  # the tilde is the last to be ignored
        ("año ano", "añó", "año"),
        ("caminó", "càmino", "caminó"),
        ("pingüino", "PINGUINO", "pingüino"),
        ("papá", "pap", None),
        ("a", "\u0301", None),
    ],
)
def test_of_several_words_alike_the_plainest_is_meant(words: str, typed: str, found: str | None) -> None:
    assert Spellings(words.split()).find(typed) == found
    assert Spellings(reversed(words.split())).find(typed) == found


WORDS = st.text("aábAÁnñN\u0301\u0303ßı🐈<>-", min_size=1, max_size=4)


@given(st.data(), st.sets(WORDS, min_size=1), st.sets(st.sampled_from(sorted(MARKS))))
def test_what_is_decoded_is_encoded_to_the_same_ids(
    data: st.DataObject, words: set[str], marks: set[str]
) -> None:
    tokens = sorted(words | marks)
    for vocabulary, side in (
        (Vocabulary(tokens, [], several_sentences=True), "source"),
        (Vocabulary(["x", *words], tokens), "target"),
    ):
        some = data.draw(st.lists(st.sampled_from(tokens), min_size=1))
        ids = vocabulary.ids_of(some)
        assert vocabulary.encode(vocabulary.decode(ids), side) == ids
        assert vocabulary.words_of(vocabulary.decode(ids), side) == some
        assert vocabulary.encode(" ".join(some), side) == ids
        assert vocabulary.encode(as_text(some), side) == ids


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("el gato ( negro ) , « el » .", "el gato (negro), «el»."),
        ("¿ ¡ qué ! ?", "¿¡qué!?"),
        ("a ¿ b", "a ¿b"),
        ("", ""),
        ("?! a", "?! a"),
    ],
)
def test_marks_stand_against_their_words(tokens: str, text: str) -> None:
    assert join_tokens(tokens.split()) == text


def test_an_unknown_word_is_compared_without_accents_and_case() -> None:
    vocabulary = Vocabulary(["day"], ["días", "dedos", "¿"])
    with pytest.raises(UnknownWordError, match=r"unknown Spanish word 'DIAZ' \(did you mean 'días'"):
        vocabulary.encode("DIAZ", "target")
    assert "¿" not in vocabulary.nearest("x", "target", n=9)
    with pytest.raises(UnknownWordError, match=r"^unknown English word 'x'$"):
        Vocabulary([], ["¿"]).encode("x")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("the cat sleeps. the dog runs.", ["the cat sleeps.", "the dog runs."]),
        ("Where is the cat? the dog runs", ["Where is the cat?", "the dog runs"]),
        ("the cat sleeps.The dog runs", ["the cat sleeps.", "The dog runs"]),
        ('"the cat sleeps!" the dog runs', ['"the cat sleeps!', "the dog runs"]),
        ("¿el gato?¡el perro!", ["¿el gato?", "¡el perro!"]),
        ("the cat sleeps, the dog runs.", ["the cat sleeps, the dog runs."]),
        ("the cat sleeps?! ...", ["the cat sleeps?!"]),
        ("the cat ... sleeps", ["the cat ... sleeps"]),
        ("it costs 3.50", ["it costs 3.50"]),
        ("?!", []),
    ],
)
def test_a_text_is_split_into_its_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_two_sentences_at_once_are_named(vocabulary: Vocabulary) -> None:
    with pytest.raises(SeveralSentencesError, match="one at a time") as caught:
        vocabulary.encode("the cat sleeps. the dog runs!")
    assert "'the cat sleeps.' and 'the dog runs!' are two sentences" in str(caught.value)
    assert caught.value.sentences == ("the cat sleeps.", "the dog runs!")
    with pytest.raises(UserError, match=r"3 sentences, the first of them 'the cat\.' and 'the dog\.'"):
        vocabulary.encode("the cat. the dog. the zzz.")
    assert written(vocabulary, "¡hola! ¿dónde está el gato?") == "¡hola! ¿dónde está el gato?"


def test_what_holds_no_known_word_is_no_sentence(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnknownWordError, match="unknown English word 'Mr'"):
        vocabulary.encode("Mr. Maria sleeps.")
    with pytest.raises(UnknownWordError, match="'<script>window'"):
        vocabulary.encode("<script>window.location=1</script>")


def test_sentences_are_read_together_where_training_did() -> None:
    pairs = [TextPair("Hello! Where is he?", "¡Hola! ¿Dónde está?"), TextPair("He sleeps.", "Él duerme.")]
    vocabulary = vocabulary_for(pairs, words=True)
    assert isinstance(vocabulary, Vocabulary)
    assert vocabulary.words("target") == ("duerme", "dónde", "está", "hola", "él")
    again = from_json(vocabulary.to_json())
    for one in (vocabulary, again):
        assert one.decode(one.encode("Hello! Where is he?")) == "hello where is he"
    with pytest.raises(SeveralSentencesError):
        vocabulary_for(pairs[1:], words=True).encode("He sleeps. He sleeps.")


@pytest.mark.parametrize(
    ("text", "side", "message"),
    [
        (
            "el gato está en madrid",
            "source",
            "'el gato está en madrid' is Spanish ('el' and 'gato'), and English is expected here; "
            "type it in English, such as 'the cat is black'",
        ),
        (
            "where is the dragon",
            "target",
            "'where is the dragon' is English ('where' and 'is'), and Spanish is expected here; "
            "type it in Spanish, such as 'el gato es negro'",
        ),
    ],
)
def test_the_other_language_is_recognised(
    vocabulary: Vocabulary, text: str, side: Side, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        vocabulary.encode(text, side)
    assert str(caught.value) == message


def test_no_example_is_given_whose_words_are_unknown() -> None:
    with pytest.raises(UserError, match=r"type it in a$"):
        Vocabulary(["x"], ["y"], languages=("a", "b")).encode("y")


def test_one_foreign_word_is_an_unknown_word(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnknownWordError, match="unknown English word 'gato'"):
        vocabulary.encode("the gato sleeps")


def test_a_former_checkpoint_without_accents_still_works(tmp_path: Path) -> None:
    vocabulary = from_json(FORMER)
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1,
        d_ff=8, max_length=12,
    )  # fmt: skip
    folder = Checkpoint(make_model(config, 0).eval(), vocabulary).save(tmp_path / "former")
    (folder / "vocabulary.json").write_text(FORMER, encoding="utf-8")
    translator = load_translator(folder)
    trace = translator.trace("Where is María?", target="¿Dónde está María? ¡El niño cruzó!")
    assert trace.source_tokens == ("where", "is", "maria", "<eos>")
    assert trace.output_tokens == ("donde", "esta", "maria", "el", "niño", "cruzo", "<eos>")


def test_the_six_pairs_keep_their_spelling() -> None:
    vocabulary = vocabulary_of(SIX_PAIRS)
    assert written(vocabulary, "¡Buenos días!") == "buenos dias"
    assert written(vocabulary, "¿Cómo te llamas?") == "como te llamas"
    for pair in SIX_PAIRS:
        assert vocabulary.tokens_of(vocabulary.encode(as_text(pair.target), "target")) == pair.target
