"""The whole model: embeddings, encoder, decoder, and a score for every word of the vocabulary.

`Transformer` returns logits and computes attention the fast way. `TracedTransformer`, in `traced`,
is the same model, with the same parameters, that also returns what every head looked at.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import Attention, attend, attend_fused
from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.init_weights import initialise
from viz_transformer.model.inputs import check_alike, check_batch, check_ids
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.masks import (
    causal_mask,
    check_source_mask,
    padding_mask,
)
from viz_transformer.model.output import StepOutput
from viz_transformer.model.positional import embedding_scale, make_positions
from viz_transformer.model.stacks import Decoder, Encoder


class Transformer(nn.Module):
    """The encoder–decoder of "Attention Is All You Need".

    Args:
        config: sizes and choices; the defaults are the paper's base model.

    Raises:
        UserError: if the config is that of another family.

    Source: Vaswani et al. 2017, section 3 and figure 1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.family != "encoder-decoder":
            raise UserError(
                f"the configuration is of the family {config.family!r}, and Transformer is an "
                "encoder–decoder; make an EncoderOnly or a DecoderOnly of it"
            )
        self.config = config
        # Tied (section 3.4), one matrix serves source, target and output, and is stored once;
        # with a vocabulary of the target's own, one serves target and output.
        self.source_embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.has_target_embedding:
            self.target_embedding = nn.Embedding(config.output_vocab_size, config.d_model)
        if not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.output_vocab_size, bias=False)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(config.output_vocab_size))
        self.source_positions = make_positions(config)
        self.target_positions = make_positions(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.apply(initialise)

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Score, at every target position, each word of the vocabulary as the next one.

        Args:
            source_ids: token ids [batch, source], padded with `config.pad_id`.
            target_ids: token ids [batch, target], starting with ``<sos>``.

        Returns:
            logits [batch, target, vocab]; position i has seen the target up to i.

        Raises:
            UserError: if ids are not whole numbers [batch, position] below vocab_size, are longer
                than max_length, or differ in batch size.
        """
        memory = self.encode(source_ids)
        return self._decode(target_ids, memory, self.padding_mask(source_ids))

    def encode(
        self,
        source_ids: Int[Tensor, "batch source"],
        interventions: Interventions | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Read the source: the encoder's output [batch, source, d_model], the decoder's memory.

        Raises:
            UserError: as `forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_source(source_ids, changes)
        memory, _ = self.encoder(x, self.padding_mask(source_ids, changes), attend_fused, changes)
        return memory

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits [batch, target, vocab] for a source that `encode` has read.

        Args:
            target_ids: token ids [batch, target].
            memory: what `encode` returned, [batch, source, d_model].
            source_mask: `padding_mask` of the source ids, [batch, 1, 1, source].

        Raises:
            UserError: as `forward`, or if the memory is of another dtype or device than the
                model, or the source mask of another shape or False everywhere.
        """
        self._check_memory(memory, source_mask)
        return self._decode(target_ids, memory, source_mask)

    def _decode(self, target_ids: Tensor, memory: Tensor, source_mask: Tensor) -> Tensor:
        x = self.embed_target(target_ids)
        check_batch(target_ids, memory)
        target_mask = self.target_mask(target_ids)
        x, _, _ = self.decoder(x, target_mask, memory, source_mask, attend_fused)
        return self.logits(x)

    def start_decoding(
        self,
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> DecoderCache:
        """Return the cache from which `decode_step` writes the first word.

        Raises:
            UserError: as `decode`.
        """
        self._check_memory(memory, source_mask)
        return self.decoder.start(memory, source_mask)

    def decode_step(
        self,
        next_ids: Int[Tensor, " batch"],
        cache: DecoderCache,
        interventions: Interventions | None = None,
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderCache]:
        """Read one more target word per sentence and score the words that may follow.

        Equal to the last position of `decode` over all words so far, at the cost of one position.

        Args:
            next_ids: token ids [batch]; at the first step ``<sos>``.
            cache: what `start_decoding` or the step before returned; it stays as it is.
            interventions: what to change; the same in `encode` and at every step. For
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
        mask = padding_mask(ids, self.config.pad_id)
        changes = checked(interventions, self.config)
        return mask if changes.padding_mask else torch.ones_like(mask)

    def target_padding_mask(
        self,
        target_ids: Int[Tensor, "batch key"],
        start: int = 0,
        interventions: Interventions | None = None,
    ) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of target ids that stand at `start` and after.

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

    def embed_source(
        self, source_ids: Int[Tensor, "batch source"], interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch source d_model"]:
        """Turn source ids into vectors that know their word and their place."""
        config, embedding = self.config, self.source_embedding
        device = embedding.weight.device
        check_ids("source_ids", source_ids, config.vocab_size, config.max_length, device=device)
        places = self._places(self.source_positions, source_ids, 0, interventions)
        return self._embed(source_ids, embedding, places)

    def embed_target(
        self,
        target_ids: Int[Tensor, "batch target"],
        start: int = 0,
        interventions: Interventions = UNCHANGED,
    ) -> Float[Tensor, "batch target d_model"]:
        """Turn target ids, standing at `start` and after, into vectors."""
        config, embedding = self.config, self._target_embedding
        n_words, device = config.output_vocab_size, embedding.weight.device
        check_ids("target_ids", target_ids, n_words, config.max_length, start, device)
        places = self._places(self.target_positions, target_ids, start, interventions)
        return self._embed(target_ids, embedding, places)

    def logits(self, x: Float[Tensor, "batch target d_model"]) -> Float[Tensor, "batch target vocab"]:
        """Compare each of the decoder's vectors with the output vector of every word."""
        words = self._target_embedding if self.config.tie_embeddings else self.output
        return F.linear(x, words.weight, self.output_bias if self.config.output_bias else None)

    @property
    def _target_embedding(self) -> nn.Embedding:
        own = self.config.has_target_embedding
        return self.target_embedding if own else self.source_embedding

    def _embed(self, ids: Tensor, embedding: nn.Embedding, places: Tensor) -> Tensor:
        x = embedding(ids) * embedding_scale(self.config)  # [batch, position, d_model]
        return self.dropout(x + places)

    def _places(self, positions: nn.Module, ids: Tensor, start: int, interventions: Interventions) -> Tensor:
        places = positions(ids.shape[1], start)  # [position, d_model]
        return places if interventions.positions else torch.zeros_like(places)

    def _check_memory(self, memory: Tensor, source_mask: Tensor) -> None:
        check_alike(memory=memory, model=self.source_embedding.weight)
        check_source_mask(source_mask, memory.shape)
