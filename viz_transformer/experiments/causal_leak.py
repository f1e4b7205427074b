"""Words drawn by lot, and a decoder that may or may not look at the word it is to predict.

Nobody can predict a lottery, so the lowest honest loss is known beforehand: the logarithm of the
number of words. A decoder without its causal mask comes far below it, because it reads the answer.
When it has to write, the answer is not there yet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.config import ModelConfig
from viz_transformer.model import Interventions, TracedDecoderOnly
from viz_transformer.model.threads import threads_for

#: The words of the lottery have the ids 1 to this.
N_WORDS = 15
#: How many words the decoder reads; it predicts as many, each one place further.
LENGTH = 8
#: The loss of whoever knows the words and nothing else, in nats per token.
HONEST = math.log(N_WORDS)

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
_BATCH_SIZE, _LEARNING_RATE, _N_JUDGED = 32, 1e-2, 500


class Lottery(NamedTuple):
    """One decoder, trained on words drawn by lot.

    Attributes:
        losses: at each step of the training, in nats per token.
        writing: the loss of the next word where the words so far are all there is, as in writing:
            after 1 word, after 2, and so on up to `LENGTH`.
    """

    losses: tuple[float, ...]
    writing: tuple[float, ...]


def train_on_lottery(causal_mask: bool, *, n_steps: int = 300, seed: int = 0) -> Lottery:
    """Train a small decoder to predict the next word of a lottery, in a few seconds.

    Args:
        causal_mask: whether it has its mask, in training and after.
        n_steps: optimiser steps.
        seed: of the weights and of the words.
    """
    changes = Interventions(causal_mask=causal_mask)
    with torch.random.fork_rng(devices=[]), threads_for(_MODEL):
        torch.manual_seed(seed)
        model = TracedDecoderOnly(_MODEL)
        optimiser = torch.optim.Adam(model.parameters(), lr=_LEARNING_RATE)
        losses = []
        for _ in range(n_steps):
            loss = _loss(model, _draw(_BATCH_SIZE), changes)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        with torch.no_grad():
            judged = _draw(_N_JUDGED)
            writing = [_last_loss(model, judged[:, : n + 1], changes) for n in range(1, LENGTH + 1)]
    return Lottery(tuple(losses), tuple(writing))


def _draw(n_texts: int) -> Tensor:
    """Return ids [text, LENGTH + 1], each as likely as any other."""
    return torch.randint(1, N_WORDS + 1, (n_texts, LENGTH + 1))


def _logits(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> Tensor:
    logits = model(ids, interventions=changes).logits  # [text, position, vocab]
    assert logits is not None  # a decoder always has them
    return logits


def _loss(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> Tensor:
    """Return the mean loss of each word but the first, given those that the mask lets it see."""
    logits = _logits(model, ids[:, :-1], changes)
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def _last_loss(model: TracedDecoderOnly, ids: Tensor, changes: Interventions) -> float:
    """Return the mean loss of the last word, the model having read those before it alone."""
    logits = _logits(model, ids[:, :-1], changes)[:, -1]  # [text, vocab]
    return F.cross_entropy(logits, ids[:, -1]).item()
