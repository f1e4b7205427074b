"""Words, ids and what is said about words that are not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.vocabulary import MASK, SPECIAL_TOKENS, UnknownWordError, Vocabulary, tokenize


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(["the", "dog", "cat", "no", "is", "not"], ["el", "perro", "gato", "no", "niño"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Black cat sleeps.", "the black cat sleeps"),
        ("  the\tcat \n sleeps ", "the cat sleeps"),
        ("The animal didn't cross: it’s too tired!", "the animal did not cross it is too tired"),
        ("I'm sick, they're not", "i am sick they are not"),
        ("I won't", "i will not"),
        ("¿Cómo está el niño?", "cómo está el niño"),
        ("EL NIN\u0303O", "el niño"),  # ñ as two characters
        ("", ""),
    ],
)
def test_text_is_split_into_plain_words(text: str, words: str) -> None:
    assert tokenize(text) == words.split()


def test_special_tokens_are_the_first_ids(vocabulary: Vocabulary) -> None:
    assert vocabulary.tokens[:3] == SPECIAL_TOKENS
    assert (vocabulary.pad_id, vocabulary.sos_id, vocabulary.eos_id) == (0, 1, 2)


def test_words_become_ids_and_words_again(vocabulary: Vocabulary) -> None:
    ids = vocabulary.encode("The dog is not the cat")
    assert vocabulary.decode(ids) == "the dog is not the cat"
    assert vocabulary.source_ids("the dog") == [*vocabulary.encode("the dog"), 2]
    assert vocabulary.target_ids("el niño") == [1, *vocabulary.encode("el niño", "target"), 2]
    assert vocabulary.decode([1, *ids, 2, 0, 0]) == "the dog is not the cat"


def test_a_word_that_both_languages_spell_alike_has_one_id(vocabulary: Vocabulary) -> None:
    assert vocabulary.encode("no") == vocabulary.encode("no", "target")
    assert len(vocabulary) == 3 + 6 + 5 - 1


def test_an_unknown_word_is_named_with_the_nearest_known_ones(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnknownWordError, match=r"English word 'dgo' \(did you mean 'dog'") as caught:
        vocabulary.encode("the dgo is not the caat")
    assert caught.value.words == ("dgo", "caat")
    assert caught.value.suggestions["caat"][0] == "cat"


def test_a_word_of_the_other_language_is_unknown(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnknownWordError, match="unknown English word 'perro'"):
        vocabulary.encode("the perro")
    with pytest.raises(UnknownWordError, match="unknown Spanish word 'dog'"):
        vocabulary.encode("el dog", "target")


@pytest.mark.parametrize("text", ["", "   ", "?!"])
def test_text_without_a_word_is_refused(vocabulary: Vocabulary, text: str) -> None:
    with pytest.raises(UserError, match="holds no word"):
        vocabulary.encode(text)


@pytest.mark.parametrize("word", ["<pad>", "two words", ""])
def test_what_is_no_word_cannot_enter(word: str) -> None:
    with pytest.raises(UserError, match="cannot be a word"):
        Vocabulary([word], [])


@given(st.sets(st.text("abcñé<>\u2028\u202e", min_size=1, max_size=5)))
def test_json_brings_the_vocabulary_back(words: set[str]) -> None:
    words = {word for word in words if word.split() == [word]}
    vocabulary = Vocabulary(words, ["x"], languages=("A", "B"))
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.tokens == vocabulary.tokens
    assert again.languages == ("A", "B")


@pytest.mark.parametrize("text", ["", "{}", '{"languages": ["a", "b"], "source_words": 3}', "[1]"])
def test_damaged_json_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="write it again"):
        Vocabulary.from_json(text)


def test_a_mask_is_the_last_token_and_moves_no_other(vocabulary: Vocabulary) -> None:
    words = vocabulary.words("source"), vocabulary.words("target")
    masked = Vocabulary(*words, mask=True)
    assert masked.tokens == (*vocabulary.tokens, MASK)
    assert (masked.mask_id, vocabulary.mask_id) == (len(vocabulary), None)
    assert masked != vocabulary
    assert masked.encode("el <mask> perro", "target") == masked.ids_of(["el", MASK, "perro"])
    assert Vocabulary.from_json(masked.to_json()) == masked
    assert "mask" not in vocabulary.to_json()
    with pytest.raises(UnknownWordError, match="<mask>"):
        vocabulary.encode("el <mask> perro", "target")
    with pytest.raises(UserError, match="cannot be a word"):
        Vocabulary([MASK], [])
