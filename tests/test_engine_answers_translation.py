"""The translation lab's requests: Python and the engine reply the same, word for word."""

from __future__ import annotations

import pytest

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree, engine_replies
from tests.support.texts import HOSTILE, TEXTS
from viz_transformer.labs import TranslationLab

#: Of the corpus, as its sentences are written, and as people type.
SENTENCES = [
    *TEXTS[:96:2],
    "the black cat sleeps",
    "Maria's friend doesn't sleep!",
    "THE TEACHER LOST HER BOOK",
    "  the   dog did not cross the street because it was too tired ",
    "the cat",
    "¿the cat?",
]
#: Each is explained: an unknown word, several, two sentences, the other language, no word, too many words.
REFUSED = [
    "the dragon sleeps",
    "The dragon didn't sleep.",
    "the techer slepes",
    "zzz",
    "The dog runs. the cow sleeps!",
    "The dog runs. The cow sleeps. The cat sleeps. The horse runs.",
    "el gato negro duerme",
    "el gato sleeps",
    "",
    "   ",
    "?!",
    "cat " * 80,
    "cat\tcat " * 40,
    *(text for text in HOSTILE if "\ud83d" not in text),  # half a character cannot be sent
]

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


@pytest.fixture(scope="module")
def lab() -> TranslationLab:
    return vt.translation_lab(vt.load_translator(), "the black cat sleeps")


def test_fifty_sentences_are_translated_alike(lab: TranslationLab) -> None:
    assert len(SENTENCES) >= 50
    assert_both_sides_agree(lab, [{"text": text} for text in SENTENCES])


def test_what_cannot_be_translated_is_explained_alike(lab: TranslationLab) -> None:
    assert_both_sides_agree(lab, [{"text": text} for text in REFUSED])
    problems = [reply.get("problem") for reply in engine_replies(lab, [{"text": text} for text in REFUSED])]
    assert all(problems)


def test_a_suggestion_of_the_page_is_translated(lab: TranslationLab) -> None:
    (reply,) = engine_replies(lab, [{"text": "The dragon didn't sleep."}])
    texts = [text for _, text in reply["suggestions"]]
    assert "the dog did not sleep" in texts
    assert_both_sides_agree(lab, [{"text": text} for text in texts])


def test_a_lab_of_the_kernel_says_the_same(lab: TranslationLab) -> None:
    kernel = vt.translation_lab(vt.load_translator(), "the black cat sleeps", engine="kernel")
    assert kernel.engine == {}
    assert kernel.answer({"text": "the cow runs"}) == lab.answer({"text": "the cow runs"})
