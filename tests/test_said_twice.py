"""Sentences said twice: the texts, their share, and what the bundled language model learned from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_transformer as vt
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.said_twice import QUESTION, said_once, say_some_twice, say_twice
from viz_transformer.language_model import LanguageModel, load_language_model
from viz_transformer.recipes.spanish_eval import (
    label_spanish_heads,
    sample_language_model,
    spanish_head_losses,
)

WORDS = st.lists(st.sampled_from(["la", "vaca", "duerme", "¿", "cómo", "?"]), min_size=1, max_size=8)


@given(WORDS)
def test_a_sentence_said_twice_is_known_again(sentence: list[str]) -> None:
    assert said_once(say_twice(sentence)) == tuple(sentence)


@pytest.mark.parametrize(
    "text", ["la vaca duerme", "¿ cómo ?", "la vaca ¿ cómo ? la", "la vaca ¿ cómo ? la gata", ""]
)
def test_any_other_text_is_left_as_it_is(text: str) -> None:
    assert said_once(text.split()) == tuple(text.split())


def test_a_share_of_the_sentences_is_said_twice_the_same_ones_for_a_seed() -> None:
    sentences = [("duerme", str(number)) for number in range(1000)]
    texts = say_some_twice(sentences, 0.3, seed=1)
    assert [said_once(text) for text in texts] == sentences
    assert sum(map(len, texts)) == pytest.approx(2 * 1000 + 5 * 300, abs=5 * 45)
    assert texts == say_some_twice(sentences, 0.3, seed=1) != say_some_twice(sentences, 0.3, seed=2)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_language_model()


def test_the_language_model_asks_and_repeats_word_for_word(model: LanguageModel) -> None:
    found = sample_language_model(model, 200)
    assert found.n_accepted > 180  # docs/models.md: 95.1% of 1,000
    assert 50 < found.n_twice < 100  # 366 of 951
    for text in ("la reina cansada duerme", "el gato negro come pescado"):
        assert model.complete(f"{text} ¿cómo?", beam_width=1).text == f"{text} ¿cómo? {text}"


def test_its_heads_are_named_by_what_they_do_in_many_sentences(model: LanguageModel) -> None:
    """docs/models.md: 0.81 on the word before; 0.82 and 0.72 on the word after an earlier copy."""
    pairs = english_spanish(n_train=0).held_out[:100]
    once, twice = (label_spanish_heads(model, pairs, twice=twice) for twice in (False, True))
    before = once[0][3]
    assert before is not None
    assert (before.name, before.evidence > 0.75) == ("previous token", True)
    named = {(1, head): label for head, label in enumerate(twice[1]) if label is not None}
    assert {place: label.name for place, label in named.items()} == {
        (1, 1): "induction",
        (1, 2): "induction",
    }
    assert named[1, 1].evidence > 0.75 > named[1, 2].evidence > 0.65


def test_an_induction_head_is_needed_where_there_is_something_to_copy(model: LanguageModel) -> None:
    pairs = english_spanish(n_train=0).held_out[:200]
    once, twice = (spanish_head_losses(model, pairs, twice=twice) for twice in (False, True))
    assert twice.rises["decoder"][1, 1] > 0.5 > 0.05 > once.rises["decoder"][1, 1]
    assert twice.loss < 0.6 * once.loss


def test_heads_of_the_first_layer_bring_it_the_word_before(model: LanguageModel) -> None:
    """docs/models.md: 0.97 of its weight on the word to copy; 0.93 without head 0.3, 0.79 without 0.1 too."""
    pairs = english_spanish(n_train=0).held_out[:40]

    def copies(*off: int) -> float:
        changes = vt.Interventions(
            heads=[vt.HeadChange("decoder", layer=0, head=one, factor=0) for one in off]
        )
        found = []
        for pair in pairs:
            attention = model.trace(say_twice(pair.target), changes).decoder_attention
            assert attention is not None
            again = len(pair.target) + len(QUESTION) + 1  # the row that reads the second copy's first word
            found += [attention[1, 1, again + step, step + 2] for step in range(len(pair.target) - 1)]
        return float(np.mean(found))

    assert copies() > 0.95 > copies(3) > 0.9 > 0.85 > copies(1, 3)


def test_a_head_looks_at_the_noun_that_decides_the_ending_and_is_needed_most(model: LanguageModel) -> None:
    """*la vaca no cruzó la calle porque estaba demasiado* → *cansada*: docs/models.md has 0.59."""
    weights = []
    for pair in english_spanish(n_train=0, n_held_out=0).held_out_reasons[:50]:
        words = pair.target
        about_animal = pair.source[-1] in {"tired", "sick", "hungry", "scared"}
        noun = words.index("no" if about_animal else "porque") - 1
        attention = model.trace(words).decoder_attention
        assert attention is not None
        weights.append(attention[:, :, words.index("demasiado") + 1, noun + 1])  # after <sos>
    mean = np.mean(weights, axis=0)  # [layer, head]
    assert mean[1, 3] == mean.max() > 0.5
    rises = spanish_head_losses(model, english_spanish(n_train=0).held_out[:200]).rises["decoder"]
    assert rises[1, 3] == rises.max() > 0.3
