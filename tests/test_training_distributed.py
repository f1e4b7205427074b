"""Two processes that train together take the steps that one would have taken alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import load_file, save_file

from tests.support import training_runs
from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.batches import batches
from viz_transformer.errors import UserError
from viz_transformer.training import distributed, fit, make_model
from viz_transformer.training.distributed import shard

pytestmark = pytest.mark.usefixtures("shapes_unchecked")
#: Without the keys' biases: their gradient is nothing but rounding, and Adam would scale it up.
MODEL = replace(training_runs.MODEL, dropout=0.0, bias=False)
OPTIMISERS = ("adam", "muon")
CONFIG = TrainConfig(n_steps=5, batch_size=5, accumulate=2, warmup_steps=2)


def train(optimiser: str) -> tuple[dict[str, torch.Tensor], list[float]]:
    model = make_model(MODEL, 0)
    stream = (shard(batch) for batch in batches(SIX_PAIRS, VOCABULARY, 3, 0))
    records = list(fit(model, stream, replace(CONFIG, optimiser=optimiser)))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    return weights, [record.loss for record in records]


def one_of_two(number: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=2)
    try:
        for optimiser in OPTIMISERS:
            weights, losses = train(optimiser)
            save_file({**weights, "losses": torch.tensor(losses)}, f"{folder}/{optimiser}{number}")
    finally:
        dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_give_the_weights_of_one(tmp_path: Path) -> None:
    mp.start_processes(one_of_two, (str(tmp_path),), nprocs=2, start_method="spawn")
    for optimiser in OPTIMISERS:
        alone, losses = train(optimiser)
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
        rows += [tuple(row) for row in shard(batch).source]
    assert sorted(rows) == sorted(tuple(row) for row in batch.source)
    with pytest.raises(UserError, match="1 sentences cannot be shared by 4 processes"):
        shard(next(batches(SIX_PAIRS, VOCABULARY, 1, 0)))
