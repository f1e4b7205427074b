"""Muon against a singular value decomposition and the published code; Adam by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from unittest import mock

import pytest
import torch
from torch import Tensor

from tests.support.training_runs import CONFIG, MODEL
from viz_transformer.training import make_model
from viz_transformer.training.optimisers import Muon, make_optimisers, orthogonalised

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


def test_the_singular_vectors_stay_and_the_singular_values_become_alike() -> None:
    for shape in ((8, 8), (6, 20), (20, 6), (3, 12, 7)):
        torch.manual_seed(0)
        u, s, vh = torch.linalg.svd(torch.randn(shape, dtype=torch.float64), full_matrices=False)
        s = torch.logspace(0, -2, s.shape[-1], dtype=torch.float64).expand(s.shape)  # 1 down to 0.01
        found = orthogonalised(5 * u * s.unsqueeze(-2) @ vh)
        values = u.mT @ found @ vh.mT
        diagonal = values.diagonal(dim1=-2, dim2=-1)
        torch.testing.assert_close(values, torch.diag_embed(diagonal))
        assert diagonal.min() > 0.6
        assert diagonal.max() < 1.25
    assert torch.equal(orthogonalised(torch.zeros(3, 4)), torch.zeros(3, 4))


def published_step(weight: Tensor, average: Tensor, gradient: Tensor, rate: float, decay: float) -> None:
    """Take a step in place, as the published Muon does, of the size that Liu et al. 2025 give it."""
    average.mul_(0.95).add_(0.05 * gradient)
    nesterov = 0.05 * gradient + 0.95 * average
    x = nesterov.bfloat16()
    if weight.shape[0] > weight.shape[1]:
        x = x.T
    x = x / x.norm()
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    if weight.shape[0] > weight.shape[1]:
        x = x.T
    weight.mul_(1 - rate * decay).sub_(rate * 0.2 * max(weight.shape) ** 0.5 * x.float())


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_muon_takes_the_steps_of_the_published_code(decay: float) -> None:
    """Jordan et al. compute in bfloat16, with two to three digits."""
    torch.manual_seed(0)
    ours = [torch.nn.Parameter(torch.randn(shape)) for shape in ((8, 8), (6, 20), (20, 6))]
    before = [one.detach().clone() for one in ours]
    theirs = [(one.clone(), torch.zeros_like(one)) for one in before]  # each weight, and its average
    muon = Muon(ours, lr=0.1, weight_decay=decay)
    for _ in range(3):
        for one, (weight, average) in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            published_step(weight, average, one.grad, rate=0.1, decay=decay)
        muon.step()
    for one, (weight, _), was in zip(ours, theirs, before, strict=True):
        moved = (weight - was).norm()
        assert moved > 0.05 * one.numel() ** 0.5 * 0.2
        assert (one - weight).norm() < 0.05 * moved


def test_muon_steps_the_layers_matrices_and_adam_all_else() -> None:
    model = make_model(MODEL, 0)
    names = {parameter: name for name, parameter in model.named_parameters()}
    adam, muon = make_optimisers(model, replace(CONFIG, optimiser="muon"), fused=True)
    stepped = {names[one] for one in muon.param_groups[0]["params"]}
    assert {name for name in names.values() if name.startswith(("encoder", "decoder"))} >= stepped
    # Four of each attention, of which there are three, and two of each feed-forward network.
    assert len(stepped) == 3 * 4 + 2 * 2
    others = [names[one] for group in adam.param_groups for one in group["params"]]
    assert sorted(others) == sorted(set(names.values()) - stepped)
    (alone,) = make_optimisers(model, CONFIG, fused=True)
    others = [names[one] for group in alone.param_groups for one in group["params"]]
    assert sorted(others) == sorted(names.values())


@pytest.mark.parametrize("optimiser", ["adam", "muon"])
@pytest.mark.parametrize("fused", [True, False])
def test_matrices_decay_and_biases_and_norms_do_not(optimiser: str, fused: bool) -> None:
    model = make_model(MODEL, 0)
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    config = replace(CONFIG, optimiser=optimiser, weight_decay=0.2)
    for one in model.parameters():
        one.grad = torch.zeros_like(one)  # so that nothing but the decay moves them
    for each in make_optimisers(model, config, fused):
        for group in each.param_groups:
            group["lr"] = 0.5
        each.step()
    for name, one in model.named_parameters():
        share = 0.9 if one.ndim > 1 else 1.0
        torch.testing.assert_close(one.detach(), share * before[name], msg=name)


@pytest.mark.parametrize("fused", [True, False])
def test_without_decay_it_is_adam_to_the_last_bit(fused: bool) -> None:
    mine, theirs = make_model(MODEL, 0), make_model(MODEL, 0)
    (ours,) = make_optimisers(mine, CONFIG, fused)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=fused)
    for _ in range(3):
        for one, same in zip(mine.parameters(), theirs.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            same.grad = one.grad.clone()
        ours.step()
        adam.step()
    for one, same in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, same)


def adam_by_hand(gradients: list[float], lr: float) -> float:
    """Return where Adam leads from 1.0 (Kingma and Ba 2015, algorithm 1)."""
    value, mean, square = 1.0, 0.0, 0.0
    for step, gradient in enumerate(gradients, start=1):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        value -= lr * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)) ** 0.5 + 1e-8)
    return value


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_adam_steps_without_torchs_compiler(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    weight = torch.nn.Parameter(torch.tensor(1.0))
    adam = kind([weight], lr=0.1, weight_decay=0.0)
    for gradient in (2.0, -1.0, 0.5):
        adam.zero_grad()
        (weight * gradient).backward()
        adam.step()
    assert weight.item() == pytest.approx(adam_by_hand([2.0, -1.0, 0.5], lr=0.1))
    kept = adam.state_dict()
    adam.load_state_dict(kept)
    assert adam.state_dict()["state"][0]["step"] == 3
    assert "torch._dynamo" not in sys.modules


def test_torchs_step_is_used_once_its_compiler_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = mock.Mock()
    weight = torch.nn.Parameter(torch.tensor(1.0))
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "torch._dynamo", raising=False)
        adam = torch.optim.Adam([weight], lr=0.1)
    weight.sum().backward()
    monkeypatch.setitem(sys.modules, "torch._dynamo", compiler)
    # To look for the old one with getattr would find this one, by torch's own import, and leave it behind.
    monkeypatch.setitem(vars(torch), "_dynamo", compiler)
    adam.step()
    assert compiler.graph_break.call_count == 2
    assert weight.item() == pytest.approx(0.9)
