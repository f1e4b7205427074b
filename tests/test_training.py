"""The loss, the schedule and the loop: by hand, and on the six pairs that every learner meets."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import repeat

import pytest
import torch

from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.batches import batches
from viz_transformer.decoding import greedy
from viz_transformer.errors import UserError
from viz_transformer.recipes.six_pairs import SIX_PAIRS_MODEL
from viz_transformer.training import fit, learning_rate, make_model, token_loss

# Checking every shape makes a step several times slower; the model's own tests do that.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")
CONFIG = replace(SIX_PAIRS_MODEL, vocab_size=len(VOCABULARY))


def trained(n_steps: int, seed: int = 0):
    training = TrainConfig(n_steps=n_steps, batch_size=6, warmup_steps=10, seed=seed)
    model = make_model(CONFIG, seed)
    records = list(fit(model, batches(SIX_PAIRS, VOCABULARY, 6, seed), training))
    return model, records


def test_the_vocabulary_of_the_six_pairs_has_35_tokens() -> None:
    assert len(VOCABULARY) == 35


def test_the_six_pairs_are_learned() -> None:
    model, records = trained(300)
    assert records[-1].loss < 0.1 < records[0].loss
    assert records[-1].token_accuracy == 1
    for pair in SIX_PAIRS:
        ids = greedy(model, [VOCABULARY.source_ids(" ".join(pair.source))], VOCABULARY)[0]
        assert VOCABULARY.decode(ids) == " ".join(pair.target)


def test_training_twice_gives_the_same_weights() -> None:
    first, again = trained(20)[0].state_dict(), trained(20)[0].state_dict()
    other = trained(20, seed=1)[0].state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_training_neither_reads_nor_moves_the_callers_random_state() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trained(3)
    assert torch.equal(torch.rand(3), expected)

    torch.manual_seed(6)
    one = trained(3)[0].state_dict()
    torch.manual_seed(7)
    two = trained(3)[0].state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


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


def test_a_text_that_weighs_more_counts_more() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([[1, 2, 3], [4, 1, 0]])
    loss, accuracy = token_loss(logits, wanted, pad_id=0, weights=torch.tensor([0.25, 0.75]))
    log_probs, right = logits.log_softmax(-1), logits.argmax(-1) == wanted
    weights = {(0, 0): 0.25, (0, 1): 0.25, (0, 2): 0.25, (1, 0): 0.75, (1, 1): 0.75}
    total = sum(weights.values())
    by_hand = -sum(weight * log_probs[b, t, wanted[b, t]] for (b, t), weight in weights.items()) / total
    assert loss.item() == pytest.approx(by_hand.item(), abs=1e-6)
    assert accuracy.item() == pytest.approx(sum(w * right[at].item() for at, w in weights.items()) / total)
    even = token_loss(logits, wanted, pad_id=0, weights=torch.tensor([0.5, 0.5]))
    for one, other in zip(even, token_loss(logits, wanted, pad_id=0), strict=True):
        assert one.item() == pytest.approx(other.item(), abs=1e-6)


def test_label_smoothing_is_that_of_the_formula() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([[1, 2, 3], [4, 1, 0]])
    loss, _ = token_loss(logits, wanted, pad_id=0, label_smoothing=0.1)
    log_probs = logits.log_softmax(-1)
    by_hand = [
        -0.9 * log_probs[b, t, wanted[b, t]] - 0.1 * log_probs[b, t].mean()
        for b in range(2)
        for t in range(3)
        if wanted[b, t] != 0
    ]
    assert loss.item() == pytest.approx(torch.stack(by_hand).mean().item(), abs=1e-5)


def test_the_rate_rises_to_its_peak_and_falls_to_zero() -> None:
    config = TrainConfig(n_steps=110, warmup_steps=10, learning_rate=2.0)
    assert learning_rate(1, config) == pytest.approx(0.2)
    assert learning_rate(10, config) == 2.0
    assert learning_rate(60, config) == pytest.approx(1.0)
    assert learning_rate(110, config) == pytest.approx(0.0, abs=1e-12)


def test_without_a_warm_up_the_first_step_has_the_peak_rate() -> None:
    config = TrainConfig(n_steps=100, warmup_steps=0, learning_rate=2.0)
    assert learning_rate(1, config) == pytest.approx(2.0, rel=1e-3)


def test_a_loss_that_is_no_number_stops_training() -> None:
    model = make_model(CONFIG, 0)
    with torch.no_grad():
        model.source_embedding.weight[5] = torch.nan
    batch = next(batches(SIX_PAIRS, VOCABULARY, 6, 0))
    with pytest.raises(UserError, match="step 1; lower learning_rate"):
        list(fit(model, repeat(batch), TrainConfig(n_steps=2)))
