"""The attention modules of torch, tiny and random, and how far a capture is from `need_weights=True`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.capture_zoo import Comparison, compared

SIZES = {"d_model": 16, "nhead": 4, "dim_feedforward": 24, "batch_first": True, "dropout": 0.3}
N_SOURCE, N_TARGET, N_PADDING = 9, 7, 3
#: Weights [layer] of each kind, each [batch, head, query, key].
Weights = dict[str, list[Tensor]]


def weights_of(
    attention: nn.MultiheadAttention, query: Tensor, key: Tensor, **masks: Tensor | None
) -> Tensor:
    """Ask a module for its weights, [batch, head, query, key]."""
    return attention(query, key, key, need_weights=True, average_attn_weights=False, **masks)[1]


def of_encoder(layers: list[Any], x: Tensor, padding: Tensor | None) -> tuple[Weights, Tensor]:
    """Ask each layer of an encoder for its weights, and return what the last one gives, too."""
    found = []
    for layer in layers:
        read = layer.norm1(x) if layer.norm_first else x
        found.append(weights_of(layer.self_attn, read, read, key_padding_mask=padding))
        x = layer(x, src_key_padding_mask=padding)
    return {"encoder": found}, x


def of_decoder(layers: list[Any], x: Tensor, memory: Tensor, padding: Tensor | None) -> Weights:
    """Ask each layer of a causal decoder for its weights; `padding` is the memory's."""
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    found: Weights = {"decoder": [], "cross": []}
    for layer in layers:
        read = layer.norm1(x) if layer.norm_first else x
        found["decoder"].append(weights_of(layer.self_attn, read, read, attn_mask=mask))
        beside = layer.self_attn(read, read, read, attn_mask=mask)[0]
        asked = layer.norm2(x + beside) if layer.norm_first else layer.norm1(x + beside)
        found["cross"].append(weights_of(layer.multihead_attn, asked, memory, key_padding_mask=padding))
        x = layer(x, memory, tgt_mask=mask, memory_key_padding_mask=padding)
    return found


def attention(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.MultiheadAttention` across two texts."""
    return {"cross": [weights_of(model, target, source, key_padding_mask=padding)]}


def encoder_layer(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.TransformerEncoderLayer`."""
    return of_encoder([model], source, padding)[0]


def encoder(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.TransformerEncoder`."""
    return of_encoder(model.layers, source, padding)[0]


def decoder_layer(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.TransformerDecoderLayer`."""
    return of_decoder([model], target, source, padding)


def decoder(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.TransformerDecoder`."""
    return of_decoder(model.layers, target, source, padding)


def transformer(model: Any, source: Tensor, target: Tensor, padding: Tensor | None) -> Weights:
    """Return the weights of `nn.Transformer`."""
    found, memory = of_encoder(model.encoder.layers, source, padding)
    return found | of_decoder(model.decoder.layers, target, model.encoder.norm(memory), padding)


def _encoder(**changes: Any) -> nn.Module:
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**SIZES, **changes), 3, enable_nested_tensor=False
    )


def _decoder(**changes: Any) -> nn.Module:
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(**SIZES, **changes), 3)


def _transformer(**changes: Any) -> nn.Module:
    return nn.Transformer(**SIZES, **changes, num_encoder_layers=2, num_decoder_layers=3)


#: How each module is made, and what asks it for its weights.
MODULES: Mapping[str, tuple[Callable[[], nn.Module], Callable[..., Weights]]] = {
    "nn.MultiheadAttention": (lambda: nn.MultiheadAttention(16, 4, batch_first=True), attention),
    "nn.TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(**SIZES), encoder_layer),
    "nn.TransformerEncoder": (_encoder, encoder),
    "nn.TransformerEncoder, norm_first": (lambda: _encoder(norm_first=True), encoder),
    "nn.TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(**SIZES), decoder_layer),
    "nn.TransformerDecoder": (_decoder, decoder),
    "nn.TransformerDecoder, norm_first": (lambda: _decoder(norm_first=True), decoder),
    "nn.Transformer": (_transformer, transformer),
    "nn.Transformer, norm_first": (lambda: _transformer(norm_first=True), transformer),
}


def compare_module(name: str, is_padded: bool = False) -> Comparison:
    """Capture the second sentence of two, padded on the right or not, and compare each weight."""
    torch.manual_seed(0)
    make, ask = MODULES[name]
    model = make().eval()
    source, target = torch.randn(2, N_SOURCE, 16), torch.randn(2, N_TARGET, 16)
    padding = torch.zeros(2, N_SOURCE, dtype=torch.bool)
    padding[1, -N_PADDING:] = is_padded
    given, masks = inputs_of(model, source, target, padding)
    labels = {"source_tokens": [f"s{i}" for i in range(N_SOURCE)]}
    if len(given) > 1:
        labels["target_tokens"] = [f"t{i}" for i in range(N_TARGET)]
    with torch.no_grad():
        truth = ask(model, source, target, padding)
    trace = vt.capture(model, *given, **masks, **labels, batch_index=1)
    expected = {kind: np.stack([layer[1].numpy() for layer in layers]) for kind, layers in truth.items()}
    return compared(trace, {kind: expected.get(kind) for kind in trace.kinds})


def inputs_of(
    model: nn.Module, source: Tensor, target: Tensor, padding: Tensor
) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """Return what a module reads, by position and by name."""
    causal = nn.Transformer.generate_square_subsequent_mask(N_TARGET)
    if isinstance(model, nn.MultiheadAttention):
        return (target, source, source), {"key_padding_mask": padding}
    if isinstance(model, nn.Transformer):
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        return (source, target), {**masks, "tgt_mask": causal}
    if isinstance(model, nn.TransformerDecoder | nn.TransformerDecoderLayer):
        return (target, source), {"memory_key_padding_mask": padding, "tgt_mask": causal}
    return (source,), {"src_key_padding_mask": padding}
