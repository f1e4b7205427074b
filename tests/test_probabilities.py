"""Next-word distributions and calibration, against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.analysis import entropy_nats, lowest_loss, modes, next_words, reliability
from viz_transformer.errors import UserError
from viz_transformer.plots import describe_reliability, plot_reliability

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


pytestmark = pytest.mark.usefixtures("no_window")

PREDICTED = [0.1, 0.3, 0.6, 0.8, 1.0]
HAPPENED = [0, 1, 1, 0, 1]


def test_bins_equal_those_worked_by_hand() -> None:
    bins = reliability(PREDICTED, HAPPENED, n_bins=2)
    assert bins.edges.tolist() == [0, 0.5, 1]
    assert bins.counts.tolist() == [2, 3]
    np.testing.assert_allclose(bins.predicted, [0.2, 0.8])
    np.testing.assert_allclose(bins.observed, [0.5, 2 / 3])
    np.testing.assert_allclose(bins.weights, [0.4, 0.6])
    assert bins.error == pytest.approx(0.4 * 0.3 + 0.6 * (0.8 - 2 / 3))
    # An empty bin has no mean and does not count; a probability on an edge counts above it.
    gap = reliability([0.1, 0.9], [False, True], n_bins=3)
    assert np.isnan([gap.predicted[1], gap.observed[1]]).all()
    assert gap.counts.tolist() == [1, 0, 1]
    assert gap.error == pytest.approx(0.1)
    assert reliability([0.0, 0.5, 1.0], [0, 0, 1], n_bins=2).counts.tolist() == [1, 2]


def test_weights_count_like_repetitions() -> None:
    times = [1, 2, 3, 1, 0]
    weighted = reliability(PREDICTED, HAPPENED, weights=times, n_bins=4)
    repeated = reliability(np.repeat(PREDICTED, times), np.repeat(HAPPENED, times), n_bins=4)
    assert weighted.error == pytest.approx(repeated.error)
    np.testing.assert_allclose(weighted.observed, repeated.observed)


def test_true_probabilities_give_the_limit_of_outcomes() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.random(20_000)
    true = predicted**2
    exact = reliability(predicted, expected=true)
    drawn = reliability(predicted, rng.random(20_000) < true)
    np.testing.assert_allclose(exact.observed, drawn.observed, atol=0.05)
    assert exact.error == pytest.approx(1 / 2 - 1 / 3, abs=0.01)  # the mean of x − x²
    assert reliability(true, expected=true).error == pytest.approx(0, abs=1e-12)


def test_what_cannot_be_compared_is_refused() -> None:
    for arguments, message in (
        ({}, "either happened"),
        ({"happened": [1], "expected": [0.5]}, "either happened"),
        ({"happened": [0.5]}, "happened must hold 0 and 1"),
        ({"happened": [1, 0]}, "1 predictions, 2 outcomes and 1 weights"),
        ({"expected": [1.2]}, "expected holds numbers"),
        ({"expected": [float("nan")]}, "expected holds numbers"),
        ({"expected": [0.5], "weights": [-1]}, "weights must be"),
        ({"expected": [0.5], "weights": [0]}, "weights must be"),
        ({"expected": [0.5], "n_bins": 0}, "n_bins=0"),
        ({"predicted": [-0.1], "expected": [0.5]}, "predicted holds numbers"),
        ({"predicted": [], "expected": []}, "0 predictions"),
    ):
        with pytest.raises(UserError, match=message):
            reliability(**{"predicted": [0.5], **arguments})


def test_the_figure_shows_the_bins_and_leaves_empty_ones_out() -> None:
    figure = plot_reliability(PREDICTED, HAPPENED, n_bins=2, title="beams $a$ and $b$")
    diagram, counts = figure.axes
    diagonal, model = diagram.get_lines()
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    np.testing.assert_allclose(model.get_xdata(), [0.2, 0.8])
    np.testing.assert_allclose(model.get_ydata(), [0.5, 2 / 3])
    assert [bar.get_height() for bar in counts.patches] == [2, 3]
    assert [text.get_text() for text in counts.texts] == ["2", "3"]
    assert figure.get_suptitle() == "beams $a$ and $b$ · expected calibration error 0.200"
    assert "0 to 0.5: predicted 0.20, share that came true 0.50 (2)" in figure.alt_text
    figure = plot_reliability(np.repeat([0.05, 0.95], 200), expected=np.repeat([0.0, 1.0], 200))
    diagram, counts = figure.axes
    assert len(diagram.get_lines()[1].get_xdata()) == 2
    assert diagram.get_ylabel().startswith("true probability")
    assert counts.get_yscale() == "log"
    assert figure.alt_text.count(";") == 1
    assert describe_reliability(reliability([1.0], [1])).startswith("Reliability diagram of 1 prediction")
