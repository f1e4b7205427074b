"""The masked language model: a gap's words, a text's pseudo-log-likelihood, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.spanish_models import small_language_model, small_masked_model
from viz_transformer.errors import UserError
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.vocabulary import EOS, MASK


@pytest.fixture
def model():
    return small_masked_model()


def test_a_gap_is_filled_from_both_sides(model) -> None:
    for gap in ("[?]", "<mask>", "___", "[MASK]", "____"):
        article = model.fill(f"{gap} gata negra duerme")
        assert article["la"] > 0.95  # what decides it comes after the gap
        adjective = model.fill(f"el gato {gap} duerme")
        assert list(adjective)[:2] == ["negro", "blanco"]
        assert adjective["negro"] == pytest.approx(0.75, abs=0.08)
        assert sum(adjective.values()) == pytest.approx(1)
        assert set(adjective) == set(model.vocabulary.words("target"))  # words alone fill a gap


def test_a_trace_looks_in_both_directions(model) -> None:
    trace = model.trace("el [?] negro duerme")
    assert trace.kinds == ("encoder",)
    assert trace.source_tokens == ("el", MASK, "negro", "duerme", EOS)
    assert trace.encoder_attention.shape == (2, 2, 5, 5)
    assert np.triu(trace.encoder_attention, 1).any()
    assert model.trace("el gato duerme").source_tokens == ("el", "gato", "duerme", EOS)


def test_pseudo_log_likelihood_masks_each_word_alone(model) -> None:
    words = ["la", "gata", "negra", "duerme"]
    expected = [
        np.log(model.fill(" ".join([*words[:at], "[?]", *words[at + 1 :]]))[word])
        for at, word in enumerate(words)
    ]
    np.testing.assert_allclose(model.log_probs(" ".join(words)), expected, atol=1e-6)


def test_a_head_switched_off_changes_the_gap(model) -> None:
    off = Interventions(heads=[HeadChange("encoder", layer=1, head=0, factor=0)])
    assert model.fill("el [?] negro duerme", off) != model.fill("el [?] negro duerme")


def test_it_answers_with_the_text_filled_and_judges_a_filled_text(model) -> None:
    text = "[?] gata negra duerme"
    assert model.answers([text]) == ["la gata negra duerme"]
    trace, log_probs = model.judge(text, "la gata negra duerme")
    assert trace.source_tokens[0] == MASK
    assert log_probs.tolist() == pytest.approx([np.log(model.fill(text)["la"])])


def test_texts_without_a_gap_are_refused_in_one_line(model) -> None:
    for ask, message in (
        (lambda: model.fill(""), "the text is empty"),
        (lambda: model.fill("el gato duerme"), "has no gap, and one is needed"),
        (lambda: model.fill("el [?] ___ duerme"), "has 2 gaps, and one is needed"),
        (lambda: model.fill("[?]"), "has only a gap"),
        (lambda: model.fill("[?] " + "el " * 9), "has 10 words, and this model reads at most 9"),
        (lambda: model.fill("el gatto [?]"), r"unknown Spanish word 'gatto'.*'gato'"),
        (lambda: model.log_probs("el [?] duerme"), "has a gap; fill it"),
        (lambda: model.judge("el [?] duerme", "la gata duerme"), "is not the text with the gap"),
        (lambda: model.judge("el [?] duerme", "el [?] duerme"), "is not the text with the gap"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_it_needs_a_mask_in_the_vocabulary_and_a_head_that_scores_words(model) -> None:
    with pytest.raises(UserError, match="a vocabulary with a <mask>"):
        MaskedModel(model.model, small_language_model().vocabulary)
