"""Next-word distributions of a small language, against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.analysis import entropy_nats, lowest_loss, modes, next_words
from viz_transformer.errors import UserError

#: A garden path: *el* is the likelier first word, *la maestra* the likeliest translation.
TEACHER = {("el", "profesor"): 0.3, ("el", "maestro"): 0.25, ("la", "maestra"): 0.45}
CERTAIN = {("hola",): 1.0}


def test_every_beginning_has_its_probability_and_its_next_words() -> None:
    nodes = {node.prefix: node for node in next_words(TEACHER)}
    assert [" ".join(each) for each in nodes] == ["", "el", "el profesor", "el maestro", "la", "la maestra"]
    assert nodes[()].probability == pytest.approx(1)
    assert nodes[()].words == pytest.approx({"el": 0.55, "la": 0.45})
    assert nodes[("el",)].probability == pytest.approx(0.55)
    assert nodes[("el",)].words == pytest.approx({"profesor": 0.3 / 0.55, "maestro": 0.25 / 0.55})
    assert nodes[("el", "profesor")].words == {"<eos>": 1}


def test_a_translation_may_begin_another_and_an_impossible_one_has_no_beginning() -> None:
    (start, after, both) = next_words({("hoy",): 0.25, ("hoy", "sí"): 0.75})
    assert start.words == {"hoy": 1}
    assert after.words == {"<eos>": 0.25, "sí": 0.75}
    assert both.probability == 0.75
    assert [node.prefix for node in next_words({("a",): 1.0, ("b",): 0.0})] == [(), ("a",)]


def test_the_mode_may_be_several() -> None:
    assert modes(TEACHER) == {("la", "maestra")}
    assert modes({("a",): 0.1 + 0.2, ("b",): 0.3, ("c",): 0.4 - 1e-3}) == {("c",)}
    assert modes({("a",): 0.1 + 0.2, ("b",): 0.3, ("c",): 0.2}) == {("a",), ("b",)}


def test_the_lowest_loss_is_the_entropy_of_all_over_their_tokens() -> None:
    by_hand = -(0.3 * math.log(0.3) + 0.25 * math.log(0.25) + 0.45 * math.log(0.45))
    assert entropy_nats(TEACHER) == pytest.approx(by_hand)
    assert f"{entropy_nats(CERTAIN):.2f}" == "0.00"  # and not -0.00
    assert lowest_loss([TEACHER, CERTAIN]) == pytest.approx(by_hand / (3 + 2))


@given(
    st.dictionaries(st.lists(st.sampled_from("abc"), max_size=4).map(tuple), st.integers(1, 9), min_size=1)
)
def test_the_entropies_of_the_next_words_add_up_to_that_of_the_whole(counts: dict) -> None:
    total = sum(counts.values())
    translations = {tokens: count / total for tokens, count in counts.items()}
    nodes = next_words(translations)
    for node in nodes:
        assert sum(node.words.values()) == pytest.approx(1)
    steps = [-node.probability * sum(p * math.log(p) for p in node.words.values()) for node in nodes]
    assert sum(steps) == pytest.approx(entropy_nats(translations), abs=1e-12)
    n_tokens = sum(p * (len(tokens) + 1) for tokens, p in translations.items())
    np.testing.assert_allclose(sum(node.probability for node in nodes), n_tokens)


def test_values_that_are_no_distribution_are_refused() -> None:
    for translations in ({}, {("a",): 0.9}, {("a",): 1.5, ("b",): -0.5}):
        for function in (next_words, entropy_nats):
            with pytest.raises(UserError, match=f"the probabilities of {len(translations)} translations"):
                function(translations)
    with pytest.raises(UserError, match="no sentence"):
        lowest_loss([])
