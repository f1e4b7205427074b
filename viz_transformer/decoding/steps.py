"""A batch of texts read and continued step by step, whichever way suits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.decoding.fused import FusedSteps, can_fuse
from viz_transformer.decoding.rules import Model, Words
from viz_transformer.model import DecoderOnly
from viz_transformer.model.attention import attend, attend_fused
from viz_transformer.model.interventions import Interventions

#: What each row looked at: ``[row, layer, head, target]``, and ``[row, layer, head, source]``.
Looks = tuple[Tensor, Tensor | None]


class Steps(Protocol):
    """Texts under way; the rows of a batch are hypotheses, equally many for each sentence.

    Wherever the model is, ids and rows come from the processor, and logits go there: what is done
    with them are small sums and many questions, each of which a graphics card would wait for.
    """

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids [row], or at the start [row, position]; return logits [row, vocab]."""

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Go on with these rows, in this order; `sentences` says which are still there."""


class CachedSteps:
    """Steps through the model's own layers: with interventions, and every head's weights.

    Attributes:
        looks: what each row's newest word looked at, if that is wanted, else None.
        prompt_looks: what the words before the last of the prompt looked at in the text,
            ``[row, layer, head, query, key]``, if that is wanted and there are such.
    """

    def __init__(
        self,
        model: Model,
        sources: Sequence[Sequence[int]],
        words: Words,
        interventions: Interventions | None,
        attention: bool,
    ) -> None:
        self._model, self._interventions = model, interventions
        self._device = next(model.parameters()).device
        self._attention = attend if attention else attend_fused
        self.looks: Looks | None = None
        self.prompt_looks: Tensor | None = None
        if isinstance(model, DecoderOnly):
            self._cache = model.start_decoding(len(sources))
        else:
            ids = padded(sources, words.pad_id, self._device)
            memory = model.encode(ids, interventions)
            self._cache = model.start_decoding(memory, model.padding_mask(ids, interventions))

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids; a beginning of several is read one by one."""
        before: list[Tensor] = []
        for column in ids.T if ids.ndim == 2 else [ids]:
            if self.looks is not None and ids.ndim == 2:
                before.append(self.looks[0])
            output = self._model.attended_step(
                column.to(self._device), self._cache, self._interventions, self._attention
            )
            self._cache = output.cache
            if self._attention is attend:
                cross = output.cross_attention
                cross = None if cross is None else _stacked(cross)
                self.looks = _stacked(output.decoder_attention), cross
        if before:
            n_keys = ids.shape[1]
            rows = [F.pad(look, (0, n_keys - look.shape[-1])) for look in before]
            self.prompt_looks = torch.stack(rows, dim=3)  # [row, layer, head, query, key]
        return output.logits.cpu()

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Go on with these rows."""
        self._cache = self._cache.select(rows)


def _stacked(layers: tuple[Tensor, ...]) -> Tensor:
    looks = torch.cat(layers, dim=2).transpose(1, 2)  # [row, head, layer, key] -> [row, layer, …]
    return looks.cpu()


def open_steps(
    model: Model,
    sources: Sequence[Sequence[int]],
    words: Words,
    max_positions: int,
    interventions: Interventions | None = None,
    attention: bool = False,
) -> tuple[Steps, Tensor]:
    """Begin to decode; return the steps and the ids that their first step reads.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence; of a decoder alone, beginnings of one length.
        words: the vocabulary.
        max_positions: how many target positions will be read at most.
        interventions: what to change in the model.
        attention: whether the weights of every head are wanted.
    """
    alone = isinstance(model, DecoderOnly)
    device = next(model.parameters()).device
    first = (
        torch.tensor([list(source) for source in sources])  # [sentence, position]
        if alone
        else torch.full((len(sources),), words.sos_id)  # [sentence]
    )
    if interventions is not None or attention or not can_fuse(model):
        return CachedSteps(model, sources, words, interventions, attention), first
    if alone:
        # Checked here, once: the fused steps take what they are given.
        model.embed(first.to(device))
        return FusedSteps(model, None, None, max_positions), first
    ids = padded(sources, words.pad_id, device)
    memory, mask = model.encode(ids), model.padding_mask(ids)
    return FusedSteps(model, memory, mask, max_positions), first


def padded(sources: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    """Return ids [sentence, position], the shorter sentences padded on the right."""
    rows = [torch.tensor(list(source), dtype=torch.long, device=device) for source in sources]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)


def batches(model: Model, sources: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the numbers of the sentences that are decoded together.

    A decoder alone continues beginnings of one length at a time, so that none needs padding.
    """
    if not isinstance(model, DecoderOnly):
        return [list(range(len(sources)))]
    by_length: dict[int, list[int]] = {}
    for number, source in enumerate(sources):
        by_length.setdefault(len(source), []).append(number)
    return list(by_length.values())


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Evaluate the model without dropout, and put its mode back."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
