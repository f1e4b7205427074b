"""The measured claims: why √d_k, saturation, shifted positions, and a decoder without its mask."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.experiments.causal_leak import LENGTH, N_WORDS, UNIFORM_LOSS, measure_causal_leak
from viz_transformer.experiments.saturation import drawn_scores, slope_spread, softmax_jacobian
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.experiments.shift import shift_experiment


def test_the_variance_of_a_dot_product_is_d_k() -> None:
    for d_k in (1, 16, 64, 512):
        spread = score_spread(d_k)
        assert spread.d_k == d_k
        assert spread.variance == pytest.approx(d_k, rel=0.1)
        assert spread.scaled_variance == pytest.approx(1, rel=0.1)
    # The numbers of the notes on the paper.
    assert score_spread(64).variance == pytest.approx(64, abs=1)
    assert 500 < spread.variance < 515
    assert spread.largest_weight == pytest.approx(0.95, abs=0.01)
    assert spread.largest_scaled_weight == pytest.approx(0.32, abs=0.01)
    assert score_spread(8, seed=3) == score_spread(8, seed=3) != score_spread(8, seed=4)


def test_the_slopes_of_softmax_are_its_derivatives() -> None:
    scores = torch.randn(5, dtype=torch.float64)
    derivatives = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    slopes = softmax_jacobian(scores.softmax(-1))
    torch.testing.assert_close(slopes, derivatives)
    assert slopes.sum(0).abs().max() < 1e-12
    weights = torch.randn(2, 3, 4).softmax(-1)
    assert softmax_jacobian(weights).shape == (2, 3, 4, 4)
    torch.testing.assert_close(softmax_jacobian(weights)[1, 2], softmax_jacobian(weights[1, 2]))


def test_the_spread_of_slopes_is_that_of_a_loop_over_the_same_scores() -> None:
    assert drawn_scores(64).var().item() == pytest.approx(score_spread(64).variance)
    scores = drawn_scores(16, n_keys=3, n_queries=5)
    assert scores.shape == (5, 3)
    spread = slope_spread(16, n_keys=3, n_queries=5)
    for factor, slope, settled in (
        (1, spread.slope, spread.settled),
        (1 / math.sqrt(16), spread.scaled_slope, spread.scaled_settled),
    ):
        rows = [(row * factor).softmax(-1) for row in scores]
        steepest = sorted(max(w.item() * (1 - w.item()) for w in row) for row in rows)
        assert slope == pytest.approx(steepest[2], rel=1e-5)
        assert settled == sum(row.max().item() > 0.99 for row in rows) / 5


@settings(max_examples=15)
@given(
    seed=st.integers(0, 99),
    shift=st.integers(1, 60),
    n_words=st.integers(2, 16),
    half=st.integers(8, 64),
)
def test_rotary_scores_survive_a_shift_and_sinusoidal_ones_do_not(seed, shift, n_words, half) -> None:
    found = shift_experiment(seed=seed, shift=shift, n_words=n_words, d_model=2 * half)
    for scores in found:
        assert scores.here.shape == scores.shifted.shape == (n_words, n_words)
    assert found.positions.largest_difference < 1e-5
    assert found.rotary.largest_difference < 1e-5
    assert found.sinusoidal.largest_difference > 0.05
    assert found.rotary.rms > 0.1  # the scores are no zeros that could not differ


def test_the_difference_is_as_large_as_the_scores_are() -> None:
    scores = shift_experiment().sinusoidal
    assert 0.5 * scores.rms < scores.rms_difference <= scores.largest_difference


def test_impossible_sizes_are_refused() -> None:
    for call, arguments, message in (
        (score_spread, {"d_k": 0}, "d_k=0 must be a whole number of at least 1"),
        (score_spread, {"d_k": 4, "n_queries": 0}, "n_queries=0"),
        (shift_experiment, {"shift": 0}, "shift=0"),
        (shift_experiment, {"d_model": 7}, "a width of 7 is odd.*use 8"),
        (drawn_scores, {"d_k": 0}, "whole number of at least 1"),
        (drawn_scores, {"d_k": 4, "n_keys": 0}, "whole number of at least 1"),
        (drawn_scores, {"d_k": 4, "n_queries": 0}, "whole number of at least 1"),
    ):
        with pytest.raises(UserError, match=message):
            call(**arguments)


def test_only_without_its_mask_a_decoder_learns_to_read_the_answer_and_then_it_cannot_write() -> None:
    """The words are drawn evenly: nothing but looking ahead can tell the next one."""
    masked, unmasked = (measure_causal_leak(masked) for masked in (True, False))
    assert pytest.approx(math.log(N_WORDS)) == UNIFORM_LOSS
    assert np.mean(masked.losses[-20:]) == pytest.approx(UNIFORM_LOSS, abs=0.05)
    assert masked.writing == pytest.approx([UNIFORM_LOSS] * LENGTH, abs=0.1)
    # The last word read has its next one nowhere in the text: it stays as uncertain as it was.
    least = UNIFORM_LOSS / LENGTH
    assert least < np.mean(unmasked.losses[-20:]) < least + 0.1
    *early, last = unmasked.writing
    assert min(early) > 1.5 * UNIFORM_LOSS
    assert last == pytest.approx(UNIFORM_LOSS, abs=0.2)


def test_the_same_seed_gives_the_same_run_and_the_callers_draws_stay_as_they_were() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (measure_causal_leak(False, n_steps=3, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert first == again != other
