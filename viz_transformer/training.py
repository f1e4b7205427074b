"""Training: the loss, the learning-rate schedule, and a loop that yields what happened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import Batch
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer


@dataclass(frozen=True)
class StepRecord:
    """What one optimiser step did.

    Attributes:
        step: counted from 1.
        loss: cross-entropy per real target token, in nats, label smoothing included.
        token_accuracy: share of real target tokens predicted right under teacher forcing, 0 to 1.
        learning_rate: the rate of this step.
        grad_norm: the gradient's norm before clipping.
    """

    step: int
    loss: float
    token_accuracy: float
    learning_rate: float
    grad_norm: float


def make_model(config: ModelConfig, seed: int) -> Transformer:
    """Build a model whose initial weights are fixed by the seed; torch's own seed stays."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(config)


def learning_rate(step: int, config: TrainConfig) -> float:
    """Return the rate of a step, counted from 1: a linear warm-up, then a cosine to zero."""
    if step <= config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    done = (step - config.warmup_steps) / max(1, config.n_steps - config.warmup_steps)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def token_loss(
    logits: Tensor, wanted: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy and the accuracy over the tokens that are not padding.

    Args:
        logits: [batch, target, vocab].
        wanted: ids [batch, target], the target shifted by one.
        pad_id: positions with this id do not count.
        label_smoothing: probability mass spread over all tokens (Szegedy et al. 2016).
    """
    loss = F.cross_entropy(
        logits.flatten(0, 1),  # [batch · target, vocab]
        wanted.flatten(),  # [batch · target]
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )
    real = wanted != pad_id
    right = (logits.argmax(-1) == wanted) & real
    return loss, right.sum() / real.sum()


def fit(model: Transformer, batches: Iterable[Batch], config: TrainConfig) -> Iterator[StepRecord]:
    """Train a model in place with Adam, yielding a record after every step.

    The decoder reads the target and learns to write it shifted by one (teacher forcing). What was
    learned stays in the model whenever the caller stops asking; afterwards the model is in
    evaluation mode. Dropout draws from torch's generator, which is seeded for the run and put
    back.

    Args:
        model: changed in place.
        batches: at least `config.n_steps` of them, target ids with ``<sos>`` and ``<eos>``.
        config: steps, rate, smoothing, clipping and seed.

    Raises:
        UserError: if the loss is no longer a number.
    """
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)  # section 5.3
    callers_state = torch.get_rng_state()
    torch.manual_seed(config.seed)
    model.train()
    try:
        for step, batch in zip(range(1, config.n_steps + 1), batches, strict=False):
            record = _step(model, optimiser, batch, config, step)
            own_state = torch.get_rng_state()
            torch.set_rng_state(callers_state)
            yield record
            callers_state = torch.get_rng_state()
            torch.set_rng_state(own_state)
    finally:
        torch.set_rng_state(callers_state)
        model.eval()


def _step(
    model: Transformer,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    config: TrainConfig,
    step: int,
) -> StepRecord:
    source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
    logits = model(source, target[:, :-1])  # [batch, target - 1, vocab]
    loss, accuracy = token_loss(logits, target[:, 1:], model.config.pad_id, config.label_smoothing)
    if not torch.isfinite(loss):
        raise UserError(
            f"the loss is {loss.item()} at step {step}; lower learning_rate="
            f"{config.learning_rate} or raise warmup_steps={config.warmup_steps}"
        )
    rate = learning_rate(step, config)
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm)
    optimiser.step()
    return StepRecord(step, loss.item(), accuracy.item(), rate, norm.item())
