"""The measured claims: why √d_k, and which positions survive a shift."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.experiments.shift import shift_experiment


@pytest.mark.parametrize("d_k", [1, 16, 64, 512])
def test_the_variance_of_a_dot_product_is_d_k(d_k):
    spread = score_spread(d_k)
    assert spread.d_k == d_k
    assert spread.variance == pytest.approx(d_k, rel=0.1)
    assert spread.scaled_variance == pytest.approx(1, rel=0.1)


def test_the_numbers_of_the_paper_notes():
    assert score_spread(64).variance == pytest.approx(64, abs=1)
    spread = score_spread(512)
    assert 500 < spread.variance < 515
    assert spread.largest_weight == pytest.approx(0.95, abs=0.01)
    assert spread.largest_scaled_weight == pytest.approx(0.32, abs=0.01)


def test_a_seed_fixes_the_numbers():
    assert score_spread(8, seed=3) == score_spread(8, seed=3)
    assert score_spread(8, seed=3) != score_spread(8, seed=4)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 99),
    shift=st.integers(1, 60),
    n_words=st.integers(2, 16),
    half=st.integers(8, 64),
)
def test_rotary_scores_survive_a_shift_and_sinusoidal_ones_do_not(seed, shift, n_words, half):
    found = shift_experiment(seed=seed, shift=shift, n_words=n_words, d_model=2 * half)
    for scores in found:
        assert scores.here.shape == scores.shifted.shape == (n_words, n_words)
    assert found.positions.largest_difference < 1e-5
    assert found.rotary.largest_difference < 1e-5
    assert found.sinusoidal.largest_difference > 0.05
    assert found.rotary.rms > 0.1  # the scores are no zeros that could not differ


def test_the_difference_is_as_large_as_the_scores_are():
    scores = shift_experiment().sinusoidal
    assert scores.rms_difference > 0.5 * scores.rms
    assert scores.rms_difference <= scores.largest_difference


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (score_spread, {"d_k": 0}, "d_k=0 must be a whole number of at least 1"),
        (score_spread, {"d_k": 4, "n_queries": 0}, "n_queries=0"),
        (shift_experiment, {"shift": 0}, "shift=0"),
        (shift_experiment, {"d_model": 7}, "a width of 7 is odd.*use 8"),
    ],
)
def test_impossible_sizes_are_refused(call, arguments, message):
    with pytest.raises(UserError, match=message):
        call(**arguments)
