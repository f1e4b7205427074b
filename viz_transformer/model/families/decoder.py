"""The decoder alone: it continues a text, word by word."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import Attention, KeysValues, attend, attend_fused
from viz_transformer.model.cache import TextCache
from viz_transformer.model.families.shared import Embedding, family_padding_mask, of_family
from viz_transformer.model.init_weights import initialise
from viz_transformer.model.inputs import check_ids
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.masks import causal_mask
from viz_transformer.model.output import ModelOutput, StepOutput
from viz_transformer.model.stacks import Encoder


class DecoderOnly(nn.Module):
    """A language model: at every position it scores the words that may come next.

    Args:
        config: of the family ``"decoder"``; of ``"encoder-decoder"``, its decoder is made, without
            cross-attention.

    Raises:
        UserError: if the config has no decoder.

    Source: Radford et al. 2019, section 2.3; Liu et al. 2018, section 4.2.3.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config = of_family("decoder", config)
        self.embedding = Embedding(config)
        self.decoder = Encoder(config)
        if not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.apply(initialise)

    def forward(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target vocab"]:
        """Score, at every position, each word of the vocabulary as the next one.

        Args:
            target_ids: token ids [batch, target], padded with `config.pad_id` if there is one.

        Returns:
            logits [batch, target, vocab]; position i has seen the text up to i.

        Raises:
            UserError: if ids are not whole numbers [batch, position] in range, or are longer than
                max_length.
        """
        return self.logits(self.decode(target_ids))

    def decode(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target d_model"]:
        """Return the vectors [batch, target, d_model] from which the words are scored.

        Raises:
            UserError: as `forward`.
        """
        x = self.embed(target_ids)
        x, _ = self.decoder(x, self.target_mask(target_ids), attend_fused)
        return x

    def start_decoding(self, n_texts: int) -> TextCache:
        """Return the cache from which `decode_step` reads the first word of `n_texts` texts."""
        weight = self.embedding.words.weight
        width = self.config.d_model // self.config.n_heads
        nothing = weight.new_empty(n_texts, self.config.n_heads, 0, width)
        mask = torch.ones(n_texts, 1, 1, 0, dtype=torch.bool, device=weight.device)
        return TextCache((KeysValues(nothing, nothing),) * len(self.decoder.layers), mask)

    def decode_step(
        self,
        next_ids: Int[Tensor, " batch"],
        cache: TextCache,
        interventions: Interventions | None = None,
    ) -> tuple[Float[Tensor, "batch vocab"], TextCache]:
        """Read one more word per text and score the words that may follow.

        Equal to the last position of `forward` over all words so far, at the cost of one position.

        Args:
            next_ids: token ids [batch].
            cache: what `start_decoding` or the step before returned; it stays as it is.
            interventions: what to change, the same at every step; None changes nothing.

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
        cache: TextCache,
        interventions: Interventions | None = None,
        attention: Attention = attend,
    ) -> StepOutput:
        """Do what `decode_step` does, and return what `attention` gave as weights too.

        Raises:
            UserError: as `decode_step`.
        """
        changes = checked(interventions, self.config)
        ids = next_ids[:, None]  # [batch, 1]
        x = self.embed(ids, changes, cache.length)  # [batch, 1, d_model]
        new_mask = family_padding_mask(ids, self.config, changes)
        x, cache, weights = self.decoder.step(x, new_mask, cache, changes, attention)
        logits = self.logits(x)[:, 0]  # [batch, vocab]
        return StepOutput(logits=logits, cache=cache, decoder_attention=weights)

    def embed(
        self,
        target_ids: Int[Tensor, "batch target"],
        interventions: Interventions = UNCHANGED,
        start: int = 0,
    ) -> Float[Tensor, "batch target d_model"]:
        """Turn ids, standing at `start` and after, into vectors that know word and place."""
        config, device = self.config, self.embedding.words.weight.device
        length = config.max_length
        check_ids("target_ids", target_ids, config.vocab_size, length, start, device)
        return self.embedding(target_ids, interventions=interventions, start=start)

    def logits(self, x: Float[Tensor, "batch target d_model"]) -> Float[Tensor, "batch target vocab"]:
        """Compare each of the vectors with the output vector of every word."""
        words = self.embedding.words if self.config.tie_embeddings else self.output
        return F.linear(x, words.weight, self.output_bias if self.config.output_bias else None)

    def target_mask(
        self, target_ids: Int[Tensor, "batch target"], interventions: Interventions = UNCHANGED
    ) -> Bool[Tensor, "batch 1 target target"]:
        """Return the mask of self-attention: no padding, and no look ahead."""
        causal = causal_mask(target_ids.shape[1], target_ids.device)
        causal = causal if interventions.causal_mask else torch.ones_like(causal)
        return family_padding_mask(target_ids, self.config, interventions) & causal


class TracedDecoderOnly(DecoderOnly):
    """A `DecoderOnly` that returns, beside its logits, the attention weights of every head."""

    def forward(  # type: ignore[override]
        self, target_ids: Int[Tensor, "batch target"], interventions: Interventions | None = None
    ) -> ModelOutput:
        """Do what `DecoderOnly.forward` does, and keep what it throws away.

        Args:
            target_ids: token ids [batch, target].
            interventions: what to switch off or replace in this call; None changes nothing.

        Returns:
            A ModelOutput with `logits`, `decoder_attention`, `target_positions` and
            `last_hidden_state`.

        Raises:
            UserError: as `DecoderOnly.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed(target_ids, changes)
        mask = self.target_mask(target_ids, changes)
        x, decoder_attention = self.decoder(x, mask, attend, changes)
        return ModelOutput(
            logits=self.logits(x),
            decoder_attention=decoder_attention,
            target_positions=self.embedding.places(target_ids.shape[1], changes),
            last_hidden_state=x,
        )
