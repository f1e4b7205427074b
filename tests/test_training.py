"""The loss, the schedule and the loop; trainings that are stopped, accumulated and shared by processes."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors import safe_open
from safetensors.torch import load_file, save, save_file

from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from tests.support.training_runs import CONFIG, MODEL
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.errors import FileError, UserError
from viz_transformer.training import (
    Run,
    WeightAverage,
    distributed,
    fit,
    learning_rate,
    load_state,
    make_model,
    save_state,
    token_loss,
)
from viz_transformer.training.distributed import shard

# Checking every shape makes a step several times slower; the model's own tests do that.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")


def trained(n_steps: int, seed: int = 0) -> dict[str, torch.Tensor]:
    training = TrainConfig(n_steps=n_steps, batch_size=6, warmup_steps=10, seed=seed)
    model = make_model(MODEL, seed)
    for _ in fit(model, batches(SIX_PAIRS, VOCABULARY, 6, seed), training):
        pass
    return model.state_dict()


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_training_twice_gives_the_same_weights() -> None:
    assert len(VOCABULARY) == 35
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = trained(20)
    assert torch.equal(torch.rand(3), expected)  # nor is the caller's random state moved, or read
    assert equal(first, trained(20))
    assert not equal(first, trained(20, seed=1))


def test_the_training_so_far_is_kept_when_the_caller_stops() -> None:
    model = make_model(MODEL, 0)
    before = model.source_embedding.weight.detach().clone()
    next(fit(model, batches(SIX_PAIRS, VOCABULARY, 6, 0), TrainConfig(n_steps=1000, batch_size=6)))
    assert not torch.equal(model.source_embedding.weight, before)


def test_weights_and_label_smoothing_are_those_of_the_formula() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([[1, 2, 3], [4, 1, 0]])
    log_probs, right = logits.log_softmax(-1), logits.argmax(-1) == wanted
    for shares, smoothing in itertools.product(((0.25, 0.75), (0.5, 0.5), None), (0.0, 0.1)):
        weights = None if shares is None else torch.tensor(shares)
        loss, accuracy = token_loss(logits, wanted, pad_id=0, label_smoothing=smoothing, weights=weights)
        total = expected = n_right = 0.0
        for b, t in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
            share = 1.0 if shares is None else shares[b]
            one = (1 - smoothing) * log_probs[b, t, wanted[b, t]] + smoothing * log_probs[b, t].mean()
            expected -= share * one.item()
            n_right += share * right[b, t].item()
            total += share
        assert loss.item() == pytest.approx(expected / total, abs=1e-5), (shares, smoothing)
        assert accuracy.item() == pytest.approx(n_right / total), (shares, smoothing)


def test_the_rate_rises_to_its_peak_and_falls_to_zero() -> None:
    config = TrainConfig(n_steps=110, warmup_steps=10, learning_rate=2.0)
    rates = [learning_rate(step, config) for step in (1, 10, 60, 110)]
    assert rates == pytest.approx([0.2, 2.0, 1.0, 0.0], abs=1e-12)
    without = TrainConfig(n_steps=100, warmup_steps=0, learning_rate=2.0)
    assert learning_rate(1, without) == pytest.approx(2.0, rel=1e-3)


def test_the_average_of_weights_is_that_of_the_formula_and_goes_in_and_out() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
    average, expected = WeightAverage(model, decay=0.6), 1.0
    for step, value in enumerate((3.0, -2.0, 5.0, 8.0, 0.5, 4.0, 7.0, 1.0), start=1):
        with torch.no_grad():
            model.weight.fill_(value)
        average.add(model, step)
        share = max(0.4, 9 / (9 + step))
        expected = (1 - share) * expected + share * value
    with average.inside(model):
        assert model.weight.item() == pytest.approx(expected, rel=1e-5)
    assert model.weight.item() == value


# Stopped and gone on with


def stream(start: int = 0):
    return batches(SIX_PAIRS, VOCABULARY, 2, seed=0, start=start * CONFIG.accumulate)


def begun(config: TrainConfig = CONFIG, model: ModelConfig = MODEL) -> Run:
    return Run(make_model(model, config.seed), config)


@pytest.mark.parametrize("changes", [{"fused": True}, {"fused": False}, {"optimiser": "muon"}])
def test_a_run_goes_on_bit_for_bit(tmp_path: Path, changes: dict) -> None:
    config = replace(CONFIG, **changes)
    whole = begun(config)
    expected = list(whole.fit(stream()))
    for stop in (0, 1, 5, 11):
        first = begun(config)
        list(islice(first.fit(stream()), stop))
        save_state(first, tmp_path / "state")
        torch.manual_seed(99)  # another process, with another state of its own
        again = begun(config)
        load_state(again, tmp_path / "state")
        assert again.step == stop
        records = list(again.fit(stream(again.step)))
        told = [(one.step, one.loss, one.grad_norm, one.learning_rate) for one in records]
        assert told == [(one.step, one.loss, one.grad_norm, one.learning_rate) for one in expected[stop:]]
        assert equal(whole.model.state_dict(), again.model.state_dict()), stop


def test_what_differs_or_is_damaged_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    path = save_state(begun(), tmp_path / "state", {"vocabulary": "one"})
    for config, model, vocabulary, told in (
        (replace(CONFIG, learning_rate=1.0), MODEL, "one", "learning_rate=0.003, not 1.0"),
        (CONFIG, replace(MODEL, d_ff=64), "one", "d_ff=32, not 64"),
        (CONFIG, MODEL, "other", "vocabulary='one', not 'other'"),
    ):
        run = begun(config, model)
        before = copy.deepcopy(run.model.state_dict())
        with pytest.raises(UserError, match=told):
            load_state(run, path, {"vocabulary": vocabulary})
        assert run.step == 0
        assert equal(run.model.state_dict(), before)
    whole = path.read_bytes()
    flipped = [bytearray(whole) for _ in range(40)]
    for data, bit in zip(flipped, Random(0).sample(range(8 * len(whole)), len(flipped)), strict=True):
        data[bit // 8] ^= 1 << bit % 8
    for damaged in (b"", whole[:-9], b"{}", *flipped):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"no training to go on with.*without --resume"):
            load_state(begun(), path)
    with pytest.raises(FileError, match="no training to go on with"):
        load_state(begun(), tmp_path / "nothing")
    for device in ("cuda:9", "gpu"):
        with pytest.raises(UserError, match=rf"device='{device}'.*choose 'cpu'"):
            Run(make_model(MODEL, 0), CONFIG, device=device)


def test_a_training_begun_before_there_was_a_setting_goes_on(tmp_path: Path) -> None:
    path = save_state(begun(), tmp_path / "state")
    with safe_open(path, "pt") as file:
        notes = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    settings = json.loads(notes["settings"])
    del settings["optimiser"], notes["sha256"]
    path.write_bytes(save(tensors, {**notes, "settings": json.dumps(settings)}))
    load_state(begun(), path)
    with pytest.raises(UserError, match="begun with optimiser='adam', not 'muon'"):
        load_state(begun(replace(CONFIG, optimiser="muon")), path)


def test_accumulated_batches_give_the_step_of_one_large_batch() -> None:
    """Each token weighs the same, in whichever batch it stands."""
    whole = Run(make_model(replace(MODEL, dropout=0.0), 0), TrainConfig(n_steps=1, batch_size=6))
    (large,) = islice(batches(SIX_PAIRS, VOCABULARY, 6, 0), 1)
    (one,) = whole.fit([large])
    parts = Run(make_model(replace(MODEL, dropout=0.0), 0), TrainConfig(n_steps=1, accumulate=3))
    (other,) = parts.fit(Batch(large.source[i : i + 2], large.target[i : i + 2]) for i in (0, 2, 4))
    assert other.loss == pytest.approx(one.loss, abs=1e-6)
    assert other.token_accuracy == pytest.approx(one.token_accuracy)
    assert other.grad_norm == pytest.approx(one.grad_norm, rel=1e-5)
    # Not the weights: Adam's first step is the gradient's sign, even of one that is all rounding.
    for mine, theirs in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        moment, expected = (run.optimisers[0].state[one] for run, one in ((parts, mine), (whole, theirs)))
        torch.testing.assert_close(moment["exp_avg"], expected["exp_avg"], atol=1e-6, rtol=1e-4)


def test_in_bfloat16_the_six_pairs_are_learned_too() -> None:
    config = TrainConfig(n_steps=60, batch_size=6, warmup_steps=10, precision="bfloat16")
    run = Run(make_model(MODEL, 0), config)
    records = list(run.fit(batches(SIX_PAIRS, VOCABULARY, 6, 0)))
    assert records[-1].loss < 0.6 * records[0].loss
    assert all(value.dtype == torch.float32 for value in run.model.state_dict().values())


# Two processes

#: Without the keys' biases: their gradient is nothing but rounding, and Adam would scale it up.
SHARED_MODEL = replace(MODEL, dropout=0.0, bias=False)
OPTIMISERS = ("adam", "muon")
SHARED = TrainConfig(n_steps=5, batch_size=5, accumulate=2, warmup_steps=2)


def train_shared(optimiser: str) -> tuple[dict[str, torch.Tensor], list[float]]:
    model = make_model(SHARED_MODEL, 0)
    stream = (shard(batch) for batch in batches(SIX_PAIRS, VOCABULARY, 3, 0))
    records = list(fit(model, stream, replace(SHARED, optimiser=optimiser)))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    return weights, [record.loss for record in records]


def one_of_two(number: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=2)
    try:
        for optimiser in OPTIMISERS:
            weights, losses = train_shared(optimiser)
            save_file({**weights, "losses": torch.tensor(losses)}, f"{folder}/{optimiser}{number}")
    finally:
        dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_give_the_weights_of_one(tmp_path: Path) -> None:
    mp.start_processes(one_of_two, (str(tmp_path),), nprocs=2, start_method="spawn")
    for optimiser in OPTIMISERS:
        alone, losses = train_shared(optimiser)
        for number in (0, 1):
            theirs = load_file(tmp_path / f"{optimiser}{number}")
            assert theirs.pop("losses").tolist() == pytest.approx(losses, abs=1e-5)
            for name, value in alone.items():
                torch.testing.assert_close(theirs[name], value, atol=1e-5, rtol=0, msg=name)


def test_the_shares_of_a_batch_are_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = next(batches(SIX_PAIRS, VOCABULARY, 6, 0))
    assert shard(batch) is batch
    monkeypatch.setattr(distributed, "world_size", lambda: 4)
    rows = []
    for number in range(4):
        monkeypatch.setattr(distributed, "rank", lambda number=number: number)
        rows += shard(batch).source.tolist()
    assert sorted(rows) == sorted(batch.source.tolist())
    with pytest.raises(UserError, match="1 sentences cannot be shared by 4 processes"):
        shard(next(batches(SIX_PAIRS, VOCABULARY, 1, 0)))
