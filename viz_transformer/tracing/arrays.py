"""Adapter for weights that exist already: arrays, a TransformerLens cache, or a model's output."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.trace.arrays import given_array
from viz_transformer.tracing.assemble import RawAttention
from viz_transformer.tracing.joined_steps import are_steps, join_steps
from viz_transformer.tracing.labels import Labels, TokenLabels
from viz_transformer.tracing.named_weights import layers_of_cache, layers_of_output, layers_of_text
from viz_transformer.tracing.selection import as_array

#: A cache of TransformerLens has a few dozen names for each layer.
_MOST_NAMES = 100_000
_GIVE = "give a model with its input, or arrays [layer, head, query, key] with tokens=[...]"


def attention_of_arrays(weights: Any, labels: Labels, batch_index: int | None) -> RawAttention:
    """Sort weights into layers by kind.

    Args:
        weights: [layer, head, query, key], [head, query, key] or [query, key]; or a sequence of
            layers, each [batch, head, query, key], [head, query, key] or [query, key]; or a
            sequence of steps of `generate`, each a sequence of layers; or a mapping: a
            TransformerLens cache or a Hugging Face output.
        labels: of one sequence, or of two if the weights are cross-attention; by default 0, 1, 2 …
        batch_index: which sentence; of an output of `generate`, which of its texts.

    Raises:
        UserError: if `weights` is none of these.
    """
    try:
        return _sorted(weights, labels, batch_index)
    except UserError:
        raise
    except Exception as error:  # a type may do anything when it is read, and lists may hold anything
        raise UserError(
            f"this {type(weights).__name__} cannot be read as attention weights ({shown(error)}); {_GIVE}"
        ) from error


def _sorted(weights: Any, labels: Labels, batch_index: int | None) -> RawAttention:
    if hasattr(weights, "keys"):
        named = {name: weights[name] for name in islice(weights.keys(), _MOST_NAMES)}
        layers = layers_of_cache(named) or layers_of_output(named)
        layers = {kind: _as_read(of_kind) for kind, of_kind in layers.items()}
        _check_no_bands(layers)
        if any(map(are_steps, layers.values())):
            layers, batch_index = layers_of_text(named, batch_index), None
        if not any(map(len, layers.values())):
            raise UserError(
                f"no attention was captured: this {type(weights).__name__} holds no attention weights; give "
                "the model itself, or run it with attn_implementation='eager' and output_attentions=True"
            )
    elif labels.source is not None and labels.target is not None:
        layers = {"cross": _as_layers(weights, "cross")}
    else:
        layers = {"self": _as_layers(weights, "self")}
        n_queries, n_keys = _n_positions(layers["self"])
        if labels == Labels() and n_queries != n_keys:
            layers = {"cross": layers["self"]}
    if labels == Labels():
        labels = _numbered(layers)
    # Tuples, so that nothing is taken out of somebody's own lists.
    layers = {kind: tuple(of_kind) for kind, of_kind in layers.items()}
    return RawAttention(layers=layers, labels=labels, batch_index=batch_index)


def _check_no_bands(layers: Mapping[str, Sequence[Any]]) -> None:
    """Raise a UserError for bands, whose columns are offsets around each query, as Longformer returns them.

    Their corners tell, also of a band as wide as the text is long: the first query has no key before it,
    and the last none behind it.
    """
    for kind in layers.keys() - {"cross"}:
        bands = [layer for layer in layers[kind] if getattr(layer, "ndim", 0) == 4 and layer.shape[-1] > 2]
        half = bands[0].shape[-1] // 2 if bands else 0
        if bands and not any(layer[..., 0, :half].any() or layer[..., -1, -half:].any() for layer in bands):
            raise UserError(
                "the weights in this output are bands: a column is a distance from the query, and no key; "
                "capture the model itself, which sets them into whole maps: vt.capture(model, ...)"
            )


def _numbered(layers: Mapping[str, Sequence[Any]]) -> Labels:
    """Label every position by its number."""
    found: dict[str, TokenLabels] = {}
    for kind, of_kind in layers.items():
        if not of_kind:
            continue
        sides = ("tokens", "tokens") if kind == "self" else (KINDS[kind].query, KINDS[kind].key)
        for side, n in zip(sides, _n_positions(of_kind), strict=True):
            found[side] = TokenLabels(tokens=tuple(map(str, range(n))))
    return Labels(**found)


def _n_positions(layers: Sequence[Any]) -> tuple[int, int]:
    """Return how many queries and keys the first layer has; 0, if it is no matrix."""
    shapes = (np.shape(layer) for layer in layers if layer is not None)
    shape: tuple[int, ...] = next(shapes, ())
    return (shape[-2], shape[-1]) if len(shape) > 1 else (0, 0)


def _is_kept(layer: Any) -> bool:
    """Whether a layer is taken as it is: none, or a tensor, of which only what is kept is moved."""
    if layer is None:
        return True
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(layer, torch.Tensor)
    return is_tensor and str(layer.layout) == "torch.strided" and not layer.is_nested


def _as_read(value: Any) -> Any:
    """Return layers, or steps of layers, in tuples."""
    if isinstance(value, list | tuple):
        return tuple(map(_as_read, value))
    return value if _is_kept(value) else given_array(value, "a layer")


def _as_layers(weights: Any, kind: str) -> list[Any]:
    if isinstance(weights, list | tuple):
        nested = weights and isinstance(weights[0], list | tuple) and len(weights[0])
        if not (nested and hasattr(weights[0][0], "shape")):  # nested lists of numbers
            return [each if _is_kept(each) else given_array(each, "a layer") for each in weights]
        if len(weights[0][0]) > 1:
            raise UserError(
                f"these are the steps of generate, of {len(weights[0][0])} texts or beams, and do not say "
                "which row continues which; give all that generate returned: vt.capture(output, ...)"
            )
        return list(join_steps(weights, kind))
    if not hasattr(weights, "shape"):
        raise UserError(
            f"a {type(weights).__name__} is neither a torch module nor attention weights; {_GIVE}"
        )
    array = as_array(weights)
    return [array] if array.ndim < 4 else list(array)
