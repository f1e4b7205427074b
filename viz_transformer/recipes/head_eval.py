"""Evaluation of a model's heads: which ones its loss needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.batches import Batch, TextBatch
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.recipes.evaluation import one_epoch
from viz_transformer.text_model import TextModel
from viz_transformer.training.loss import mean_loss
from viz_transformer.translator import Translator

#: A head is needed if the loss without it is higher by more than this, in nats per token.
NEEDED = 0.01


@dataclass(frozen=True, eq=False)
class HeadLosses:
    """The loss of a model with each head switched off alone.

    Attributes:
        loss: of the whole model, teacher-forced, in nats per token with ``<eos>``.
        rises: for each kind of attention ``[layer, head]``: the loss without that head, minus
            `loss`; above 0, the model is worse off without it.
        n: sentence pairs, or texts.
    """

    loss: float
    rises: dict[str, NDArray[np.float64]]
    n: int

    @property
    def n_heads(self) -> int:
        """All heads of the model."""
        return sum(rises.size for rises in self.rises.values())

    @property
    def n_needed(self) -> int:
        """Heads without which the loss is higher by more than `NEEDED`."""
        return sum(int((rises > NEEDED).sum()) for rises in self.rises.values())


def head_losses(translator: Translator, pairs: Sequence[SentencePair | TextPair]) -> HeadLosses:
    """Measure the teacher-forced loss on some pairs, whole and with each head switched off alone.

    Raises:
        UserError: if there is no pair, or the vocabulary lacks a word.
    """
    if not pairs:
        raise UserError("there are no sentence pairs to judge heads with; give some")
    return head_losses_on(translator, list(one_epoch(pairs, translator.vocabulary)))


def head_losses_on(model: TextModel, batches: Sequence[Batch | TextBatch]) -> HeadLosses:
    """Measure the loss of a model of any kind on some batches, whole and without each head.

    Raises:
        UserError: if a batch's ids do not fit the model.
    """
    config, n_rows = model.config, sum(len(batch.labels) for batch in batches)
    pad_id, device = model.vocabulary.pad_id, next(model.model.parameters()).device

    def loss_with(changes: Interventions | None) -> float:
        def logits_of(*ids: Tensor) -> Tensor:
            return model.traced_model(*ids, interventions=changes).logits

        return mean_loss(logits_of, batches, pad_id, device)

    with threads_for(config):
        loss, rises = loss_with(None), {}
        for kind, n_layers in config.attention_layers.items():
            rise = np.empty((n_layers, config.n_heads))  # [layer, head]
            for layer, head in np.ndindex(rise.shape):
                without = Interventions(heads=[HeadChange(kind, layer, head, factor=0)])
                rise[layer, head] = loss_with(without) - loss
            rises[kind] = rise
    return HeadLosses(loss, rises, n_rows)
