"""Encoder and decoder layers: attention gathers from other positions, then a network acts on each.

Every layer takes vectors [batch, position, d_model] and returns new ones of the same shape along
with the attention weights that it used, so no recording is needed on the side. The same
`forward` reads a whole sequence, or with a cache the newest position of one.
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import (
    Attention,
    KeysValues,
    KeyValueCache,
    MultiHeadAttention,
    attend,
)
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.interventions import UNCHANGED_LAYER, LayerInterventions

#: The activation functions of the feed-forward network, by name.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """The position-wise network: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, or another than max.

    Source: Vaswani et al. 2017, section 3.3; GELU: Hendrycks and Gimpel 2016.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "batch position d_model"]) -> Float[Tensor, "batch position d_model"]:
        """Transform every position's vector on its own; the shape stays."""
        hidden = self.dropout(self.activation(self.w_1(x)))  # [batch, position, d_ff]
        return self.w_2(hidden)  # [batch, position, d_model]


class Residual(nn.Module):
    """Add & Norm: the residual connection around a sub-layer, and its LayerNorm.

    post-norm (the paper)    x = LayerNorm(x + Dropout(sublayer(x)))
    pre-norm                 x = x + Dropout(sublayer(LayerNorm(x)))

    A layer calls `branch` before the sub-layer and `merge` after it.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4; pre-norm: Xiong et al. 2020.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)

    def branch(
        self,
        x: Float[Tensor, "batch position d_model"],
        changes: LayerInterventions = UNCHANGED_LAYER,
    ) -> Float[Tensor, "batch position d_model"]:
        """Return what the sub-layer reads."""
        return self.norm(x) if self.pre_norm and changes.layer_norm else x

    def merge(
        self,
        x: Float[Tensor, "batch position d_model"],
        sublayer_output: Float[Tensor, "batch position d_model"],
        changes: LayerInterventions = UNCHANGED_LAYER,
    ) -> Float[Tensor, "batch position d_model"]:
        """Add the sub-layer's output to what went around it."""
        new = self.dropout(sublayer_output)  # [batch, position, d_model]
        x = x + new if changes.residual else new
        return x if self.pre_norm or not changes.layer_norm else self.norm(x)


def _self_attention(config: ModelConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        config.dropout,
        config.bias,
        config.scoring,
        rotary_length=config.max_length if config.positional == "rotary" else None,
    )


def _cross_attention(config: ModelConfig) -> MultiHeadAttention:
    # Never rotary: how far apart a source and a target word stand says nothing.
    return MultiHeadAttention(config.d_model, config.n_heads, config.dropout, config.bias, config.scoring)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with its Add & Norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _self_attention(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "#batch #head #source key"],
        attention: Attention = attend,
        changes: LayerInterventions = UNCHANGED_LAYER,
        cache: KeyValueCache | None = None,
    ) -> tuple[
        Float[Tensor, "batch source d_model"],
        Float[Tensor, "batch head source key"] | None,
    ]:
        """Return the new vectors and the self-attention's weights.

        With a cache, `x` holds the newest position alone, and the cache the keys and values of
        those before it; without one, key = source.
        """
        h = self.self_attention_residual.branch(x, changes)
        attend_self = changes.self_attention(attention)
        h, weights = self.self_attention(h, h, source_mask, attend_self, changes.start, cache)
        x = self.self_attention_residual.merge(x, h, changes)

        h = self.feed_forward(self.feed_forward_residual.branch(x, changes))
        x = self.feed_forward_residual.merge(x, h, changes)
        return x, weights


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the source, then the feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _self_attention(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention = _cross_attention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        target_mask: Bool[Tensor, "#batch #head #target key"],
        memory: Float[Tensor, "batch source d_model"] | KeysValues,
        source_mask: Bool[Tensor, "#batch #head #target source"],
        attention: Attention = attend,
        changes: LayerInterventions = UNCHANGED_LAYER,
        cache: KeyValueCache | None = None,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        Float[Tensor, "batch head target key"] | None,
        Float[Tensor, "batch head target source"] | None,
    ]:
        """Return the new vectors, the self-attention's weights and the cross-attention's.

        With a cache, `x` holds the newest position alone, and the cache the keys and values of
        those before it; without one, key = target. The memory may be given as the keys and values
        that the cross-attention made of it.
        """
        h = self.self_attention_residual.branch(x, changes)
        attend_self = changes.self_attention(attention)
        h, self_weights = self.self_attention(h, h, target_mask, attend_self, changes.start, cache)
        x = self.self_attention_residual.merge(x, h, changes)

        h = self.cross_attention_residual.branch(x, changes)
        attend_source = changes.cross_attention(attention)
        h, cross_weights = self.cross_attention(h, memory, source_mask, attend_source)
        x = self.cross_attention_residual.merge(x, h, changes)

        h = self.feed_forward(self.feed_forward_residual.branch(x, changes))
        x = self.feed_forward_residual.merge(x, h, changes)
        return x, self_weights, cross_weights
