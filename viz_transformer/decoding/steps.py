"""Decoding steps: a batch of texts continued word by word, through the model's layers or fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.decoding.constraints import Constraints
from viz_transformer.decoding.fused import FusedSteps
from viz_transformer.model.attention import attend, attend_fused
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.interventions import Interventions
from viz_transformer.model.outputs import DecoderCache

#: What each row attended to: ``[row, layer, head, target]``, and ``[row, layer, head, source]``.
StepAttention = tuple[Tensor, Tensor | None]


class Steps(Protocol):
    """Texts under way; the rows of a batch are hypotheses, equally many for each sentence.

    Wherever the model is, ids and rows come from the processor, and logits go there: what is done
    with them are small sums and many questions, each of which a graphics card would wait for.
    """

    @property
    def attention(self) -> StepAttention | None:
        """What each row's newest word attended to, where that is recorded."""

    @property
    def prompt_attention(self) -> Tensor | None:
        """The self-attention of all but the last word of a prompt, where that is recorded.

        Its axes are ``[row, layer, head, query, key]``; a prompt of one word has none.
        """

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids [row], or at the start [row, position]; return logits [row, vocab]."""

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Go on with these rows, in this order; `sentences` says which are still there."""


class CachedSteps:
    """Steps through the model's own layers: with interventions, and every head's weights."""

    def __init__(
        self,
        model: AutoregressiveModel,
        cache: DecoderCache,
        interventions: Interventions | None,
        record_attention: bool,
    ) -> None:
        self._model, self._cache, self._interventions = model, cache, interventions
        self._device = model.target_words.weight.device
        self._attend = attend if record_attention else attend_fused
        self.attention: StepAttention | None = None
        self.prompt_attention: Tensor | None = None

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids; the words of a prompt are read one by one."""
        *prompt, last = ids.T if ids.ndim == 2 else [ids]
        of_prompt: list[Tensor] = []
        for column in prompt:
            self._read(column)
            if self.attention is not None:
                of_prompt.append(self.attention[0])
        logits = self._read(last)
        if of_prompt:
            n_keys = ids.shape[1]
            rows = [F.pad(weights, (0, n_keys - weights.shape[-1])) for weights in of_prompt]
            self.prompt_attention = torch.stack(rows, dim=3)  # [row, layer, head, query, key]
        return logits

    def _read(self, ids: Tensor) -> Tensor:
        """Read one more word in every row; return logits [row, vocab]."""
        output = self._model.attended_step(
            ids.to(self._device), self._cache, self._interventions, self._attend
        )
        self._cache = output.cache
        own = _stacked(output.decoder_attention)
        if own is not None:
            self.attention = own, _stacked(output.cross_attention)
        return output.logits.cpu()

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Go on with these rows."""
        self._cache = self._cache.select(rows)


def _stacked(layers: tuple[Tensor | None, ...] | None) -> Tensor | None:
    """Return the layers' weights [row, head, 1, key] as [row, layer, head, key], if there are any."""
    weights = [layer for layer in layers or () if layer is not None]
    return torch.cat(weights, dim=2).transpose(1, 2).cpu() if weights else None


def open_steps(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    constraints: Constraints,
    interventions: Interventions | None = None,
    record_attention: bool = False,
) -> Iterator[tuple[list[int], Steps, Tensor]]:
    """Begin to decode, one batch after the other.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence.
        constraints: the vocabulary, and how long a text may be.
        interventions: what to change in the model.
        record_attention: whether the weights of every head are wanted.

    Yields:
        The numbers of a batch's sentences, their steps, and the ids that the first step reads.
    """
    words = constraints.words
    is_product = model.config.scoring in ("scaled_dot", "dot")  # as torch's fused attention scores
    batches = [list(range(len(sources)))]
    if model.continues_source:  # reads those of one length together, so that none needs padding
        by_length: dict[int, list[int]] = {}
        for number, source in enumerate(sources):
            by_length.setdefault(len(source), []).append(number)
        batches = list(by_length.values())
    for numbers in batches:
        chosen = [sources[number] for number in numbers]
        first_ids, cache = model.decoder_inputs(chosen, words.sos_id, words.pad_id, interventions)
        steps: Steps
        if interventions is not None or record_attention or not is_product:
            steps = CachedSteps(model, cache, interventions, record_attention)
        else:
            max_positions = len(chosen[0]) + constraints.longest + 1
            steps = FusedSteps(model, cache, max_positions)
        yield numbers, steps, first_ids


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluate the model without dropout or gradients, and put its mode back."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
