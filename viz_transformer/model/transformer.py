"""The whole model: embeddings, encoder, decoder, and a score for every word of the vocabulary.

`Transformer` returns logits and computes attention the fast way. `TracedTransformer` is the same
model, with the same parameters and the same logits, that also returns what every head looked at.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import attend, attend_fused
from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.initial import initialise
from viz_transformer.model.inputs import check_batch, check_ids
from viz_transformer.model.layers import Decoder, Encoder
from viz_transformer.model.masks import causal_mask, padding_mask
from viz_transformer.model.positional import embedding_scale, make_positions


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelOutput:
    """What a traced model returns; None stands for what its family has not.

    Attributes:
        logits: [batch, target, vocab], unnormalised scores of the next word; of an encoder
            with a classification head [batch, classes]; of one without, None.
        encoder_attention: per encoder layer, weights [batch, head, source, source].
        decoder_attention: per decoder layer, weights [batch, head, target, target].
        cross_attention: per decoder layer, weights [batch, head, target, source].
        source_positions: [source, d_model], the positional encodings added to the source.
        target_positions: [target, d_model], those added to the target.
        last_hidden_state: [batch, position, d_model], the last stack's vectors.

    The weights are those before dropout; their last two axes are query and key.
    """

    logits: Float[Tensor, "batch target vocab"] | Float[Tensor, "batch classes"] | None
    encoder_attention: tuple[Float[Tensor, "batch head source source"], ...] | None = None
    decoder_attention: tuple[Float[Tensor, "batch head target target"], ...] | None = None
    cross_attention: tuple[Float[Tensor, "batch head target source"], ...] | None = None
    source_positions: Float[Tensor, "source d_model"] | None = None
    target_positions: Float[Tensor, "target d_model"] | None = None
    last_hidden_state: Float[Tensor, "batch position d_model"] | None = None


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
        self.dropout = nn.Dropout(config.dropout)
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
        return self.decode(target_ids, memory, self.padding_mask(source_ids))

    def encode(
        self, source_ids: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Read the source: the encoder's output [batch, source, d_model], the decoder's memory.

        Raises:
            UserError: as `forward`.
        """
        x = self.embed_source(source_ids)
        memory, _ = self.encoder(x, self.padding_mask(source_ids), attend_fused)
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
            UserError: as `forward`.
        """
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
        """Return the cache from which `decode_step` writes the first word."""
        return self.decoder.start(memory, source_mask)

    def decode_step(
        self, next_ids: Int[Tensor, " batch"], cache: DecoderCache
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderCache]:
        """Read one more target word per sentence and score the words that may follow.

        Equal to the last position of `decode` over all words so far, at the cost of one position.

        Args:
            next_ids: token ids [batch]; at the first step ``<sos>``.
            cache: what `start_decoding` or the step before returned; it stays as it is.

        Returns:
            logits [batch, vocab], and the cache for the next step.

        Raises:
            UserError: as `forward`.
        """
        ids = next_ids[:, None]  # [batch, 1]
        x = self.embed_target(ids, start=cache.length)  # [batch, 1, d_model]
        check_batch(ids, cache.source_mask)
        new_mask = self.target_padding_mask(ids, start=cache.length)
        x, cache = self.decoder.step(x, new_mask, cache)
        return self.logits(x)[:, 0], cache  # [batch, 1, vocab] -> [batch, vocab]

    def padding_mask(self, ids: Int[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of ids with the model's own `pad_id`."""
        return padding_mask(ids, self.config.pad_id)

    def target_padding_mask(
        self, target_ids: Int[Tensor, "batch key"], start: int = 0
    ) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of target ids that stand at `start` and after.

        Some models start every target with `pad_id` itself (Marian): there the first position is
        no padding.
        """
        mask = self.padding_mask(target_ids)
        if start == 0 and self.config.start_id == self.config.pad_id:
            mask[..., 0] = True
        return mask

    def target_mask(
        self, target_ids: Int[Tensor, "batch target"]
    ) -> Bool[Tensor, "batch 1 target target"]:
        """Return the mask of the decoder's self-attention: no padding, and no look ahead."""
        causal = causal_mask(target_ids.shape[1], target_ids.device)
        return self.target_padding_mask(target_ids) & causal

    def embed_source(
        self, source_ids: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Turn source ids into vectors that know their word and their place."""
        check_ids("source_ids", source_ids, self.config.vocab_size, self.config.max_length)
        return self._embed(source_ids, self.source_embedding, self.source_positions)

    def embed_target(
        self, target_ids: Int[Tensor, "batch target"], start: int = 0
    ) -> Float[Tensor, "batch target d_model"]:
        """Turn target ids, standing at `start` and after, into vectors."""
        config = self.config
        check_ids("target_ids", target_ids, config.output_vocab_size, config.max_length, start)
        return self._embed(target_ids, self._target_embedding, self.target_positions, start)

    def logits(
        self, x: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Compare each of the decoder's vectors with the output vector of every word."""
        words = self._target_embedding if self.config.tie_embeddings else self.output
        return F.linear(x, words.weight, self.output_bias if self.config.output_bias else None)

    @property
    def _target_embedding(self) -> nn.Embedding:
        own = self.config.has_target_embedding
        return self.target_embedding if own else self.source_embedding

    def _embed(
        self, ids: Tensor, embedding: nn.Embedding, positions: nn.Module, start: int = 0
    ) -> Tensor:
        x = embedding(ids) * embedding_scale(self.config)  # [batch, position, d_model]
        return self.dropout(x + positions(ids.shape[1], start))


class TracedTransformer(Transformer):
    """A `Transformer` that returns, beside its logits, the attention weights of every head."""

    def forward(  # type: ignore[override]
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> ModelOutput:
        """Do what `Transformer.forward` does, and keep what it throws away.

        Args:
            source_ids: token ids [batch, source].
            target_ids: token ids [batch, target].

        Raises:
            UserError: as `Transformer.forward`.
        """
        x = self.embed_source(source_ids)
        source_mask = self.padding_mask(source_ids)
        memory, encoder_attention = self.encoder(x, source_mask, attend)

        x = self.embed_target(target_ids)
        check_batch(target_ids, memory)
        target_mask = self.target_mask(target_ids)
        x, decoder_attention, cross_attention = self.decoder(
            x, target_mask, memory, source_mask, attend
        )
        return ModelOutput(
            logits=self.logits(x),
            encoder_attention=encoder_attention,
            decoder_attention=decoder_attention,
            cross_attention=cross_attention,
            source_positions=self.source_positions(source_ids.shape[1]),
            target_positions=self.target_positions(target_ids.shape[1]),
            last_hidden_state=x,
        )
