"""Attention weights by name, as a TransformerLens cache or the output of a Hugging Face model holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.tracing.joined_steps import are_steps, join_steps
from viz_transformer.tracing.selection import TOLERANCE, as_array, sentence_index

#: The names of attention weights in an output, and their kinds; "self" is of a model's only stack.
OUTPUT_KINDS = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
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
        name: (
            "cross" if match[3] == "cross_attn" else _STACKS[match[1]],
            int(match[2]),
        )
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


def layers_of_output(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers of each kind in an output, each [batch, head, query, key], or steps of them.

    A model that does not attend eagerly may return a step without layers each time; these are left out.
    """
    given = {kind: output.get(name) for name, kind in OUTPUT_KINDS.items()}
    return {
        kind: layers
        for kind, layers in given.items()
        if layers is not None and not (len(layers) and all(each == () for each in map(_as_step, layers)))
    }


def _as_step(layers: Any) -> Any:
    """Return what one step returned as a tuple, and of one pass None."""
    return tuple(layers) if isinstance(layers, list | tuple) else None


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
                rows = (
                    [text] * len(given)
                    if beams is None
                    else [row for row in beams[text].tolist() if row >= 0]
                )
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
    """Return one row of each layer's batch, [1, head, query, key].

    Raises:
        _NotWholeError: if the layers are something else (blocks, two streams …), or lack the row.
    """
    rows = [layer if layer is None else layer[row : row + 1] for layer in map(_as_map, layers)]
    if any(layer is not None and not len(layer) for layer in rows):
        raise _NotWholeError(f"it kept the weights of some beams only, and not of row {row}")
    if not rows:
        raise _NotWholeError("a step has no weights")
    return rows


def _as_map(layer: Any) -> Any:
    if layer is not None and getattr(layer, "ndim", None) != 4:
        shape = list(layer.shape) if hasattr(layer, "shape") else f"a {type(layer).__name__}"
        raise _NotWholeError(f"a layer is {shape}, and no array [batch, head, query, key]")
    return layer


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
