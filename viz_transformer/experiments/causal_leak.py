"""The leak of a decoder without its causal mask, measured on random words.

Random words cannot be predicted, so the lowest possible loss is known: the logarithm of the number
of words. A decoder without its causal mask comes far below it, because it reads the answer. When
it generates, the answer is not there yet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer._bounds import SEED, STEPS, whole_number
from viz_transformer.config import ModelConfig
from viz_transformer.model import Interventions, TracedDecoderOnly
from viz_transformer.model.threads import threads_for

#: The words have the ids 1 to this.
N_WORDS = 15
#: How many words the decoder reads; it predicts as many, each one position further.
LENGTH = 8
#: The loss of a uniform guess over the words, in nats per token: no honest model does better.
UNIFORM_LOSS = math.log(N_WORDS)

_MODEL = ModelConfig(
    family="decoder",
    vocab_size=N_WORDS + 1,
    d_model=32,
    n_heads=4,
    n_decoder_layers=1,
    d_ff=64,
    max_length=LENGTH,
    dropout=0.0,
)
_BATCH_SIZE, _LEARNING_RATE, _N_EVALUATED = 32, 1e-2, 500


class CausalLeak(NamedTuple):
    """The losses of one decoder, trained on random words.

    >>> from viz_transformer.experiments import CausalLeak
    >>> leak = CausalLeak(losses=(3.8, 0.4), writing=(2.9, 2.8))
    >>> f"{leak.losses[-1]} nats in training, {leak.writing[-1]} when it writes"
    '0.4 nats in training, 2.8 when it writes'

    Attributes:
        losses: at each step of the training, in nats per token.
        writing: the loss of the next word when no later word is there, as in generation: after 1
            word, after 2, and so on up to `LENGTH`.
    """

    losses: tuple[float, ...]
    writing: tuple[float, ...]


def measure_causal_leak(causal_mask: bool, *, n_steps: int = 200, seed: int = 0) -> CausalLeak:
    """Train a small decoder to predict the next of some random words, in about a second.

    >>> from viz_transformer.experiments import measure_causal_leak
    >>> from viz_transformer.experiments.causal_leak import UNIFORM_LOSS
    >>> leak = measure_causal_leak(causal_mask=False, n_steps=60)
    >>> leak.losses[-1] < UNIFORM_LOSS < leak.writing[-1]  # it read the answer
    True

    Args:
        causal_mask: whether it has its mask, in training and in generation.
        n_steps: optimiser steps.
        seed: of the weights and of the words.

    Raises:
        UserError: if a number is out of range.
    """
    whole_number("n_steps", n_steps, STEPS, least=0)
    whole_number("seed", seed, SEED, least=0)
    changes = Interventions(causal_mask=causal_mask)
    with torch.random.fork_rng(devices=[]), threads_for(_MODEL):
        torch.manual_seed(seed)
        model = TracedDecoderOnly(_MODEL)
        optimiser = torch.optim.Adam(model.parameters(), lr=_LEARNING_RATE, fused=True)
        losses = []
        for _ in range(n_steps):
            loss = _loss(model, _draw(_BATCH_SIZE), changes)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        with torch.no_grad():
            evaluated = _draw(_N_EVALUATED)
            writing = [_last_loss(model, evaluated[:, : n + 1], changes) for n in range(1, LENGTH + 1)]
    return CausalLeak(tuple(losses), tuple(writing))


def _draw(n_texts: int) -> Tensor:
    """Return ids [text, LENGTH + 1], each as likely as any other."""
    return torch.randint(1, N_WORDS + 1, (n_texts, LENGTH + 1))


def _logits(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> Tensor:
    logits = model(ids, interventions=changes).logits  # [text, position, vocab]
    assert logits is not None  # a decoder always has them
    return logits


def _loss(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> Tensor:
    """Return the mean loss of every word but the first, given those that the mask allows."""
    logits = _logits(model, ids[:, :-1], changes)
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def _last_loss(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> float:
    """Return the mean loss of the last word, given only those before it."""
    logits = _logits(model, ids[:, :-1], changes)[:, -1]  # [text, vocab]
    return F.cross_entropy(logits, ids[:, -1]).item()
