"""Fused decoding steps: the decoder's arithmetic written out, for speed.

`CachedSteps` calls the model's own layers. In a small model those calls take longer than the
arithmetic inside them, so it is written out here. The three projections of self-attention are one
multiplication, keys and values of all layers are in one block of memory that is written in place,
and all hypotheses of a sentence share its cross-attention keys: they are queries side by side. A
test holds both ways equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.layers import DecoderLayer, EncoderLayer
from viz_transformer.model.outputs import DecoderCache
from viz_transformer.model.positional import RotaryPositions

_FIRST_ROOM = 32  # positions that there is room for at first; it doubles when they are full


_Linear = tuple[Tensor, Tensor | None]  # weight and bias
_Norm = tuple[tuple[int, ...], Tensor, Tensor, float]  # shape, weight, bias, eps


class _Cross(NamedTuple):
    """One layer's cross-attention: its query and output projections, its norm."""

    query: _Linear
    output: _Linear
    norm: _Norm


class _Layer(NamedTuple):
    """One decoder layer's tensors, read once: looking them up takes longer than a small sum."""

    qkv: _Linear  # query, key and value projections side by side
    output: _Linear
    rotary: RotaryPositions | None
    norm: _Norm
    cross: _Cross | None
    first: _Linear
    activation: Callable[[Tensor], Tensor]
    second: _Linear
    feed_forward_norm: _Norm


class FusedSteps:
    """Decoding step by step; the rows of a batch are hypotheses, several for a sentence.

    Args:
        model: in evaluation mode.
        cache: from the model's `decoder_inputs`.
        max_positions: how many target positions will be read at most.
    """

    attention = None  # torch's fused attention never shows its weights
    prompt_attention = None

    def __init__(self, model: AutoregressiveModel, cache: DecoderCache, max_positions: int) -> None:
        config = model.config
        self._model, self._device = model, model.target_words.weight.device
        self._layers = [_read_layer(layer) for layer in model.decoder.layers]
        self._pre_norm = config.norm == "pre"
        self._sdpa_scale = 1.0 if config.scoring == "dot" else None  # None: 1/√d_head
        self._heads, self._d_head = config.n_heads, config.d_head
        self._max_positions = max_positions
        sources = [each for layer in cache.layers if layer.source is not None for each in layer.source]
        #: Keys and values of the sources, [2 · layer, sentence, head, source, d_head].
        self._memory = torch.stack(sources) if sources else None
        self._mask = cache.source_mask
        if self._mask is not None and self._mask.all():
            self._mask = None  # no key is hidden: one addition less
        last = model.decoder.norm
        self._last_norm = _read_norm(last) if isinstance(last, nn.LayerNorm) else None
        #: Keys and values of the target, [2 · layer, row, head, room, d_head].
        shape = (2 * len(self._layers), 0, self._heads, 0, self._d_head)
        self._past = model.target_words.weight.new_empty(shape)
        self._length = 0

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids [row], or at the start [row, position]; return logits [row, vocab]."""
        ids = ids.to(self._device)
        if ids.ndim == 1:
            ids = ids[:, None]  # [row, 1]
        n_rows, n_new = ids.shape
        start, end = self._length, self._length + n_new
        self._make_room(n_rows, end)
        x = self._model.embed_unchecked(ids, start)  # [row, position, d_model]
        pre = self._pre_norm
        for index, layer in enumerate(self._layers):
            h = F.layer_norm(x, *layer.norm) if pre else x
            x = x + self._self_attend(h, layer, index, start, end)
            x = x if pre else F.layer_norm(x, *layer.norm)
            if layer.cross is not None and self._memory is not None:
                keys, values = self._memory[2 * index], self._memory[2 * index + 1]
                h = F.layer_norm(x, *layer.cross.norm) if pre else x
                x = x + self._cross_attend(h, layer.cross, keys, values)
                x = x if pre else F.layer_norm(x, *layer.cross.norm)
            h = F.layer_norm(x, *layer.feed_forward_norm) if pre else x
            x = x + F.linear(layer.activation(F.linear(h, *layer.first)), *layer.second)
            x = x if pre else F.layer_norm(x, *layer.feed_forward_norm)
        self._length = end
        x = x[:, -1]  # [row, d_model]
        if self._last_norm is not None:
            x = F.layer_norm(x, *self._last_norm)
        return self._model.logits(x[:, None])[:, 0].cpu()  # [row, vocab]

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Go on with the given rows, in the given order; `sentences` says which are still there."""
        if sentences is not None and self._memory is not None:
            self._memory = self._memory[:, sentences]
            self._mask = None if self._mask is None else self._mask[sentences]
        past, length = self._past, self._length
        if len(rows) != past.shape[1]:
            room = past.shape[3]
            self._past = past.new_empty(past.shape[0], len(rows), past.shape[2], room, self._d_head)
            self._past[:, :, :, :length] = past[:, rows, :, :length]
            return
        moved = (rows != torch.arange(len(rows))).nonzero()[:, 0]
        if len(moved):  # most hypotheses stay where they are, and only the others are copied
            past[:, moved, :, :length] = past[:, rows[moved], :, :length]

    def _make_room(self, n_rows: int, end: int) -> None:
        if end <= self._past.shape[3]:
            return
        room = min(max(_FIRST_ROOM, 2 * end), max(self._max_positions, end))
        shape = (2 * len(self._layers), n_rows, self._heads, room, self._d_head)
        grown = self._past.new_empty(shape)
        if self._length:
            grown[:, :, :, : self._length] = self._past[:, :, :, : self._length]
        self._past = grown

    def _self_attend(self, h: Tensor, layer: _Layer, index: int, start: int, end: int) -> Tensor:
        n_rows, n_new = h.shape[:2]
        parts = F.linear(h, *layer.qkv)  # [row, position, 3 · d_model]
        parts = parts.view(n_rows, n_new, 3, self._heads, self._d_head).permute(2, 0, 3, 1, 4)
        query = parts[0]  # [row, head, position, d_head]
        past = self._past[2 * index : 2 * index + 2]
        if layer.rotary is None:
            past[:, :, :, start:end] = parts[1:]
        else:
            query = layer.rotary(query, start)
            past[0, :, :, start:end] = layer.rotary(parts[1], start)
            past[1, :, :, start:end] = parts[2]
        keys, values = past[:, :, :, :end].unbind()
        heads = F.scaled_dot_product_attention(
            query, keys, values, is_causal=n_new > 1, scale=self._sdpa_scale
        )  # [row, head, position, d_head]
        h = heads.transpose(1, 2).reshape(n_rows, n_new, -1)  # [row, position, d_model]
        return F.linear(h, *layer.output)

    def _cross_attend(self, h: Tensor, cross: _Cross, keys: Tensor, values: Tensor) -> Tensor:
        # The hypotheses of a sentence are queries side by side, and share its keys.
        query = F.linear(h, *cross.query).view(len(keys), -1, self._heads, self._d_head)
        heads = F.scaled_dot_product_attention(
            query.transpose(1, 2), keys, values, self._mask, scale=self._sdpa_scale
        )  # [sentence, head, hypothesis, d_head]
        return F.linear(heads.transpose(1, 2).reshape(h.shape), *cross.output)


def _read_layer(layer: EncoderLayer | DecoderLayer) -> _Layer:
    own, network = layer.self_attention, layer.feed_forward
    projections = (own.w_q, own.w_k, own.w_v)
    weight = torch.cat([each.weight for each in projections])  # [3 · d_model, d_model]
    biases: list[Tensor] = [each.bias for each in projections if each.bias is not None]
    cross = None
    if isinstance(layer, DecoderLayer):
        cross = _Cross(
            _read_linear(layer.cross_attention.w_q),
            _read_linear(layer.cross_attention.w_o),
            _read_norm(layer.cross_attention_residual.norm),
        )
    return _Layer(
        qkv=(weight, torch.cat(biases) if biases else None),
        output=_read_linear(own.w_o),
        rotary=own.rotary,
        norm=_read_norm(layer.self_attention_residual.norm),
        cross=cross,
        first=_read_linear(network.w_1),
        activation=network.activation,
        second=_read_linear(network.w_2),
        feed_forward_norm=_read_norm(layer.feed_forward_residual.norm),
    )


def _read_linear(linear: nn.Linear) -> _Linear:
    return linear.weight, linear.bias


def _read_norm(norm: nn.LayerNorm) -> _Norm:
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps
