"""Attention weights by name, as a TransformerLens cache or the output of a Hugging Face model holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from viz_transformer.tracing.joined_steps import are_steps, join_steps
from viz_transformer.tracing.selection import sentence_index

#: The names of attention weights in an output, and their kinds; "self" is of a model's only stack.
OUTPUT_KINDS = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
#: The hook points of attention weights: those of a HookedTransformer, then of a TransformerBridge.
_PATTERN = re.compile(
    r"(blocks|encoder|decoder|encoder_blocks|decoder_blocks)\.(\d+)\.(attn|self_attn|cross_attn)\.hook_pattern"
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
    """Return the layers of each kind in an output, each [batch, head, query, key], or steps of them."""
    return {kind: output[name] for name, kind in OUTPUT_KINDS.items() if output.get(name) is not None}


def layers_of_text(output: Mapping[str, Any], batch_index: int | None) -> dict[str, Any]:
    """Return the layers of one of the texts that `generate` returned, each [1, head, query, key].

    Args:
        output: what `generate` returned.
        batch_index: which of its texts.

    Raises:
        UserError: if there is no such text.
    """
    layers, texts = layers_of_output(output), output["sequences"]
    text, beams = sentence_index(len(texts), batch_index), output.get("beam_indices")
    for kind, given in layers.items():
        if are_steps(given):
            # At each step another row of the batch may have become this text; a text ends with −1.
            rows = [text] * len(given) if beams is None else [row for row in beams[text].tolist() if row >= 0]
            steps = zip(given, rows, strict=False)  # the search may go on after the text's end
            layers[kind] = join_steps([_row_of(step, row) for step, row in steps], kind)
        else:  # an encoder reads each source once, for all of its texts
            layers[kind] = _row_of(given, text * len(given[0]) // len(texts))
    return layers


def _row_of(layers: Iterable[Any], row: int) -> list[Any]:
    """Return one row of each layer's batch, [1, head, query, key]."""
    return [None if layer is None else layer[row : row + 1] for layer in layers]
