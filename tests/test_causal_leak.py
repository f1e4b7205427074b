"""The lottery: with its mask a decoder stays honest, without it learns to read the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from viz_transformer.experiments.causal_leak import HONEST, LENGTH, N_WORDS, train_on_lottery


@pytest.fixture(scope="module")
def runs() -> dict:
    return {masked: train_on_lottery(masked) for masked in (True, False)}


def test_with_the_mask_nobody_beats_the_lottery(runs: dict) -> None:
    assert pytest.approx(math.log(N_WORDS)) == HONEST
    assert np.mean(runs[True].losses[-20:]) == pytest.approx(HONEST, abs=0.05)
    assert runs[True].writing == pytest.approx([HONEST] * LENGTH, abs=0.1)


def test_without_the_mask_the_loss_comes_near_the_least_there_is(runs: dict) -> None:
    """The last word read has its next one nowhere in the text: there the lottery remains."""
    least = HONEST / LENGTH
    assert least < np.mean(runs[False].losses[-20:]) < least + 0.1


def test_what_was_learned_by_looking_ahead_is_worse_than_nothing_in_writing(runs: dict) -> None:
    *early, last = runs[False].writing
    assert min(early) > 1.5 * HONEST
    assert last == pytest.approx(HONEST, abs=0.2)


def test_the_same_seed_gives_the_same_run_and_the_callers_draws_stay_theirs() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = train_on_lottery(False, n_steps=3, seed=1)
    assert torch.equal(torch.rand(3), expected)
    assert first == train_on_lottery(False, n_steps=3, seed=1)
    assert first != train_on_lottery(False, n_steps=3, seed=2)
