"""Words, ids and spelling: typed text is forgiven, written text is right, unknown words are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.training_runs import MODEL
from viz_transformer import load_translator
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.recipes.files import vocabulary_for
from viz_transformer.training import make_model
from viz_transformer.vocabulary import (
    MASK,
    SPECIAL_TOKENS,
    SeveralSentencesError,
    Side,
    UnknownWordError,
    Vocabulary,
    from_json,
    join_tokens,
    split_sentences,
    tokenize,
)
from viz_transformer.vocabulary.spelling import MARKS, Spellings

ENGLISH = "the cat is black where sleeps dog runs Maria Madrid in not no my friend"
SPANISH = "¿ ? ¡ ! , el la gato es negro dónde está esta tú tu hola mundo María en Madrid cruzó niño no"
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


def test_text_is_split_into_plain_words() -> None:
    for text, words in {
        "The Black cat sleeps.": "the black cat sleeps",
        "  the\tcat \n sleeps ": "the cat sleeps",
        "The animal didn't cross: it’s too tired!": "the animal did not cross it is too tired",
        "I'm sick, they're not": "i am sick they are not",
        "I won't": "i will not",
        "¿Cómo está el niño?": "cómo está el niño",
        "EL NIN\u0303O": "el niño",  # ñ as two characters
        "": "",
    }.items():
        assert tokenize(text) == words.split()


def test_words_become_ids_and_words_again(vocabulary: Vocabulary) -> None:
    assert vocabulary.tokens[:3] == SPECIAL_TOKENS
    assert (vocabulary.pad_id, vocabulary.sos_id, vocabulary.eos_id) == (0, 1, 2)
    ids = vocabulary.encode("The dog is not the cat")
    assert vocabulary.decode(ids) == vocabulary.decode([1, *ids, 2, 0, 0]) == "the dog is not the cat"
    assert vocabulary.source_ids("the dog") == [*vocabulary.encode("the dog"), 2]
    assert vocabulary.target_ids("el niño") == [1, *vocabulary.encode("el niño", "target"), 2]
    # A word that both languages spell alike has one id.
    assert vocabulary.encode("no") == vocabulary.encode("no", "target")
    assert len(vocabulary) == len(vocabulary.tokens) == len(set(vocabulary.tokens))


SPELLINGS = """
¿Dónde está el gato? | ¿dónde está el gato?
donde está el gato | dónde está el gato
el gato está en madrid. | el gato está en Madrid
¡HOLA, MUNDO! | ¡hola, mundo!
hola mundo | hola mundo
maria cruzo | María cruzó
MARÍA CRUZÓ | María cruzó
el nino; «el niño» | el niño el niño
el nin\u0303o | el niño
dónde ( está ) el gato ? | dónde está el gato?
esta está tu tú | esta está tu tú
ESTA TÚ ESTÁ | esta tú está
¡hola! ¿dónde está el gato? | ¡hola! ¿dónde está el gato?
"""


def test_typed_text_is_forgiven_and_written_as_people_write_it(vocabulary: Vocabulary) -> None:
    for line in SPELLINGS.strip().splitlines():
        typed, text = line.split(" | ")
        assert written(vocabulary, typed) == text
    assert written(vocabulary, "Where is my friend María?", "source") == "where is my friend Maria"
    assert written(vocabulary, "The CAT isn't in madrid!", "source") == "the cat is not in Madrid"
    six = vocabulary_of(SIX_PAIRS)
    assert written(six, "¡Buenos días! ¿Cómo te llamas?") == "buenos dias como te llamas"


def test_punctuation_is_a_token_if_the_vocabulary_has_it(
    vocabulary: Vocabulary,
) -> None:
    ids = vocabulary.encode("¿dónde está el gato?", "target")
    assert vocabulary.tokens_of(ids) == ("¿", "dónde", "está", "el", "gato", "?")
    assert vocabulary.tokens_of(vocabulary.encode("where is, the cat?")) == ("where", "is", "the", "cat")
    assert vocabulary.encode("¿", "target") == vocabulary.ids_of(["¿"])  # a beginning to decode from
    for tokens, text in {
        "el gato ( negro ) , « el » .": "el gato (negro), «el».",
        "¿ ¡ qué ! ?": "¿¡qué!?",
        "a ¿ b": "a ¿b",
        "": "",
        "?! a": "?! a",
    }.items():
        assert join_tokens(tokens.split()) == text


def test_of_several_words_alike_the_plainest_is_meant() -> None:
    for words, typed, found in (
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
    ):
        assert Spellings(words.split()).find(typed) == found, typed
        assert Spellings(reversed(words.split())).find(typed) == found, typed


WORDS = st.text("aábAÁnñN\u0301\u0303ßı🐈<>-", min_size=1, max_size=4)


@given(st.data(), st.sets(WORDS, min_size=1), st.sets(st.sampled_from(sorted(MARKS))))
def test_decoded_text_encodes_to_the_same_ids(data: st.DataObject, words: set[str], marks: set[str]) -> None:
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


def test_unknown_words_are_named_with_the_nearest_known_ones(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnknownWordError, match=r"English word 'dgo' \(did you mean 'dog'") as caught:
        vocabulary.encode("the dgo is not the caat")
    assert caught.value.words == ("dgo", "caat")
    assert caught.value.suggestions["caat"][0] == "cat"
    for text, side, message in (
        ("the gato sleeps", "source", "unknown English word 'gato'"),
        ("el dog", "target", "unknown Spanish word 'dog'"),
        ("Mr. Maria sleeps.", "source", "unknown English word 'Mr'"),
        ("<script>window.location=1</script>", "source", "'<script>window'"),
        ("MUNDI", "target", r"unknown Spanish word 'MUNDI' \(did you mean 'mundo'"),  # whatever its case
        ("CRÚZA", "target", r"unknown Spanish word 'CRÚZA' \(did you mean 'cruzó'"),  # or its accents
    ):
        with pytest.raises(UnknownWordError, match=message):
            vocabulary.encode(text, side)
    assert "¿" not in vocabulary.nearest("x", "target", n=99)
    with pytest.raises(UnknownWordError, match=r"^unknown English word 'x'$"):
        Vocabulary([], ["¿"]).encode("x")
    for text in ("", "   ", "?!"):
        with pytest.raises(UserError, match="holds no word"):
            vocabulary.encode(text)
    for word in ("<pad>", "two words", "", MASK):
        with pytest.raises(UserError, match="cannot be a word"):
            Vocabulary([word], [])


def test_a_text_is_split_into_its_sentences() -> None:
    for text, sentences in (
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
    ):
        assert split_sentences(text) == sentences


def test_several_sentences_are_refused_but_where_training_read_them_together(vocabulary: Vocabulary) -> None:
    with pytest.raises(SeveralSentencesError, match="one at a time") as caught:
        vocabulary.encode("the cat sleeps. the dog runs!")
    assert "'the cat sleeps.' and 'the dog runs!' are two sentences" in str(caught.value)
    assert caught.value.sentences == ("the cat sleeps.", "the dog runs!")
    with pytest.raises(UserError, match=r"3 sentences, the first of them 'the cat\.' and 'the dog\.'"):
        vocabulary.encode("the cat. the dog. the zzz.")
    pairs = [TextPair("Hello! Where is he?", "¡Hola! ¿Dónde está?"), TextPair("He sleeps.", "Él duerme.")]
    together = vocabulary_for(pairs, words=True)
    for one in (together, from_json(together.to_json())):
        assert one.words("target") == ("duerme", "dónde", "está", "hola", "él")
        assert one.decode(one.encode("Hello! Where is he?")) == "hello where is he"
    with pytest.raises(SeveralSentencesError):
        vocabulary_for(pairs[1:], words=True).encode("He sleeps. He sleeps.")


def test_the_other_language_is_recognised(vocabulary: Vocabulary) -> None:
    spanish, english = "el gato está en madrid", "where is the dragon"
    with pytest.raises(UserError) as caught:
        vocabulary.encode(spanish, "source")
    assert str(caught.value) == (
        f"'{spanish}' is Spanish ('el' and 'gato'), and English is expected here; "
        "type it in English, such as 'the cat is black'"
    )
    with pytest.raises(UserError, match=r"is English .*type it in Spanish, such as 'el gato es negro'"):
        vocabulary.encode(english, "target")
    with pytest.raises(UserError, match=r"type it in a$"):  # no example whose words are unknown
        Vocabulary(["x"], ["y"], languages=("a", "b")).encode("y")


@given(st.sets(st.text("abcñé<>\u2028\u202e", min_size=1, max_size=5)), st.booleans())
def test_json_brings_the_vocabulary_back(words: set[str], mask: bool) -> None:
    words = {word for word in words if word.split() == [word]}
    vocabulary = Vocabulary(words, ["x"], languages=("A", "B"), mask=mask)
    again = from_json(vocabulary.to_json())
    assert again == vocabulary
    assert (again.tokens, again.languages) == (vocabulary.tokens, ("A", "B"))
    assert ("mask" in vocabulary.to_json()) == mask


def test_a_mask_is_the_last_token_and_moves_no_other(vocabulary: Vocabulary) -> None:
    masked = Vocabulary(vocabulary.words("source"), vocabulary.words("target"), mask=True)
    assert masked.tokens == (*vocabulary.tokens, MASK)
    assert (masked.mask_id, vocabulary.mask_id) == (len(vocabulary), None)
    assert masked != vocabulary
    assert masked.encode("el <mask> gato", "target") == masked.ids_of(["el", MASK, "gato"])
    with pytest.raises(UnknownWordError, match="<mask>"):
        vocabulary.encode("el <mask> gato", "target")


def test_a_former_checkpoint_without_accents_still_works(tmp_path: Path) -> None:
    vocabulary = from_json(FORMER)
    config = replace(MODEL, vocab_size=len(vocabulary))
    folder = Checkpoint(make_model(config, 0).eval(), vocabulary).save(tmp_path / "former")
    (folder / "vocabulary.json").write_text(FORMER, encoding="utf-8")
    (folder / "checksums.json").unlink()
    translator = load_translator(folder)
    trace = translator.trace("Where is María?", target="¿Dónde está María? ¡El niño cruzó!")
    assert trace.source_tokens == ("where", "is", "maria", "<eos>")
    assert trace.output_tokens == ("donde", "esta", "maria", "el", "niño", "cruzo", "<eos>")
