"""What traced models return, and the key/value cache of step-by-step decoding.

A decoder writes one word at a time. What it computed for the words before stays true, because the
causal mask hides the later ones from them; so each layer keeps their keys and values, and a new
word costs one position instead of the whole sentence. The source's keys and values for the
cross-attention never change at all.
"""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_transformer.model.attention import KeysValues


class LayerCache(NamedTuple):
    """The keys and values of one decoder layer.

    Attributes:
        target: of the target positions so far, for self-attention.
        source: of the source, for cross-attention; None in a decoder alone.
    """

    target: KeysValues
    source: KeysValues | None

    def select(self, rows: Int[Tensor, " selected"]) -> "LayerCache":
        """Return the given rows of the batch, in the given order."""
        return LayerCache(
            self.target.select(rows),
            None if self.source is None else self.source.select(rows),
        )


@dataclass(frozen=True, eq=False)
class DecoderCache:
    """What a decoder keeps between two steps; a step returns a new one.

    Attributes:
        layers: one `LayerCache` per decoder layer.
        target_mask: bool [batch, 1, 1, past], True where the target so far is no padding.
        source_mask: bool [batch, 1, 1, source], True where the source is no padding; None in a
            decoder alone.
    """

    layers: tuple[LayerCache, ...]
    target_mask: Bool[Tensor, "batch 1 1 past"]
    source_mask: Bool[Tensor, "batch 1 1 source"] | None = None

    @property
    def length(self) -> int:
        """Number of target positions in the cache."""
        return self.target_mask.shape[-1]

    def select(self, rows: Int[Tensor, " selected"]) -> "DecoderCache":
        """Return the given rows of the batch, in the given order; a row may come several times.

        Beam search calls this when some hypotheses are continued twice and others are dropped.
        """
        return DecoderCache(
            tuple(layer.select(rows) for layer in self.layers),
            self.target_mask[rows],
            None if self.source_mask is None else self.source_mask[rows],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelOutput:
    """What a traced model returns; None stands for what its family has not.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedDecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedDecoderOnly(config)(torch.tensor([[1, 5, 7]]))
    >>> tuple(output.decoder_attention[0].shape)  # of the first layer
    (1, 2, 3, 3)

    Attributes:
        logits: [batch, target, vocab], unnormalised scores of the next word; of an encoder
            with a classification head [batch, classes], with the masked-language-model head those of the
            word at each position, [batch, source, vocab]; of one without a head, None.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class StepOutput:
    """What a model returns for one more word of a text.

    The weights are None where the attention was computed without them.

    Attributes:
        logits: [batch, vocab], unnormalised scores of the word that follows.
        cache: for the next step.
        decoder_attention: per layer, what the new word looked at: [batch, head, 1, target].
        cross_attention: per layer, [batch, head, 1, source]; None for a decoder alone.
    """

    logits: Float[Tensor, "batch vocab"]
    cache: DecoderCache
    decoder_attention: tuple[Float[Tensor, "batch head 1 target"] | None, ...]
    cross_attention: tuple[Float[Tensor, "batch head 1 source"] | None, ...] | None = None
