"""Stacks: layers on top of each other, each reading what the one below wrote."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import Attention, attend, attend_fused
from viz_transformer.model.cache import DecoderCache, TextCache
from viz_transformer.model.interventions import UNCHANGED, Interventions, LayerInterventions
from viz_transformer.model.layers import DecoderLayer, EncoderLayer


def _final_norm(config: ModelConfig) -> nn.Module:
    # Pre-norm layers add to x without ever normalising it, so the stack does it once at its end.
    if config.norm == "post":
        return nn.Identity()
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)


class Encoder(nn.Module):
    """A stack of encoder layers; behind a causal mask it is a decoder without cross-attention."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        n_layers = config.n_decoder_layers if config.family == "decoder" else config.n_encoder_layers
        self.kind = "decoder" if config.family == "decoder" else "encoder"
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(n_layers))
        self.norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "#batch #head #source source"],
        attention: Attention = attend,
        interventions: Interventions = UNCHANGED,
    ) -> tuple[
        Float[Tensor, "batch source d_model"],
        tuple[Float[Tensor, "batch head source source"] | None, ...],
    ]:
        """Return the memory that the decoder looks at, and each layer's weights."""
        attentions = []
        for index, layer in enumerate(self.layers):
            changes = LayerInterventions(interventions, index, self.kind)
            x, weights = layer(x, source_mask, attention, changes)
            attentions.append(weights)
        return (self.norm(x) if interventions.layer_norm else x), tuple(attentions)

    def step(
        self,
        x: Float[Tensor, "batch 1 d_model"],
        new_mask: Bool[Tensor, "batch 1 1 1"],
        cache: TextCache,
        interventions: Interventions = UNCHANGED,
        attention: Attention = attend_fused,
    ) -> tuple[
        Float[Tensor, "batch 1 d_model"],
        TextCache,
        tuple[Float[Tensor, "batch head 1 target"] | None, ...],
    ]:
        """Add one position to a text that is read from left to right."""
        mask = torch.cat([cache.mask, new_mask], dim=-1)  # [batch, 1, 1, past + 1]
        layers, attentions = [], []
        for index, (layer, past) in enumerate(zip(self.layers, cache.layers, strict=True)):
            changes = LayerInterventions(interventions, index, self.kind, step=cache.length)
            x, present, weights = layer.step(x, mask, past, changes, attention)
            layers.append(present)
            attentions.append(weights)
        x = self.norm(x) if interventions.layer_norm else x
        return x, TextCache(tuple(layers), mask), tuple(attentions)


class Decoder(nn.Module):
    """A stack of decoder layers."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.norm = _final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        target_mask: Bool[Tensor, "#batch #head #target target"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "#batch #head #target source"],
        attention: Attention = attend,
        interventions: Interventions = UNCHANGED,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        tuple[Float[Tensor, "batch head target target"] | None, ...],
        tuple[Float[Tensor, "batch head target source"] | None, ...],
    ]:
        """Return the new vectors, and each layer's weights of self- and cross-attention."""
        self_attentions, cross_attentions = [], []
        for index, layer in enumerate(self.layers):
            changes = LayerInterventions(interventions, index, "decoder")
            x, self_weights, cross_weights = layer(x, target_mask, memory, source_mask, attention, changes)
            self_attentions.append(self_weights)
            cross_attentions.append(cross_weights)
        x = self.norm(x) if interventions.layer_norm else x
        return x, tuple(self_attentions), tuple(cross_attentions)

    def start(
        self,
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> DecoderCache:
        """Return the cache from which the first `step` goes on."""
        return DecoderCache(
            layers=tuple(layer.start(memory) for layer in self.layers),
            target_mask=source_mask[..., :0],  # [batch, 1, 1, 0]
            source_mask=source_mask,
        )

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
        """Add one target position: its new vectors, and the cache with it in."""
        target_mask = torch.cat([cache.target_mask, new_mask], dim=-1)  # [batch, 1, 1, past + 1]
        layers, self_attentions, cross_attentions = [], [], []
        for index, (layer, past) in enumerate(zip(self.layers, cache.layers, strict=True)):
            changes = LayerInterventions(interventions, index, "decoder", step=cache.length)
            x, present, self_weights, cross_weights = layer.step(
                x, target_mask, past, cache.source_mask, changes, attention
            )
            layers.append(present)
            self_attentions.append(self_weights)
            cross_attentions.append(cross_weights)
        x = self.norm(x) if interventions.layer_norm else x
        cache = DecoderCache(tuple(layers), target_mask, cache.source_mask)
        return x, cache, tuple(self_attentions), tuple(cross_attentions)
