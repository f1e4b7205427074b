"""From layers of weights and labels to a trace, or to a clear refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace
from viz_transformer.tracing.labels import Side

#: How far a row may be from a sum of 1: bfloat16 rounds each weight by up to 0.4%.
_TOLERANCE = 0.01

Layers = Mapping[str, Sequence[Any]]
Sides = Mapping[str, Side | None]


def as_array(weights: Any) -> NDArray[np.float32]:
    """Turn a tensor of any number type, or an array, into float32 of numpy."""
    if hasattr(weights, "detach"):
        weights = weights.detach().float().cpu().numpy()  # numpy has no bfloat16
    return np.asarray(weights, dtype=np.float32)


def one_sentence(weights: Any, batch_index: int | None) -> NDArray[np.float32]:
    """Take one sentence's weights [head, query, key] out of one layer's.

    Args:
        weights: [batch, head, query, key], [head, query, key] or, of one head, [query, key].
        batch_index: which sentence of the batch.

    Raises:
        UserError: if there are several sentences and `batch_index` names none of them.
    """
    array = as_array(weights)
    if array.ndim == 2:
        array = array[None]  # [head=1, query, key]
    if array.ndim == 3:
        array = array[None]  # [batch=1, head, query, key]
    if array.ndim != 4 or 0 in array.shape:
        raise UserError(
            f"a layer's weights have the shape {list(array.shape)}, but [batch, head, query, key] "
            "or [head, query, key] was expected; give one such array per layer"
        )
    return array[sentence_index(array.shape[0], batch_index)]


def sentence_index(n_sentences: int, batch_index: int | None) -> int:
    """Return which sentence of a batch is meant.

    Raises:
        UserError: if that is not clear, or there is no such sentence.
    """
    if batch_index is None and n_sentences > 1:
        raise UserError(
            f"the batch has {n_sentences} sentences, and a trace shows one; "
            f"say which: batch_index=0 to {n_sentences - 1}"
        )
    index = 0 if batch_index is None else batch_index
    if not 0 <= index < n_sentences:
        raise UserError(
            f"batch_index={index}, but the batch has {n_sentences} sentences; choose 0 to {n_sentences - 1}"
        )
    return index


def is_causal(layers: Sequence[NDArray[np.float32]]) -> bool:
    """Return whether no query of these layers, each [..., query, key], sees a later key."""
    return all(not np.triu(layer, k=1).any() for layer in layers)


def self_attention_kind(layers: Sequence[NDArray[np.float32]], causal: bool | None = None) -> str:
    """Tell an encoder's self-attention from a decoder's, by whether it looks ahead.

    A model that says it is causal is believed. One that says it is not may still be given a causal
    mask, as CLIP's text model is: there the weights decide, if they can.

    Args:
        layers: one sentence's weights without padding, each [head, query, key].
        causal: what the model says of itself.

    Raises:
        UserError: if the layers do not agree, or one token leaves it open, and the model says
            nothing.
    """
    if causal:
        return "decoder"
    each = {is_causal([layer]) for layer in layers} if layers[0].shape[-1] > 1 else set()
    if len(each) != 1 and causal is not None:
        each = {causal}
    if len(each) == 1:
        return "decoder" if each.pop() else "encoder"
    raise UserError(
        "it is not clear whether this is an encoder or a decoder: "
        + ("some layers look ahead and some do not" if each else "one token has nothing to hide")
        + "; give source_tokens= for an encoder, target_tokens= for a decoder, or both"
    )


def assemble(
    layers: Layers,
    sides: Sides,
    batch_index: int | None = None,
    positions: Mapping[str, Any] | None = None,
) -> ForwardTrace:
    """Make the trace of one sentence.

    Args:
        layers: per kind ("encoder", "decoder", "cross") one array per layer, as `one_sentence`
            takes them; kinds without layers are left out.
        sides: what "source" and "target" are called.
        batch_index: which sentence.
        positions: per side the positional encodings [position, d_model], where known.

    Raises:
        UserError: if labels are missing or of another number than the positions, if layers of
            one kind differ in their heads, or if the rows do not sum to 1.
    """
    arrays: dict[str, Any] = {}
    used: set[str] = set()
    for kind, of_kind in layers.items():
        if len(of_kind):
            stacked = _stack(kind, [one_sentence(layer, batch_index) for layer in of_kind])
            query, key = KINDS[kind].query, KINDS[kind].key
            used |= {query, key}
            stacked = _without_weight_on_padding(stacked, sides.get(key))
            for axis, side in ((2, query), (3, key)):
                stacked = _cut(stacked, axis, kind, side, sides.get(side))
            _check_rows(kind, stacked)
            arrays[KINDS[kind].field] = stacked
    if not arrays:
        raise UserError(
            "nothing was captured: there is no attention in what was given; give a model that "
            "attends, or its weights: vt.capture([layer_0, layer_1], tokens=[...])"
        )
    for name in sorted(used):
        side = sides[name]
        assert side is not None  # _cut has refused a missing one
        arrays[f"{name}_tokens"] = side.tokens
        arrays[f"{name}_words"] = side.words
        if positions and positions.get(name) is not None:
            table = as_array(positions[name])
            arrays[f"{name}_positions"] = _cut(table, 0, "position", name, side)
    target = sides.get("target") if "target" in used else None
    return ForwardTrace(output_tokens=None if target is None else target.written, **arrays)


def _stack(kind: str, layers: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    heads = [layer.shape[0] for layer in layers]
    if len(set(heads)) > 1:
        raise UserError(
            f"the {kind} layers have {heads} heads, and a trace holds layers of equally many; "
            "capture the layers one by one: vt.capture(weights_of_a_layer, tokens=[...])"
        )
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        raise UserError(
            f"the {kind} layers have the shapes [head, query, key] {sorted(map(list, shapes))}, "
            "and a trace holds layers of one shape; capture the layers of each shape on their own"
        )
    return np.stack(layers)  # [layer, head, query, key]


def _without_weight_on_padding(weights: NDArray[np.float32], key: Side | None) -> NDArray[np.float32]:
    """Set to zero the rows of queries that might attend to nothing.

    A model may give such a query (padding on the left, before the first word) equal weight
    everywhere, padding included. No other row gives padding any weight.
    """
    if key is None or key.kept is None or len(key.kept) != weights.shape[-1] or key.kept.all():
        return weights
    lost = weights[..., ~key.kept].sum(axis=-1, keepdims=True) > _TOLERANCE
    return np.where(lost, np.float32(0), weights)


def _cut(
    array: NDArray[np.float32], axis: int, kind: str, name: str, side: Side | None
) -> NDArray[np.float32]:
    """Fit an axis to its labels: as it is, or without the padding."""
    length = array.shape[axis]
    if side is None:
        raise UserError(
            f"the {kind} attention runs over {length} {name} positions without labels; "
            f"give {name}_tokens=[...], one string per position, or tokenizer="
        )
    if len(side.tokens) == length:
        return array
    if side.kept is not None and len(side.kept) == length and side.kept.sum() == len(side.tokens):
        return np.compress(side.kept, array, axis=axis)
    raise UserError(
        f"{len(side.tokens)} {name} tokens were given, but the {kind} attention has {length} "
        f"{name} positions; give one label per position, special tokens included"
    )


def _check_rows(kind: str, weights: NDArray[np.float32]) -> None:
    if not np.isfinite(weights).all():
        raise UserError(
            f"the {kind} attention holds NaN or infinity; check the model's input and masks: a "
            "query that may attend to nothing makes them in many models"
        )
    sums = weights.sum(axis=-1)  # [layer, head, query]
    wrong = (np.abs(sums - 1) > _TOLERANCE) & (np.abs(sums) > 1e-6) | (weights.min(axis=-1) < 0)
    if wrong.any():
        layer, head, query = (int(i) for i in np.argwhere(wrong)[0])
        raise UserError(
            f"a row of the {kind} attention (layer {layer}, head {head}, query {query}) has the "
            f"sum {sums[layer, head, query]:.3f} or a weight below 0, so these are not attention "
            "weights; give them after the softmax and before dropout, all keys included"
        )
