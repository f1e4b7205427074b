"""A small translator that is trained with or without the look-ahead mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from viz_transformer.config import TrainConfig
from viz_transformer.corpus import SentencePair, vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.model import Interventions, Transformer
from viz_transformer.recipes.six_pairs import SMALL_MODEL
from viz_transformer.training import fit
from viz_transformer.translator import Translator


class Peeking(Transformer):
    """A Transformer whose decoder attends to the words after a position, too."""

    def target_mask(self, target_ids: Tensor, interventions: Interventions | None = None) -> Tensor:
        """Hide padding alone: [batch, 1, query, key]."""
        padding = self.target_padding_mask(target_ids)  # [batch, 1, 1, key]
        return padding.expand(-1, -1, target_ids.shape[1], -1)


class Trained(NamedTuple):
    """A translator, and the loss at its last step in nats per token."""

    translator: Translator
    loss: float


def train_peeking(pairs: Sequence[SentencePair], *, look_ahead: bool, n_steps: int = 60) -> Trained:
    """Train a small translator, all pairs in each batch.

    >>> from viz_transformer.corpus.six_pairs import SIX_PAIRS
    >>> from viz_transformer.experiments.peeking import train_peeking
    >>> train_peeking(SIX_PAIRS, look_ahead=True, n_steps=5).loss > 1  # of 60 steps
    True

    Args:
        pairs: what it is trained on.
        look_ahead: whether its decoder may attend to the words that it must predict.
        n_steps: how long.
    """
    vocabulary = vocabulary_of(pairs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kind = Peeking if look_ahead else Transformer
        model = kind(replace(SMALL_MODEL, vocab_size=len(vocabulary)))
    steps = TrainConfig(n_steps=n_steps, batch_size=len(pairs), learning_rate=3e-3, warmup_steps=0)
    *_, last = fit(model, batches(pairs, vocabulary, len(pairs), seed=0), steps)
    return Trained(Translator(model.eval(), vocabulary), last.loss)
