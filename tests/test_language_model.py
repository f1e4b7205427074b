"""The language model: probabilities of texts and next words, searches, draws, and what it refuses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.support.spanish_models import small_language_model
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.vocabulary import EOS, SOS

TEXT = "el gato negro duerme"


@pytest.fixture
def model():
    return small_language_model()


def test_a_text_s_log_probability_is_that_of_its_words_one_after_the_other(model) -> None:
    words = TEXT.split()
    expected = [
        np.log(model.next_words(" ".join(words[:number]))[word]) for number, word in enumerate([*words, EOS])
    ]
    np.testing.assert_allclose(model.log_probs(TEXT), expected, atol=1e-5)


def test_the_next_word_s_distribution_is_the_corpus_s(model) -> None:
    words = model.next_words("el gato")
    assert list(words)[:2] == ["negro", "blanco"]
    assert sum(words.values()) == pytest.approx(1)
    assert words["negro"] == pytest.approx(0.75, abs=0.05)
    assert words["negra"] < 0.01


def test_a_trace_names_a_query_by_the_word_that_it_predicts(model) -> None:
    trace = model.trace(TEXT)
    assert trace.kinds == ("decoder",)
    assert trace.target_tokens == (SOS, *TEXT.split())
    assert trace.query_tokens("decoder") == (*TEXT.split(), EOS)
    weights = trace.decoder_attention
    assert weights.shape == (2, 2, 5, 5)
    assert not np.triu(weights, 1).any()  # no look ahead
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


def test_a_head_switched_off_changes_the_text_s_log_probabilities(model) -> None:
    off = Interventions(heads=[HeadChange("decoder", layer=0, head=0, factor=0)])
    assert np.abs(model.log_probs(TEXT, off) - model.log_probs(TEXT)).max() > 1e-3
    assert model.next_words("el gato", off) != model.next_words("el gato")


def test_it_continues_a_text_by_beam_search(model) -> None:
    for beginning, whole in (
        ("", TEXT),
        ("la", "la gata negra duerme"),
        ("el gato blanco", "el gato blanco duerme"),
    ):
        completion = model.complete(beginning, length_penalty=0.0)
        # Both genders are as likely, so the empty beginning may go on with either.
        assert completion.text in ((whole, "la gata negra duerme") if not beginning else (whole,))
        at = len(beginning.split())
        assert completion.tokens == tuple(completion.text.split()[at:])
        assert completion.log_prob == pytest.approx(model.log_probs(completion.text)[at:].sum(), abs=1e-4)


def test_a_search_shows_its_prompt_and_where_every_head_looked(model) -> None:
    decoded = model.decode("el gato", beam_width=2, attention=True)
    assert decoded.prompt_tokens == (SOS, "el", "gato")
    assert {each.tokens[0] for each in decoded.hypotheses} == {"negro", "blanco"}
    assert decoded.prompt_attention.shape == (2, 2, 2, 3)


def test_samples_have_the_distribution_s_shares(model) -> None:
    n = 400
    counts = Counter(model.sample_texts(n=n, seed=1))
    share = counts[TEXT] / n
    probability = np.exp(model.log_probs(TEXT).sum())
    assert abs(share - probability) < 4 * np.sqrt(probability * (1 - probability) / n)
    assert counts == Counter(model.sample_texts(n=n, seed=1))
    assert counts != Counter(model.sample_texts(n=n, seed=2))
    assert all(text.startswith("la gata ") for text in model.sample_texts("la gata", n=5))


def test_a_sample_is_drawn_from_the_top(model) -> None:
    drawn = model.sample("el gato", top_k=1, seed=3)
    assert drawn.hypotheses[0].tokens == ("negro", "duerme")
    assert drawn.prompt_tokens == (SOS, "el", "gato")


def test_unreadable_texts_are_refused_in_one_line(model) -> None:
    for ask, message in (
        (lambda: model.trace(""), "holds no word"),
        (lambda: model.log_probs("  "), "holds no word"),
        (lambda: model.next_words("el " * 10), "has 10 words, and this model reads at most 9"),
        (lambda: model.sample("el " * 9), "has 9 words, and this model reads no more"),
        (lambda: model.sample_texts("", 0), "n=0 must be"),
        (lambda: model.log_probs("el gatto duerme"), r"unknown Spanish word 'gatto'.*'gato'"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            ask()
        assert "\n" not in str(caught.value)
