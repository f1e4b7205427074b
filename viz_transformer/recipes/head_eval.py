"""Evaluation of a model's heads: which ones its loss needs, and which ones do one thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis import HeadLabel, label_heads_together
from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.batches import Batch, TextBatch, as_text, pad
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.text_model import TextModel
from viz_transformer.trace import KINDS
from viz_transformer.training import token_loss
from viz_transformer.translator import Translator

#: A head is needed if the loss without it is higher by more than this, in nats per token.
NEEDED = 0.01
_BATCH_TOKENS = 8_000  # of targets that are read as one batch


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


@torch.inference_mode()
def head_losses(translator: Translator, pairs: Sequence[SentencePair | TextPair]) -> HeadLosses:
    """Measure the teacher-forced loss on some pairs, whole and with each head switched off alone.

    Raises:
        UserError: if there is no pair, or the vocabulary lacks a word.
    """
    return head_losses_on(translator, list(_batches(translator, pairs)))


@torch.inference_mode()
def head_losses_on(model: TextModel, batches: Sequence[Batch | TextBatch]) -> HeadLosses:
    """Measure the loss of a model of any kind on some batches, whole and without each head.

    Raises:
        UserError: if a batch's ids do not fit the model.
    """
    config, n_rows = model.config, sum(len(batch.labels) for batch in batches)
    with threads_for(config):
        loss, rises = _loss(model, batches), {}
        for kind, n_layers in config.attention_layers.items():
            rise = np.empty((n_layers, config.n_heads))  # [layer, head]
            for layer, head in np.ndindex(rise.shape):
                without = Interventions(heads=[HeadChange(kind, layer, head, factor=0)])
                rise[layer, head] = _loss(model, batches, without) - loss
            rises[kind] = rise
    return HeadLosses(loss, rises, n_rows)


def label_translator_heads(
    translator: Translator, pairs: Sequence[SentencePair | TextPair]
) -> dict[str, tuple[tuple[HeadLabel | None, ...], ...]]:
    """Name the heads that do one thing in all of these pairs, for each kind ``[layer][head]``.

    Raises:
        UserError: as `head_losses`.
    """
    _check(pairs)
    traces = []
    for pair in pairs:
        target = pair.target if isinstance(pair, TextPair) else list(pair.target)
        traces.append(translator.trace(as_text(pair.source), target))
    return {kind: label_heads_together(traces, kind) for kind in KINDS}


def _batches(translator: Translator, pairs: Sequence[SentencePair | TextPair]) -> Iterator[Batch]:
    """Yield padded ids, pairs of similar length together."""
    _check(pairs)
    vocabulary = translator.vocabulary
    sources = [vocabulary.source_ids(as_text(pair.source)) for pair in pairs]
    targets = [
        vocabulary.target_ids(pair.target)
        if isinstance(pair, TextPair)
        else [vocabulary.sos_id, *vocabulary.ids_of(pair.target), vocabulary.eos_id]
        for pair in pairs
    ]
    longest = max(map(len, [*sources, *targets]))
    size = max(1, _BATCH_TOKENS // longest)
    order = sorted(range(len(pairs)), key=lambda number: (len(targets[number]), len(sources[number])))
    for start in range(0, len(order), size):
        some = order[start : start + size]
        source, target = (
            pad([rows[index] for index in some], vocabulary.pad_id) for rows in (sources, targets)
        )
        yield Batch(source, target)


def _check(pairs: Sequence[SentencePair | TextPair]) -> None:
    if not pairs:
        raise UserError("there are no sentence pairs to judge heads with; give some")


def _loss(
    model: TextModel, batches: Sequence[Batch | TextBatch], interventions: Interventions | None = None
) -> float:
    """Return the mean cross-entropy of all tokens to predict, in nats."""
    pad_id, device = model.vocabulary.pad_id, next(model.model.parameters()).device
    total = n_tokens = 0.0
    for batch in batches:
        inputs = (torch.from_numpy(ids).to(device) for ids in batch.inputs)
        output = model.traced_model(*inputs, interventions=interventions)
        labels = torch.from_numpy(batch.labels).to(device)  # [row, position]
        loss, _ = token_loss(output.logits, labels, pad_id)
        n_real = int((labels != pad_id).sum())
        total, n_tokens = total + loss.item() * n_real, n_tokens + n_real
    return total / n_tokens
