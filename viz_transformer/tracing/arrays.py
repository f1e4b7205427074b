"""Weights that somebody already has: plain arrays, a cache, or a model's output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.tracing.assemble import as_array, assemble
from viz_transformer.tracing.classify import sort_self_attention
from viz_transformer.tracing.labels import Labels

#: The names of attention weights in a TransformerLens cache, and their kinds here.
_CACHED = re.compile(r"(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_pattern")
_CACHE_KINDS = {
    ("blocks", "attn"): "self",
    ("encoder", "attn"): "encoder",
    ("decoder", "attn"): "decoder",
    ("decoder", "cross_attn"): "cross",
}
#: The same for a Hugging Face output.
OUTPUT_KINDS = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


def capture_arrays(weights: Any, labels: Labels, batch_index: int | None) -> ForwardTrace:
    """Make a trace of weights.

    Args:
        weights: [layer, head, query, key], [head, query, key] or [query, key]; or a sequence of
            layers, each [batch, head, query, key], [head, query, key] or [query, key]; or a
            sequence of steps of `generate`, each a sequence of layers; or a mapping: a
            TransformerLens cache or a Hugging Face output.
        labels: of one sequence; or of two, if the weights are cross-attention.
        batch_index: which sentence.

    Raises:
        UserError: as `assemble`, or if nothing of the above was given.
    """
    if hasattr(weights, "keys"):
        return assemble_kinds(_from_mapping(weights), labels, batch_index)
    if labels.source is not None and labels.target is not None:
        sides = {"source": labels.source, "target": labels.target}
        return assemble({"cross": _as_layers(weights, "cross")}, sides, batch_index)
    return assemble_kinds({"self": _as_layers(weights, "self")}, labels, batch_index)


def assemble_kinds(
    kinds: Mapping[str, Sequence[Any]],
    labels: Labels,
    batch_index: int | None,
    causal: bool | None = None,
    positions: Mapping[str, Any] | None = None,
) -> ForwardTrace:
    """Make a trace of layers by kind; "self" stands for an encoder's or a decoder's.

    Args:
        kinds: per kind its layers; a kind may be missing, empty or None.
        labels: those of one sequence where there is only one kind of self-attention.
        batch_index: which sentence.
        causal: see `assemble.self_attention_kind`.
        positions: see `assemble`.

    Raises:
        UserError: as `assemble`, or if some layers of a kind are missing.
    """
    kinds = {kind: layers for kind, layers in kinds.items() if _complete(kind, layers)}
    if set(kinds) == {"self"}:
        layers, sides = sort_self_attention(kinds["self"], labels, batch_index, causal)
        return assemble(layers, sides, batch_index, positions)
    if "self" in kinds:  # a decoder that also looks at a source
        kinds["decoder"] = kinds.pop("self")
    both = len(kinds) > 1 or "cross" in kinds
    sides = {"source": labels.source, "target": labels.target}
    if not both:
        sides = labels.side_of(next(iter(kinds), "encoder"))
    return assemble(kinds, sides, batch_index, positions)


def _complete(kind: str, layers: Sequence[Any] | None) -> bool:
    present = [layer is not None for layer in layers or ()]
    if any(present) and not all(present):
        raise UserError(
            f"of {len(present)} {kind} layers only {sum(present)} have attention weights, and a "
            "trace numbers them without a gap; give those layers: vt.capture([...], tokens=[...])"
        )
    return any(present)


def _from_mapping(weights: Any) -> dict[str, Any]:
    by_kind: dict[str, dict[int, Any]] = {}
    for name in weights.keys():  # noqa: SIM118 - a TransformerLens cache is no dict
        found = _CACHED.fullmatch(str(name))
        if found:
            kind = _CACHE_KINDS[found[1], found[3]]
            by_kind.setdefault(kind, {})[int(found[2])] = weights[name]
    if not by_kind:
        return kinds_of_output(weights)
    layers = {}
    for kind, of_kind in by_kind.items():
        n_layers = max(of_kind) + 1
        layers[kind] = [of_kind.get(layer) for layer in range(n_layers)]
    return layers


def kinds_of_output(output: Mapping[str, Any]) -> dict[str, Any]:
    """Find the layers of each kind in what a Hugging Face model, or its `generate`, returned."""
    return {
        kind: _joined(output[name], kind)
        for name, kind in OUTPUT_KINDS.items()
        if output.get(name) is not None
    }


def _joined(layers: Sequence[Any], kind: str) -> Sequence[Any]:
    """Join the layers, should they be those of several steps of `generate`."""
    if not layers or not isinstance(layers[0], list | tuple) or layers[0][0] is None:
        return layers
    first, last = layers[0][0].shape[-2], layers[-1][0].shape[-2]
    if last > first:  # without a cache, each step reads everything again
        return layers[-1]
    if kind == "cross":  # each step adds rows, [batch, head, new query, source]
        steps = [[as_array(layer) for layer in step] for step in layers]
        return [np.concatenate(of_layer, axis=2) for of_layer in zip(*steps, strict=True)]
    return _stitch(layers)


def _as_layers(weights: Any, kind: str) -> list[Any]:
    if isinstance(weights, list | tuple):
        nested = weights and isinstance(weights[0], list | tuple) and len(weights[0])
        return list(_joined(weights, kind) if nested and _is_array(weights[0][0]) else weights)
    try:
        array = as_array(weights)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"a {type(weights).__name__} is neither a torch module nor attention weights; give a "
            "model with its input, or arrays [layer, head, query, key] with tokens=[...]"
        ) from error
    if array.ndim < 4:
        return [array]
    return list(array)


def _is_array(weights: Any) -> bool:
    return hasattr(weights, "shape")


def _stitch(steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Join the steps of `generate` into whole maps.

    The first step reads the whole beginning; each later one reads a token, whose row of weights
    is one key longer than the row before:

        step 0:  a .        step 1:  a b c        whole:  a . .
                 a b                                      a b .
                                                          a b c

    Args:
        steps: per step and layer [batch, head, new query, keys so far].

    Returns:
        per layer [batch, head, query, key].

    Raises:
        UserError: if the steps do not go on from each other.
    """
    lengths = [step[0].shape[-2] for step in steps]
    n_positions = sum(lengths)
    whole = []
    for of_layer in zip(*steps, strict=True):
        batch, heads = of_layer[0].shape[:2]
        stitched = np.zeros((batch, heads, n_positions, n_positions), dtype=np.float32)
        end = 0
        for weights, length in zip(of_layer, lengths, strict=True):
            start, end = end, end + length
            rows = as_array(weights)  # [batch, head, new query, keys so far]
            if rows.shape[:3] != (batch, heads, length) or rows.shape[3] > end:
                raise UserError(
                    f"a step of generate has weights of shape {list(rows.shape)}, but "
                    f"[{batch}, {heads}, {length}, up to {end}] was expected; generate with "
                    "num_beams=1 and the default cache"
                )
            # A cache that forgets the oldest keys keeps the latest.
            stitched[:, :, start:end, end - rows.shape[3] : end] = rows
        whole.append(stitched)
    return whole
