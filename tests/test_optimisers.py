"""Which optimiser steps which weights, what decays, and Adam by hand without torch's compiler."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from tests.support.training_runs import CONFIG, MODEL
from viz_transformer.training import make_model
from viz_transformer.training.optimisers import make_optimisers

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
def test_muon_steps_the_layers_matrices_and_adam_all_else_and_matrices_alone_decay(
    optimiser: str, fused: bool
) -> None:
    model = make_model(MODEL, 0)
    names = {parameter: name for name, parameter in model.named_parameters()}
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    made = make_optimisers(model, replace(CONFIG, optimiser=optimiser, weight_decay=0.2), fused)
    stepped = [[names[one] for group in each.param_groups for one in group["params"]] for each in made]
    assert sorted(itertools.chain(*stepped)) == sorted(names.values())
    if optimiser == "muon":
        # Four of each attention, of which there are three, and two of each feed-forward network.
        assert len(stepped[1]) == 3 * 4 + 2 * 2
        assert all(name.startswith(("encoder", "decoder")) for name in stepped[1])
        (group,) = made[1].param_groups  # as the bundled models were trained: Liu et al. 2025, section 2.2
        assert (group["momentum"], group["nesterov"], group["ns_steps"]) == (0.95, True, 5)
        assert group["adjust_lr_fn"] == "match_rms_adamw"
    for one in model.parameters():
        one.grad = torch.zeros_like(one)  # so that nothing but the decay moves them
    for each in made:
        for group in each.param_groups:
            group["lr"] = 0.5
        each.step()
    for name, one in model.named_parameters():
        share = 0.9 if one.ndim > 1 else 1.0
        torch.testing.assert_close(one.detach(), share * before[name], msg=name)


@pytest.mark.parametrize("fused", [True, False])
def test_without_decay_it_is_the_papers_adam_to_the_last_bit(fused: bool) -> None:
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


#: Takes three steps with torch's own Adam; its first gradients, and Kingma and Ba 2015, algorithm 1, by hand.
WITHOUT_COMPILER = """
import sys, torch
import viz_transformer.training
for kind in (torch.optim.Adam, torch.optim.AdamW):
    weight = torch.nn.Parameter(torch.tensor(1.0))
    adam = kind([weight], lr=0.1, weight_decay=0.0)
    value, mean, square = 1.0, 0.0, 0.0
    for step, gradient in enumerate((2.0, -1.0, 0.5), start=1):
        adam.zero_grad()
        (weight * gradient).backward()
        adam.step()
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        value -= 0.1 * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)) ** 0.5 + 1e-8)
    assert abs(weight.item() - value) < 1e-6, (weight.item(), value)
    assert weight.requires_grad and not adam.state[weight]["exp_avg"].requires_grad
    adam.load_state_dict(adam.state_dict())
assert "torch._dynamo" not in sys.modules
"""


def test_adam_steps_without_torchs_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_COMPILER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
