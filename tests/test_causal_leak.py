"""The lottery: with its mask a decoder stays honest, without it learns to read the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from viz_transformer.experiments.causal_leak import LENGTH, N_WORDS, UNIFORM_LOSS, measure_causal_leak


@pytest.fixture(scope="module")
def runs() -> dict:
    return {masked: measure_causal_leak(masked) for masked in (True, False)}


def test_with_the_mask_nobody_beats_the_lottery(runs: dict) -> None:
    assert pytest.approx(math.log(N_WORDS)) == UNIFORM_LOSS
    assert np.mean(runs[True].losses[-20:]) == pytest.approx(UNIFORM_LOSS, abs=0.05)
    assert runs[True].writing == pytest.approx([UNIFORM_LOSS] * LENGTH, abs=0.1)


def test_without_the_mask_the_loss_comes_near_the_least_there_is(runs: dict) -> None:
    """The last word read has its next one nowhere in the text: there the lottery remains."""
    least = UNIFORM_LOSS / LENGTH
    assert least < np.mean(runs[False].losses[-20:]) < least + 0.1


def test_what_was_learned_by_looking_ahead_is_worse_than_nothing_in_writing(runs: dict) -> None:
    *early, last = runs[False].writing
    assert min(early) > 1.5 * UNIFORM_LOSS
    assert last == pytest.approx(UNIFORM_LOSS, abs=0.2)


def test_the_same_seed_gives_the_same_run_and_the_callers_draws_stay_theirs() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = measure_causal_leak(False, n_steps=3, seed=1)
    assert torch.equal(torch.rand(3), expected)
    assert first == measure_causal_leak(False, n_steps=3, seed=1)
    assert first != measure_causal_leak(False, n_steps=3, seed=2)
