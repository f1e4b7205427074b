"""The decoder's step with nothing in its way: for speed.

`CachedSteps` walks through the model's own layers. Here the same sums are written out for one
reason: a step of a small model takes less time than the calls around it. The three projections of
self-attention are one multiplication, keys and values of all layers stand in one block of memory
that is written in place, and all hypotheses of a sentence share its cross-attention keys: they
are queries side by side. A test holds both ways equal.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.decoding.rules import Model
from viz_transformer.model import DecoderOnly
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.layers import FeedForward, Residual
from viz_transformer.model.positional import embedding_scale
from viz_transformer.model.scoring import dot, scaled_dot

_FIRST_ROOM = 32  # positions that there is room for at first; it doubles when they are full


class _Layer(NamedTuple):
    """One decoder layer's parts, its query, key and value projections side by side."""

    attention: MultiHeadAttention
    qkv: tuple[Tensor, Tensor | None]
    residual: Residual
    cross: MultiHeadAttention | None
    cross_residual: Residual | None
    feed_forward: FeedForward
    feed_forward_residual: Residual


def can_fuse(model: Model) -> bool:
    """Whether torch's fused attention computes this model's scores."""
    return model.config.scoring in ("scaled_dot", "dot")


class FusedSteps:
    """Decoding step by step; the rows of a batch are hypotheses, several for a sentence.

    Args:
        model: in evaluation mode.
        memory: the encoder's output [sentence, source, d_model]; None for a decoder alone.
        source_mask: bool [sentence, 1, 1, source], True = no padding; None for a decoder alone.
        max_positions: how many target positions will be read at most.
    """

    def __init__(
        self,
        model: Model,
        memory: Tensor | None,
        source_mask: Tensor | None,
        max_positions: int,
    ) -> None:
        self._model, self._config = model, model.config
        alone = isinstance(model, DecoderOnly)
        self._embedding = model.embedding.words if alone else model._target_embedding
        self._positions = model.embedding.positions if alone else model.target_positions
        self._scale = embedding_scale(model.config)
        self._layers = [_read_layer(layer) for layer in model.decoder.layers]
        self._d_head = model.config.d_model // model.config.n_heads
        self._max_positions = max_positions
        self._memory: Tensor | None = None  # [2 · layer, sentence, head, source, d_head]
        self._mask = source_mask
        if memory is not None:
            both = [
                kv for layer in self._layers for kv in layer.cross.keys_values(memory)
            ]  # each [sentence, head, source, d_head]
            self._memory = torch.stack(both)
        if source_mask is not None and source_mask.all():
            self._mask = None  # nothing to hide: one addition less
        self._past: Tensor | None = None  # [2 · layer, row, head, room, d_head]
        self._length = 0

    def step(self, ids: Tensor) -> Tensor:
        """Read the next ids [row], or at the start [row, position]; return logits [row, vocab]."""
        if ids.ndim == 1:
            ids = ids[:, None]  # [row, 1]
        n_rows, n_new = ids.shape
        start, end = self._length, self._length + n_new
        self._make_room(n_rows, end)
        x = self._embed(ids, start)  # [row, position, d_model]
        for index, layer in enumerate(self._layers):
            x = self._self_attend(x, layer, index, start, end)
            if layer.cross is not None:
                x = self._cross_attend(x, layer, index)
            branch = layer.feed_forward_residual
            network = layer.feed_forward
            h = _normed(x, branch) if branch.pre_norm else x
            h = network.activation(F.linear(h, network.w_1.weight, network.w_1.bias))
            h = F.linear(h, network.w_2.weight, network.w_2.bias)
            x = x + h if branch.pre_norm else _normed(x + h, branch)
        self._length = end
        x = x[:, -1]  # [row, d_model]
        norm = self._model.decoder.norm
        if isinstance(norm, nn.LayerNorm):
            x = F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return self._model.logits(x[:, None])[:, 0]  # [row, vocab]

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

    def _embed(self, ids: Tensor, start: int) -> Tensor:
        x = F.embedding(ids, self._embedding.weight) * self._scale
        x = x + self._positions(ids.shape[1], start)  # [row, position, d_model]
        return self._model.embedding.norm(x) if isinstance(self._model, DecoderOnly) else x

    def _make_room(self, n_rows: int, end: int) -> None:
        if self._past is not None and end <= self._past.shape[3]:
            return
        room = min(max(_FIRST_ROOM, 2 * end), max(self._max_positions, end))
        shape = (2 * len(self._layers), n_rows, self._config.n_heads, room, self._d_head)
        grown = self._embedding.weight.new_empty(shape)
        if self._past is not None:
            grown[:, :, :, : self._length] = self._past[:, :, :, : self._length]
        self._past = grown

    def _self_attend(self, x: Tensor, layer: _Layer, index: int, start: int, end: int) -> Tensor:
        attention, residual = layer.attention, layer.residual
        n_rows, n_new = x.shape[:2]
        h = _normed(x, residual) if residual.pre_norm else x
        h = F.linear(h, *layer.qkv)  # [row, position, 3 · d_model]
        h = h.view(n_rows, n_new, 3, -1, self._d_head).permute(2, 0, 3, 1, 4)
        query = h[0]  # [row, head, position, d_head]
        past = self._past[2 * index : 2 * index + 2]
        if attention.rotary is None:
            past[:, :, :, start:end] = h[1:]
        else:
            query = attention.rotary(query, start)
            past[0, :, :, start:end] = attention.rotary(h[1], start)
            past[1, :, :, start:end] = h[2]
        scale = 1.0 if attention.score is dot else None
        heads = F.scaled_dot_product_attention(
            query, past[0, :, :, :end], past[1, :, :, :end], is_causal=n_new > 1, scale=scale
        )  # [row, head, position, d_head]
        h = heads.transpose(1, 2).reshape(n_rows, n_new, -1)  # [row, position, d_model]
        h = F.linear(h, attention.w_o.weight, attention.w_o.bias)
        return x + h if residual.pre_norm else _normed(x + h, residual)

    def _cross_attend(self, x: Tensor, layer: _Layer, index: int) -> Tensor:
        attention, residual = layer.cross, layer.cross_residual
        h = _normed(x, residual) if residual.pre_norm else x
        h = F.linear(h, attention.w_q.weight, attention.w_q.bias)  # [row, 1, d_model]
        keys, values = self._memory[2 * index], self._memory[2 * index + 1]
        # The hypotheses of a sentence are queries side by side, and share its keys.
        query = h.view(len(keys), -1, self._config.n_heads, self._d_head).transpose(1, 2)
        scale = 1.0 if attention.score is dot else None
        heads = F.scaled_dot_product_attention(
            query, keys, values, self._mask, scale=scale
        )  # [sentence, head, hypothesis, d_head]
        h = heads.transpose(1, 2).reshape(x.shape)  # [row, 1, d_model]
        h = F.linear(h, attention.w_o.weight, attention.w_o.bias)
        return x + h if residual.pre_norm else _normed(x + h, residual)


def _normed(x: Tensor, residual: Residual) -> Tensor:
    norm = residual.norm
    return F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _read_layer(layer: nn.Module) -> _Layer:
    attention = layer.self_attention
    if attention.score not in (dot, scaled_dot):
        raise ValueError("this layer's scores are no dot products; use CachedSteps")
    projections = (attention.w_q, attention.w_k, attention.w_v)
    weight = torch.cat([each.weight for each in projections])  # [3 · d_model, d_model]
    biased = attention.w_q.bias is not None
    bias = torch.cat([each.bias for each in projections]) if biased else None
    return _Layer(
        attention,
        (weight, bias),
        layer.self_attention_residual,
        getattr(layer, "cross_attention", None),
        getattr(layer, "cross_attention_residual", None),
        layer.feed_forward,
        layer.feed_forward_residual,
    )
