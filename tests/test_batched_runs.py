"""Many heads changed at once, from a kept run: the numbers of a whole run for each head."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.attending_models import ARCHITECTURES, IDS, N_HEADS, N_WORDS, NanoAttention, built
from tests.support.huggingface_models import frozen, same, state, tiny
from viz_transformer._work import Stopped, Work
from viz_transformer.interpreting import batched_runs, find_sites
from viz_transformer.interpreting.batched_runs import BatchedRuns, tensors_in
from viz_transformer.model import HeadChange


def by_the_plain_loop(model: nn.Module, metric: Any, *args: Any, **named: Any) -> dict[str, np.ndarray]:
    """Return what `rank_heads` finds, by a whole run for each head."""
    model.eval()
    found: dict[str, list[list[float]]] = {}
    with torch.no_grad():
        whole = float(metric(model(*args, **named)))
        for site in find_sites(model):
            row = []
            for head in range(site.n_heads):
                with vt.interventions(model, [HeadChange(site.kind, site.layer, head, factor=0)]):
                    row.append(float(metric(model(*args, **named))) - whole)
            found.setdefault(site.kind, []).append(row)
    return {kind: np.array(rows) for kind, rows in found.items()}


def assert_as_by_the_plain_loop(model: nn.Module, metric: Any, *args: Any, **named: Any) -> Counter[str]:
    """Check the ranking; return how often each class of module ran for it."""
    expected = by_the_plain_loop(model, metric, *args, **named)
    before, ran = frozen(model), Counter[str]()
    handle = nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: ran.update([type(module).__name__])
    )
    try:
        found = vt.rank_heads(model, metric, *args, **named)
    finally:
        handle.remove()
    assert same(before, state(model))
    for kind, changes in expected.items():
        np.testing.assert_allclose(found.changes[kind], changes, rtol=0, atol=2e-6)
    return ran


def first_of(output: Any) -> Any:
    """A number that hangs on all that a model returns first."""
    first = tensors_in(output)[0].double()
    return (first * torch.linspace(-1, 1, first.numel()).reshape(first.shape)).mean()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_is_ranked_as_by_a_loop(name: str) -> None:
    """In a batch: one unchanged run, one of two rows, one of all heads, and one or two that are compared."""
    model, given = built(name)
    ran = assert_as_by_the_plain_loop(model, first_of, *given.args, **given.named)
    assert ran[type(model).__name__] <= 6


def test_a_run_begins_at_the_layer_that_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two prompts at once."""
    monkeypatch.setattr(batched_runs, "MOST_POSITIONS", 2 * 5 * N_HEADS)  # a layer's heads in each batch
    sizes = {"n_embd": 16, "n_positions": 8, "n_layer": 6, "n_head": N_HEADS}
    model = tiny("GPT2LMHeadModel", vocab_size=N_WORDS, **sizes)
    ran = assert_as_by_the_plain_loop(model, first_of, input_ids=torch.cat([IDS, IDS.flip(1)]))
    alone, of_two, changed, compared = 6, 6, 6 + 5 + 4 + 3 + 2 + 1, 2 * 6
    assert ran["GPT2Attention"] == alone + of_two + changed + compared


def test_an_encoder_is_run_once_for_all_heads_of_the_decoder() -> None:
    model, given = built("Marian")
    runs = BatchedRuns(
        model, lambda n: model(**{name: ids.expand(n, -1) for name, ids in given.named.items()})
    )
    ran = Counter[str]()
    handle = nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: ran.update([type(module).__name__])
    )
    heads = [HeadChange("cross", layer, head, factor=0) for layer in range(2) for head in range(N_HEADS)]
    assert len(list(runs.outputs(heads))) == len(heads)
    handle.remove()
    assert ran["MarianEncoder"] == 3, (
        "in the batch, replayed; in that of two rows; in the one that is compared"
    )
    assert ran["MarianEncoderLayer"] == 2 * 2


@pytest.mark.parametrize(
    "metric",
    [
        lambda output: output.loss,  # one number for all rows
        lambda output: output.past_key_values.layers[0].values.double().sum() + output.logits[0, -1, 3],
        lambda output: output.logits[0, -1, 3] - len(output.hidden_states),
        lambda output: float(output["logits"].mean()) + output.attentions[1][0, 2, -1, 0],
    ],
)
def test_a_metric_of_whatever_a_model_returns(metric: Any) -> None:
    model, _ = built("GPT-2")
    eager: Any = model
    eager.set_attn_implementation("eager")
    asked = {"output_hidden_states": True, "output_attentions": True}
    assert_as_by_the_plain_loop(model, metric, input_ids=IDS, labels=IDS, **asked)


class OwnStack(nn.Module):
    """A stack of one's own that adds in place; its rows may hang on each other."""

    def __init__(self, *, mixes: bool) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(N_WORDS, 16), nn.Linear(16, N_WORDS)
        self.layers = nn.ModuleList(NanoAttention() for _ in range(3))
        self.mixes = mixes

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x += layer(x)
            x = layer(x).add_(x)
        return self.out(x - x.mean(0) if self.mixes else x)


@pytest.mark.parametrize("mixes", [False, True])
def test_a_model_of_ones_own_with_two_rows(mixes: bool) -> None:
    ids = torch.tensor([[5, 9, 7], [3, 2, 8]])
    ran = assert_as_by_the_plain_loop(OwnStack(mixes=mixes), first_of, ids)
    assert ran["OwnStack"] == (4 + 12 + 2 if mixes else 4)  # those one by one are compared too


def test_a_page_can_stop_it() -> None:
    model, given = built("GPT-2")
    said: list[str] = []
    work = Work(said.append)
    before = frozen(model)

    def metric(output: Any) -> Any:
        work.stop()
        return first_of(output)

    with pytest.raises(Stopped), work.under_way():
        vt.rank_heads(model, metric, **given.named)
    assert same(before, state(model))
