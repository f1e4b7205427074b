"""Layers and their stacks: attention gathers from other positions, then a network acts on each.

Every layer takes vectors [batch, position, d_model] and returns new ones of the same shape along
with the attention weights that it used, so no recording is needed on the side. The same
`forward` reads a whole sequence, or with a cache the newest position of one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import (
    Attention,
    KeysValues,
    KeyValueCache,
    MultiHeadAttention,
    attend,
    attend_fused,
)
from viz_transformer.model.interventions import UNCHANGED, UNCHANGED_LAYER, Interventions, LayerInterventions
from viz_transformer.model.outputs import DecoderCache, LayerCache

#: The activation functions of the feed-forward network, by name.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


#: From this many numbers on, drawing several at once is faster.
_MANY = 16_384


class Dropout(nn.Dropout):
    """Set each number to 0 with probability p, and divide the others by 1 - p, while training.

    It does what torch's does, in less than half the time. On a processor torch draws for one number
    after the other; with this class a training step takes 0.9 times as long (d_model 64 and 192,
    2 + 2 layers). Where there are many numbers, a draw of 64 bits is cut in four, and each quarter
    decides about one of them; p is then rounded to a multiple of 1/65,536.

    Source: Srivastava et al. 2014; Vaswani et al. 2017, section 5.4.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Set numbers of `x` to 0; the shape stays."""
        if not (self.training and self.p) or x.device.type != "cpu" or x.numel() < _MANY:
            return super().forward(x)
        left_out = round(self.p * 2**16)  # of 65,536
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        quarters = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32,768 to 32,767
        kept = (quarters >= left_out - 2**15).to(x.dtype)
        return x * kept.mul_(1 / (1 - left_out / 2**16))


def initialise(module: nn.Module) -> None:
    """Draw embeddings from N(0, 1/√d_model), matrices after Xavier; set biases to zero.

    For `nn.Module.apply`. Source: Glorot and Bengio 2010, equation 16, for the matrices.
    """
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


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


def _final_norm(config: ModelConfig) -> nn.Module:
    # Pre-norm layers add to x without ever normalising it, so the stack does it once at its end.
    if config.norm == "post":
        return nn.Identity()
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)


class Encoder(nn.Module):
    """A stack of encoder layers; behind a causal mask it is a decoder without cross-attention."""

    layers: Sequence[EncoderLayer]
    norm: nn.Module

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        n_layers = config.n_decoder_layers if config.family == "decoder" else config.n_encoder_layers
        self.kind = "decoder" if config.family == "decoder" else "encoder"
        layers = nn.ModuleList(EncoderLayer(config) for _ in range(n_layers))
        self.layers = cast("Sequence[EncoderLayer]", layers)  # torch's own type leaves it open
        self.norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "#batch #head #source key"],
        attention: Attention = attend,
        interventions: Interventions = UNCHANGED,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> tuple[
        Float[Tensor, "batch source d_model"],
        tuple[Float[Tensor, "batch head source key"] | None, ...],
    ]:
        """Return the memory that the decoder looks at, and each layer's weights.

        With `caches`, one for each layer, `x` holds the newest position alone.
        """
        attentions = []
        for index, layer in enumerate(self.layers):
            cache = None if caches is None else caches[index]
            step = None if cache is None else cache.length
            changes = LayerInterventions(interventions, index, self.kind, step=step)
            x, weights = layer(x, source_mask, attention, changes, cache)
            attentions.append(weights)
        return (self.norm(x) if interventions.layer_norm else x), tuple(attentions)

    def step(
        self,
        x: Float[Tensor, "batch 1 d_model"],
        new_mask: Bool[Tensor, "batch 1 1 1"],
        cache: DecoderCache,
        interventions: Interventions = UNCHANGED,
        attention: Attention = attend_fused,
    ) -> tuple[
        Float[Tensor, "batch 1 d_model"],
        DecoderCache,
        tuple[Float[Tensor, "batch head 1 target"] | None, ...],
        None,
    ]:
        """Add one position to a text that is read from left to right.

        Returns:
            Its new vectors, the cache with it in, each layer's weights, and None in place of the
            cross-attention's.
        """
        mask = torch.cat([cache.target_mask, new_mask], dim=-1)  # [batch, 1, 1, past + 1]
        caches = [KeyValueCache(layer.target) for layer in cache.layers]
        x, attentions = self(x, mask, attention, interventions, caches)
        layers = tuple(LayerCache(each.keys_values, None) for each in caches)
        return x, DecoderCache(layers, mask), attentions, None


class Decoder(nn.Module):
    """A stack of decoder layers."""

    layers: Sequence[DecoderLayer]
    norm: nn.Module

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.layers = cast("Sequence[DecoderLayer]", layers)
        self.norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        target_mask: Bool[Tensor, "#batch #head #target key"],
        memory: Float[Tensor, "batch source d_model"] | Sequence[KeysValues],
        source_mask: Bool[Tensor, "#batch #head #target source"],
        attention: Attention = attend,
        interventions: Interventions = UNCHANGED,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        tuple[Float[Tensor, "batch head target key"] | None, ...],
        tuple[Float[Tensor, "batch head target source"] | None, ...],
    ]:
        """Return the new vectors, and each layer's weights of self- and cross-attention.

        With `caches`, one for each layer, `x` holds the newest position alone. The memory may be
        given as each layer's keys and values of it.
        """
        self_attentions, cross_attentions = [], []
        for index, layer in enumerate(self.layers):
            cache = None if caches is None else caches[index]
            step = None if cache is None else cache.length
            changes = LayerInterventions(interventions, index, "decoder", step=step)
            looked_at = memory if isinstance(memory, Tensor) else memory[index]
            x, self_weights, cross_weights = layer(
                x, target_mask, looked_at, source_mask, attention, changes, cache
            )
            self_attentions.append(self_weights)
            cross_attentions.append(cross_weights)
        x = self.norm(x) if interventions.layer_norm else x
        return x, tuple(self_attentions), tuple(cross_attentions)

    def start(
        self,
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> DecoderCache:
        """Return the cache for the first `step`: the source is projected, the target is empty."""
        layers = tuple(
            LayerCache(
                target=layer.self_attention.keys_values(memory[:, :0]),  # [batch, head, 0, d_head]
                source=layer.cross_attention.keys_values(memory),  # [batch, head, source, d_head]
            )
            for layer in self.layers
        )
        return DecoderCache(layers, source_mask[..., :0], source_mask)

    def step(
        self,
        x: Float[Tensor, "batch 1 d_model"],
        new_mask: Bool[Tensor, "batch 1 1 1"],
        cache: DecoderCache,
        interventions: Interventions = UNCHANGED,
        attention: Attention = attend_fused,
    ) -> tuple[
        Float[Tensor, "batch 1 d_model"],
        DecoderCache,
        tuple[Float[Tensor, "batch head 1 target"] | None, ...],
        tuple[Float[Tensor, "batch head 1 source"] | None, ...],
    ]:
        """Add one target position.

        Returns:
            Its new vectors, the cache with it in, and each layer's weights of self- and
            cross-attention.

        Raises:
            UserError: if the cache is that of a decoder alone.
        """
        memory = [layer.source for layer in cache.layers if layer.source is not None]
        if cache.source_mask is None or len(memory) < len(self.layers):
            raise UserError(
                "the cache holds no source, but this decoder looks at one; start with the cache that "
                "start_decoding(memory, source_mask) returns"
            )
        target_mask = torch.cat([cache.target_mask, new_mask], dim=-1)  # [batch, 1, 1, past + 1]
        caches = [KeyValueCache(layer.target) for layer in cache.layers]
        x, self_attentions, cross_attentions = self(
            x, target_mask, memory, cache.source_mask, attention, interventions, caches
        )
        layers = tuple(
            LayerCache(each.keys_values, source) for each, source in zip(caches, memory, strict=True)
        )
        cache = DecoderCache(layers, target_mask, cache.source_mask)
        return x, cache, self_attentions, cross_attentions
