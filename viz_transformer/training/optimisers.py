"""Optimisers and their learning rate: Adam, or Muon for the layers' matrices and Adam for all else."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from viz_transformer.config import TrainConfig
from viz_transformer.model.layers import Decoder, Encoder


def make_optimisers(model: nn.Module, config: TrainConfig, fused: bool) -> tuple[Optimizer, ...]:
    """Return the optimisers of a model: Adam with the paper's β and ε (section 5.3), or two.

    With ``"muon"``, torch's Muon steps the matrices of attention and of the feed-forward networks (Jordan
    et al. 2024; the size of its steps is that of Liu et al. 2025, section 2.2), and Adam the embeddings,
    biases and norms, both with the same learning rate. Weights decay apart from the gradient (AdamW);
    biases and norms do not.
    """
    matrices: list[Tensor] = []
    if config.optimiser == "muon":
        matrices = [
            module.weight
            for stack in model.children()
            if isinstance(stack, Encoder | Decoder)
            for module in stack.modules()
            if isinstance(module, nn.Linear)
        ]
    chosen = set(map(id, matrices))
    others = [one for one in model.parameters() if id(one) not in chosen]
    decay = config.weight_decay
    groups = [
        {"params": [one for one in others if one.ndim > 1], "weight_decay": decay},
        {"params": [one for one in others if one.ndim == 1], "weight_decay": 0.0},
    ]
    adam = AdamW(groups, betas=(0.9, 0.98), eps=1e-9, fused=fused)
    if not matrices:
        return (adam,)
    return (adam, torch.optim.Muon(matrices, weight_decay=decay, adjust_lr_fn="match_rms_adamw"))


def learning_rate(step: int, config: TrainConfig) -> float:
    """Return the rate of a step, counted from 1: a linear warm-up to the peak, then the schedule.

    ``"cosine"`` falls to zero at the last step (Loshchilov and Hutter 2017), ``"inverse_sqrt"``
    in proportion to 1/√step, ``"constant"`` stays at the peak.

    The paper's schedule (Vaswani et al. 2017, section 5.3) is ``"inverse_sqrt"`` with the peak
    (d_model · warmup_steps)^-½: 0.0007 for its base model and 4,000 steps.

    >>> from viz_transformer.config import TrainConfig
    >>> from viz_transformer.training import learning_rate
    >>> learning_rate(100, TrainConfig(learning_rate=0.01, warmup_steps=200))  # halfway up
    0.005

    Args:
        step: counted from 1.
        config: with the peak, the warm-up and the schedule.
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "constant":
        return peak
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(max(1, warmup) / step)
    done = (step - warmup) / max(1, config.n_steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * done))


def spare_the_compiler() -> None:
    """Let torch's Adam and AdamW do without torch's compiler in this process.

    Five of their methods import it, only to mark them as not to be compiled. That takes 2.4 seconds
    of a processor and 70 MiB, in every kernel of a class. A torch whose methods are written in another way
    is left as it is.
    """
    for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
        if method := getattr(getattr(Optimizer, name), "__wrapped__", None):
            method.__dynamo_disable = method  # torch keeps here what the compiler leaves alone
    for kind in (Adam, AdamW):
        if step := getattr(vars(kind).get("step"), "__wrapped__", None):  # AdamW may have Adam's
            kind.step = _in_its_mode(step)  # type: ignore[method-assign]


def _in_its_mode(step: Any) -> Any:
    """Return a step that records gradients only where its optimiser can be differentiated."""

    @functools.wraps(step)
    def plain(self: Optimizer, *arguments: Any, **options: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *arguments, **options)

    return plain
