"""The base of the models that write word by word: logits, masks and single steps.

`Transformer` and `DecoderOnly` are such models. `decoding` knows this class alone: it asks for the
`decoder_inputs` of its sources and takes steps from there.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import Attention, attend, attend_fused
from viz_transformer.model.inputs import check_batch, check_ids
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.layers import Decoder, Encoder
from viz_transformer.model.masks import causal_mask, padding_mask
from viz_transformer.model.outputs import DecoderCache, StepOutput

#: The ids of each sentence.
Sources = Sequence[Sequence[int]]


class DecoderInputs(NamedTuple):
    """What the decoder begins with, for a batch of sources.

    Attributes:
        first_ids: [sentence, position], what it reads at its first step, on the processor:
            ``<sos>``, or the text that it continues.
        cache: of the first step: no target yet, and beside an encoder what it made of the sources.
    """

    first_ids: Int[Tensor, "sentence position"]
    cache: DecoderCache


class AutoregressiveModel(nn.Module, ABC):
    """A model that scores the word that follows a text.

    Attributes:
        config: its sizes and choices.
        decoder: the stack of layers that reads what is written.
        continues_source: whether it writes on where its source ends, as a decoder alone does; else
            it begins a text of its own.
    """

    config: ModelConfig
    decoder: Encoder | Decoder
    continues_source: bool
    output: nn.Linear  # where embeddings are not tied
    output_bias: nn.Parameter  # where config.output_bias

    @property
    @abstractmethod
    def target_words(self) -> nn.Embedding:
        """The embedding of the words that the model writes."""

    @abstractmethod
    def embed_unchecked(
        self, ids: Int[Tensor, "batch target"], start: int = 0, interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch target d_model"]:
        """Do what `embed_target` does, with ids that are known to fit."""

    @abstractmethod
    def decoder_inputs(
        self, sources: Sources, sos_id: int, pad_id: int, interventions: Interventions | None = None
    ) -> DecoderInputs:
        """Return what the decoder begins with.

        Args:
            sources: ids of each sentence; of a model that continues them, all of one length.
            sos_id: the id that begins a text.
            pad_id: the id that pads the shorter sources.
            interventions: what to change in the encoder; None changes nothing.

        Raises:
            UserError: if the ids or the interventions do not fit the model.
        """

    def embed_target(
        self,
        target_ids: Int[Tensor, "batch target"],
        start: int = 0,
        interventions: Interventions = UNCHANGED,
    ) -> Float[Tensor, "batch target d_model"]:
        """Turn target ids at the positions from `start` on into vectors: word plus position.

        Raises:
            UserError: if the ids do not fit the model.
        """
        words = self.target_words
        n_words, device = words.num_embeddings, words.weight.device
        check_ids("target_ids", target_ids, n_words, self.config.max_length, start, device)
        return self.embed_unchecked(target_ids, start, interventions)

    def logits(self, x: Float[Tensor, "batch target d_model"]) -> Float[Tensor, "batch target vocab"]:
        """Compare each of the decoder's vectors with the output vector of every word."""
        words = self.target_words if self.config.tie_embeddings else self.output
        return F.linear(x, words.weight, self.output_bias if self.config.output_bias else None)

    def decode_step(
        self,
        next_ids: Int[Tensor, " batch"],
        cache: DecoderCache,
        interventions: Interventions | None = None,
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderCache]:
        """Read one more word per text and score the words that may follow.

        Equal to the last position of the forward pass over all words so far, at the cost of one
        position.

        Args:
            next_ids: token ids [batch]; beside an encoder ``<sos>`` at the first step.
            cache: what `start_decoding` or the step before returned; it stays as it is.
            interventions: what to change; the same in the encoder and at every step. For
                `padding_mask=False`, give `start_decoding` the mask that `padding_mask` returns
                with these interventions.

        Returns:
            logits [batch, vocab], and the cache for the next step.

        Raises:
            UserError: as `forward`, or if the interventions do not fit the model.
        """
        output = self.attended_step(next_ids, cache, interventions, attend_fused)
        return output.logits, output.cache

    def attended_step(
        self,
        next_ids: Int[Tensor, " batch"],
        cache: DecoderCache,
        interventions: Interventions | None = None,
        attention: Attention = attend,
    ) -> StepOutput:
        """Do what `decode_step` does, and return what `attention` gave as weights too.

        Raises:
            UserError: as `decode_step`.
        """
        changes = checked(interventions, self.config)
        ids = next_ids[:, None]  # [batch, 1]
        x = self.embed_target(ids, cache.length, changes)  # [batch, 1, d_model]
        if cache.source_mask is not None:
            check_batch(ids, cache.source_mask)
        new_mask = self.target_padding_mask(ids, cache.length, changes)
        x, cache, self_weights, cross_weights = self.decoder.step(x, new_mask, cache, changes, attention)
        return StepOutput(
            logits=self.logits(x)[:, 0],  # [batch, vocab]
            cache=cache,
            decoder_attention=self_weights,
            cross_attention=cross_weights,
        )

    def padding_mask(
        self, ids: Int[Tensor, "batch key"], interventions: Interventions | None = None
    ) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of ids with the model's own `pad_id`."""
        mask = padding_mask(ids, self.config.padding_id)
        changes = checked(interventions, self.config)
        return mask if changes.padding_mask else torch.ones_like(mask)

    def target_padding_mask(
        self,
        target_ids: Int[Tensor, "batch key"],
        start: int = 0,
        interventions: Interventions | None = None,
    ) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of target ids at the positions from `start` on.

        Some models start every target with `pad_id` itself (Marian): there the first position is
        no padding.
        """
        mask = self.padding_mask(target_ids, interventions)
        if start == 0 and self.config.start_id == self.config.pad_id:
            mask[..., 0] = True
        return mask

    def target_mask(
        self, target_ids: Int[Tensor, "batch target"], interventions: Interventions | None = None
    ) -> Bool[Tensor, "batch 1 target target"]:
        """Return the mask of the decoder's self-attention: no padding, and no look ahead."""
        padding = self.target_padding_mask(target_ids, interventions=interventions)
        if not checked(interventions, self.config).causal_mask:
            return padding.expand(-1, -1, target_ids.shape[1], -1)
        return padding & causal_mask(target_ids.shape[1], target_ids.device)
