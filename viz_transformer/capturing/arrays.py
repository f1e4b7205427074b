"""Adapter for weights that exist already: arrays, a TransformerLens cache, or a model's output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from viz_transformer._text import shown
from viz_transformer.capturing.arguments import TOLERANCE, Labels, TokenLabels, as_array, sentence_index
from viz_transformer.capturing.assemble import RawAttention, layers_of_output
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.trace.arrays import given_array

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


#: The hook points of attention weights: those of a HookedTransformer, then of a TransformerBridge. No model
#: has more layers than three digits count (`_bounds.LAYERS`).
_PATTERN = re.compile(
    r"(blocks|encoder|decoder|encoder_blocks|decoder_blocks)\.(\d{1,3})\.(attn|self_attn|cross_attn)\.hook_pattern"
)
_STACKS = {
    "blocks": "self",
    **dict.fromkeys(["encoder", "encoder_blocks"], "encoder"),
    **dict.fromkeys(["decoder", "decoder_blocks"], "decoder"),
}


def pattern_points(names: Iterable[Any]) -> dict[str, tuple[str, int]]:
    """Return the kind and the layer of each hook point that sees attention weights, by its name."""
    found = {str(name): _PATTERN.fullmatch(str(name)) for name in names}
    return {
        name: ("cross" if match[3] == "cross_attn" else _STACKS[match[1]], int(match[2]))
        for name, match in found.items()
        if match
    }


def layers_of_cache(cache: Any) -> dict[str, list[Any]]:
    """Return the layers in a cache of TransformerLens by kind; where one is missing in between, None."""
    by_kind: dict[str, dict[int, Any]] = {}
    for name, (kind, number) in pattern_points(cache.keys()).items():
        by_kind.setdefault(kind, {})[number] = cache[name]
    return {
        kind: [of_kind.get(layer) for layer in range(max(of_kind) + 1)] for kind, of_kind in by_kind.items()
    }


class _NotWholeError(Exception):
    """What `generate` returned holds no whole map of a text; why not."""


def layers_of_text(output: Mapping[str, Any], batch_index: int | None) -> dict[str, Any]:
    """Return the layers of one of the texts that `generate` returned, each [1, head, query, key].

    Args:
        output: what `generate` returned.
        batch_index: which of its texts.

    Raises:
        UserError: if there is no such text, or its model returns something else than whole maps.
    """
    layers, texts = layers_of_output(output), output["sequences"]
    text, beams = sentence_index(len(texts), batch_index), output.get("beam_indices")
    try:
        for kind, given in layers.items():
            if are_steps(given):
                # At each step another row of the batch may have become this text; a text ends with −1.
                rows = [text] * len(given)
                if beams is not None:
                    rows = [row for row in beams[text].tolist() if row >= 0]
                steps = zip(given, rows, strict=False)  # the search may go on after the text's end
                layers[kind] = join_steps([_row_of(step, row) for step, row in steps], kind)
            else:  # an encoder reads each source once, for all of its texts
                layers[kind] = _row_of(given, text * len(given[0]) // len(texts))
            _check_maps(layers[kind], is_square=kind != "cross")
    except _NotWholeError as error:
        name = "attention" if kind == "self" else f"{kind} attention"
        read = "input_ids=ids" if kind == "self" else "decoder_input_ids=ids beside what the encoder read"
        raise UserError(
            f"generate did not return the whole {name} of this text: {error}; let the model read the text "
            f"once more: vt.capture(model, ...) with {read}, where ids is output.sequences[{text}, :-1]"
        ) from error
    return layers


def _row_of(layers: Iterable[Any], row: int) -> list[Any]:
    """Return one row of each layer's batch, [1, head, query, key]."""
    rows = []
    for layer in layers:
        if layer is not None and getattr(layer, "ndim", None) != 4:
            shape = list(layer.shape) if hasattr(layer, "shape") else f"a {type(layer).__name__}"
            raise _NotWholeError(f"a layer is {shape}, and no array [batch, head, query, key]")
        of_row = layer if layer is None else layer[row : row + 1]
        if of_row is not None and not len(of_row):
            raise _NotWholeError(f"it kept the weights of some beams only, and not of row {row}")
        rows.append(of_row)
    if not rows:
        raise _NotWholeError("a step has no weights")
    return rows


def _check_maps(layers: Iterable[Any], is_square: bool) -> None:
    """Raise a _NotWholeError unless layers are maps, of a sequence onto itself where they are square."""
    for layer in layers:
        if layer is None:
            continue
        n_queries, n_keys = layer.shape[-2:]
        if is_square and n_queries != n_keys:
            raise _NotWholeError(f"a layer has {n_queries} queries and {n_keys} keys")
        sums = as_array(layer).sum(axis=-1)  # [1, head, query]
        odd = sums[(abs(sums - 1) > TOLERANCE) & (abs(sums) > TOLERANCE)]
        if odd.size:
            raise _NotWholeError(
                f"a row sums to {odd[0]:.3f}, which scores do, or weights of which a part goes to a sink"
            )


def join_steps(layers: Sequence[Any], kind: str) -> Sequence[Any]:
    """Return layers as they are, or joined if they are those of several steps of `generate`.

    With a cache the first step reads the whole beginning; each later one reads a token, whose row of weights
    is one key longer than the row before:

        step 0:  a .        step 1:  a b c        whole:  a . .
                 a b                                      a b .
                                                          a b c

    Raises:
        UserError: if the steps do not continue each other.
    """
    if not are_steps(layers):
        return layers
    lengths = [step[0].shape[-2] for step in layers]
    if lengths[-1] > lengths[0]:  # without a cache, each step reads everything again
        return layers[-1]
    if kind == "cross":  # each step adds rows, [..., new query, source]
        steps = [[as_array(layer) for layer in step] for step in layers]
        return [np.concatenate(of_layer, axis=-2) for of_layer in zip(*steps, strict=True)]
    whole = []
    for of_layer in zip(*layers, strict=True):
        before = tuple(of_layer[0].shape[:-2])  # batch and heads
        joined = np.zeros((*before, sum(lengths), sum(lengths)), dtype=np.float32)
        end = 0
        for weights, length in zip(of_layer, lengths, strict=True):
            start, end = end, end + length
            rows = as_array(weights)  # [..., new query, keys so far]
            if rows.shape[:-1] != (*before, length) or rows.shape[-1] > end:
                raise UserError(
                    f"a step of generate has weights of shape {list(rows.shape)}, but "
                    f"{[*before, length]} and up to {end} keys was expected; generate with "
                    "the default cache, or let the model read the finished text once: vt.capture(model, ...)"
                )
            # A cache that drops the oldest keys keeps the latest.
            joined[..., start:end, end - rows.shape[-1] : end] = rows
        whole.append(joined)
    return whole


def are_steps(layers: Sequence[Any]) -> bool:
    """Return whether layers are those of several steps of `generate`, rather than of one pass."""
    return bool(layers) and isinstance(layers[0], list | tuple) and layers[0][0] is not None
