"""Hooks that capture the inputs of one attention layer, and its matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.model.attention import KeyValueCache, MultiHeadAttention
from viz_transformer.model.layers import Decoder
from viz_transformer.model.scoring import dot, scaled_dot


class AttentionInputs(NamedTuple):
    """What one attention layer read, for the first sentence of a batch.

    Matrices are those of the paper, from the right of a row of numbers: q = x W + b.

    Attributes:
        query_input: [query, d_model].
        key_input: [key, d_model].
        mask: bool [query, key], True = may attend; None where all may.
        w_q: [head, d_model, d_head]; `w_k` and `w_v` likewise.
        w_k: as `w_q`.
        w_v: as `w_q`.
        w_o: [head · d_head, d_model].
        b_q: [head, d_head] or None; `b_k` and `b_v` likewise.
        b_k: as `b_q`.
        b_v: as `b_q`.
        b_o: [d_model] or None.
        scale: whether the layer divides its scores by √d_head.
    """

    query_input: Tensor
    key_input: Tensor
    mask: Tensor | None
    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    w_o: Tensor
    b_q: Tensor | None
    b_k: Tensor | None
    b_v: Tensor | None
    b_o: Tensor | None
    scale: bool


class Watch:
    """The inputs of a layer, as of its last call on whole sequences."""

    def __init__(self, module: MultiHeadAttention) -> None:
        self._module = module
        self._seen: tuple[Tensor, Tensor, Tensor] | None = None

    def __call__(self, _: nn.Module, given: tuple[Any, ...]) -> None:
        """Keep what the layer is called with; torch calls this before the layer's forward.

        A step of decoding, which finds keys and values in a cache, is passed over.
        """
        query_input, key_input, mask, *others = given
        if isinstance(key_input, Tensor) and not any(isinstance(each, KeyValueCache) for each in others):
            self._seen = query_input, key_input, mask

    @property
    def inputs(self) -> AttentionInputs:
        """What the layer read when it was last called.

        Raises:
            UserError: if it has not been called.
        """
        if self._seen is None:
            raise UserError("the layer has not run yet; run the model while it is watched")
        query_input, key_input, mask = (each.detach() for each in self._seen)
        layer = self._module
        return AttentionInputs(
            query_input=query_input[0],
            key_input=key_input[0],
            mask=mask[0, 0].expand(query_input.shape[1], key_input.shape[1]),
            w_q=_matrices(layer, layer.w_q),
            w_k=_matrices(layer, layer.w_k),
            w_v=_matrices(layer, layer.w_v),
            w_o=layer.w_o.weight.detach().T,
            b_q=_biases(layer, layer.w_q),
            b_k=_biases(layer, layer.w_k),
            b_v=_biases(layer, layer.w_v),
            b_o=None if layer.w_o.bias is None else layer.w_o.bias.detach(),
            scale=layer.score is scaled_dot,
        )


@contextmanager
def watched(model: nn.Module, kind: str, layer: int) -> Iterator[Watch]:
    """Watch one attention layer of a model while the model runs; nothing of it stays behind.

        with watched(model, "cross", layer=0) as watch:
            model(source_ids, target_ids)
        watch.inputs.w_q

    Args:
        model: an encoder, a decoder or both, as the classes of this room are.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0.

    Raises:
        UserError: if the model has no such layer, or one that does not compare by dot products
            of unturned vectors (additive scoring, rotary positions).
    """
    module = _find(model, kind, layer)
    if module.rotary is not None:
        raise UserError(
            "this layer turns its queries and keys by their positions (rotary), a step that "
            "this view does not show; give a model with sinusoidal, learned or no positions"
        )
    if module.score is not scaled_dot and module.score is not dot:
        raise UserError(
            "this layer compares queries and keys by a small network (additive scoring), not by "
            "dot products; give a model with scoring='scaled_dot' or 'dot'"
        )
    watch = Watch(module)
    handle = module.register_forward_pre_hook(watch)
    try:
        yield watch
    finally:
        handle.remove()


def _find(model: nn.Module, kind: str, layer: int) -> MultiHeadAttention:
    stacks = {}
    for name in ("encoder", "decoder"):
        stack = getattr(model, name, None)
        if stack is not None:
            stacks[name] = [each.self_attention for each in stack.layers]
        if isinstance(stack, Decoder):  # of a decoder alone, the layers have no cross-attention
            stacks["cross"] = [each.cross_attention for each in stack.layers]
    if kind not in stacks:
        raise UserError(f"this model has no {kind!r} attention; it has {list(stacks)}")
    layers = stacks[kind]
    if not isinstance(layer, int) or isinstance(layer, bool) or not 0 <= layer < len(layers):
        raise UserError(
            f"layer={layer!r}, but the {kind} attention of this model has {len(layers)} layers; "
            f"choose 0 to {len(layers) - 1}"
        )
    return layers[layer]


def _matrices(layer: MultiHeadAttention, linear: nn.Linear) -> Tensor:
    weight = linear.weight.detach()  # [head · d_head, d_model]
    heads = weight.unflatten(0, (layer.n_heads, layer.d_head))  # [head, d_head, d_model]
    return heads.transpose(1, 2)  # [head, d_model, d_head]


def _biases(layer: MultiHeadAttention, linear: nn.Linear) -> Tensor | None:
    if linear.bias is None:
        return None
    return linear.bias.detach().unflatten(0, (layer.n_heads, layer.d_head))  # [head, d_head]
