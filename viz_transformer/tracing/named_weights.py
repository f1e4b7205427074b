"""Attention weights by name, as a TransformerLens cache or the output of a Hugging Face model holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from viz_transformer.tracing.joined_steps import join_steps

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
    """Return the layers of each kind in an output; steps of `generate` become whole maps."""
    return {
        kind: join_steps(output[name], kind)
        for name, kind in OUTPUT_KINDS.items()
        if output.get(name) is not None
    }
