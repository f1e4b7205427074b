"""A training that is stopped goes on bit for bit; the file is whole; what differs is told."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save

from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from tests.support.training_runs import CONFIG, MODEL
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.errors import FileError, UserError
from viz_transformer.training import Run, load_state, make_model, save_state

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


def stream(start: int = 0):
    return batches(SIX_PAIRS, VOCABULARY, 2, seed=0, start=start * CONFIG.accumulate)


def begun(config: TrainConfig = CONFIG, model: ModelConfig = MODEL) -> Run:
    return Run(make_model(model, config.seed), config)


def weights(run: Run) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in run.model.state_dict().items()}


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
        other = weights(again)
        for name, value in weights(whole).items():
            assert torch.equal(value, other[name]), name


def test_what_differs_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    save_state(begun(), tmp_path / "state", {"vocabulary": "one"})
    for config, model, vocabulary, told in (
        (replace(CONFIG, learning_rate=1.0), MODEL, "one", "learning_rate=0.003, not 1.0"),
        (CONFIG, replace(MODEL, d_ff=64), "one", "d_ff=32, not 64"),
        (CONFIG, MODEL, "other", "vocabulary='one', not 'other'"),
    ):
        run = begun(config, model)
        before = weights(run)
        with pytest.raises(UserError, match=told):
            load_state(run, tmp_path / "state", {"vocabulary": vocabulary})
        assert run.step == 0
        assert all(torch.equal(value, before[name]) for name, value in weights(run).items())


def test_a_training_begun_before_there_was_a_setting_goes_on(tmp_path: Path) -> None:
    path = save_state(begun(), tmp_path / "state")
    with safe_open(path, "pt") as file:
        notes = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    settings = json.loads(notes["settings"])
    del settings["optimiser"]
    path.write_bytes(save(tensors, {**notes, "settings": json.dumps(settings)}))
    load_state(begun(), path)
    with pytest.raises(UserError, match="begun with optimiser='adam', not 'muon'"):
        load_state(begun(replace(CONFIG, optimiser="muon")), path)


def test_a_damaged_file_is_refused_in_a_line(tmp_path: Path) -> None:
    path = save_state(begun(), tmp_path / "state")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], b"{}"):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"no training to go on with.*without --resume"):
            load_state(begun(), path)
    with pytest.raises(FileError, match="no training to go on with"):
        load_state(begun(), tmp_path / "nothing")


def test_on_a_full_disk_the_file_that_was_there_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun()
    path = save_state(run, tmp_path / "state")
    before = path.read_bytes()
    list(islice(run.fit(stream()), 1))

    def full(self: Path, data: bytes) -> None:
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left on device"):
        save_state(run, path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


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
    assert all(value.dtype == torch.float32 for value in weights(run).values())


def test_a_device_that_is_not_here_is_refused() -> None:
    for device in ("cuda:9", "gpu"):
        with pytest.raises(UserError, match=rf"device='{device}'.*choose 'cpu'"):
            Run(make_model(MODEL, 0), CONFIG, device=device)
