"""The loss, the schedule and the loop: by hand, and on the six pairs that every learner meets."""

from __future__ import annotations

import ctypes
import math
import platform
import subprocess
import sys
from dataclasses import replace
from itertools import repeat
from unittest import mock

import pytest
import torch

from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.batches import batches
from viz_transformer.errors import UserError
from viz_transformer.recipes.six_pairs import SIX_PAIRS_MODEL
from viz_transformer.training import fit, learning_rate, make_model, token_loss
from viz_transformer.training.allocator import keep_freed_memory

# Checking every shape makes a step several times slower; the model's own tests do that.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")
CONFIG = replace(SIX_PAIRS_MODEL, vocab_size=len(VOCABULARY))


def trained(n_steps: int, seed: int = 0) -> dict[str, torch.Tensor]:
    training = TrainConfig(n_steps=n_steps, batch_size=6, warmup_steps=10, seed=seed)
    model = make_model(CONFIG, seed)
    for _ in fit(model, batches(SIX_PAIRS, VOCABULARY, 6, seed), training):
        pass
    return model.state_dict()


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_training_twice_gives_the_same_weights() -> None:
    assert len(VOCABULARY) == 35
    first, again, other = trained(20), trained(20), trained(20, seed=1)
    assert equal(first, again)
    assert not equal(first, other)


def test_training_neither_reads_nor_moves_the_callers_random_state() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = trained(3)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(7)
    assert equal(one, trained(3))


def test_what_was_learned_stays_when_the_caller_stops_asking() -> None:
    training = TrainConfig(n_steps=1000, batch_size=6, warmup_steps=10)
    model = make_model(CONFIG, 0)
    before = model.source_embedding.weight.detach().clone()
    for record in fit(model, batches(SIX_PAIRS, VOCABULARY, 6, 0), training):
        if record.step == 3:
            break
    assert not torch.equal(model.source_embedding.weight, before)


def test_the_loss_counts_real_tokens_only() -> None:
    logits = torch.zeros(1, 3, 4)
    logits[0, 0, 1] = 9.0  # right
    logits[0, 1, 2] = 9.0  # wrong: 3 is wanted
    logits[0, 2, 1] = 9.0  # padding: does not count
    wanted = torch.tensor([[1, 3, 0]])
    loss, accuracy = token_loss(logits, wanted, pad_id=0)
    total = math.exp(9) + 3
    by_hand = (-math.log(math.exp(9) / total) - math.log(1 / total)) / 2
    assert loss.item() == pytest.approx(by_hand, abs=1e-5)
    assert accuracy.item() == 0.5


@pytest.mark.parametrize("shares", [(0.25, 0.75), (0.5, 0.5), None])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_weights_and_label_smoothing_are_those_of_the_formula(shares, smoothing: float) -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([[1, 2, 3], [4, 1, 0]])
    weights = None if shares is None else torch.tensor(shares)
    loss, accuracy = token_loss(logits, wanted, pad_id=0, label_smoothing=smoothing, weights=weights)
    log_probs, right = logits.log_softmax(-1), logits.argmax(-1) == wanted
    total = expected = n_right = 0.0
    for b, t in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        share = 1.0 if shares is None else shares[b]
        one = (1 - smoothing) * log_probs[b, t, wanted[b, t]] + smoothing * log_probs[b, t].mean()
        expected -= share * one.item()
        n_right += share * right[b, t].item()
        total += share
    assert loss.item() == pytest.approx(expected / total, abs=1e-5)
    assert accuracy.item() == pytest.approx(n_right / total)


def test_the_rate_rises_to_its_peak_and_falls_to_zero() -> None:
    config = TrainConfig(n_steps=110, warmup_steps=10, learning_rate=2.0)
    rates = [learning_rate(step, config) for step in (1, 10, 60, 110)]
    assert rates == pytest.approx([0.2, 2.0, 1.0, 0.0], abs=1e-12)
    config = TrainConfig(n_steps=100, warmup_steps=0, learning_rate=2.0)
    assert learning_rate(1, config) == pytest.approx(2.0, rel=1e-3)


def test_a_loss_that_is_no_number_stops_training() -> None:
    model = make_model(CONFIG, 0)
    with torch.no_grad():
        model.source_embedding.weight[5] = torch.nan
    batch = next(batches(SIX_PAIRS, VOCABULARY, 6, 0))
    with pytest.raises(UserError, match="step 1; lower learning_rate"):
        list(fit(model, repeat(batch), TrainConfig(n_steps=2)))


#: Takes and frees 64 MB ten times; prints the pages that the system had to bring, before and after.
TAKE_AND_FREE = """
import resource
from viz_transformer.training.allocator import keep_freed_memory
import torch
def take():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(16_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
take()
print(take(), int(keep_freed_memory()), take() and take())
"""


def test_memory_that_glibc_keeps_need_not_be_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run([sys.executable, "-c", TAKE_AND_FREE], capture_output=True, text=True, check=True)
    usual, kept, n_pages = map(int, done.stdout.split())
    assert kept == (platform.libc_ver()[0] == "glibc")
    if kept:  # another C library is not asked, and does as it likes
        assert n_pages < usual / 20
    for error in (AttributeError, OSError, TypeError):
        monkeypatch.setattr(ctypes, "CDLL", mock.Mock(side_effect=error))
        assert not keep_freed_memory()
