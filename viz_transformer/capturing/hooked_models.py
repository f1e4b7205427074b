"""Adapter for TransformerLens' models, whose hook points see every head's weights."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from viz_transformer.capturing.arguments import Labels
from viz_transformer.capturing.arrays import layers_of_cache, pattern_points
from viz_transformer.capturing.assemble import RawAttention
from viz_transformer.capturing.huggingface import (
    label_side,
    on_the_given_side,
    one_sentence,
    says_causal,
    used_by,
)
from viz_transformer.capturing.inputs import READING, CaptureInputs, as_input
from viz_transformer.capturing.modules import attention_of_module
from viz_transformer.capturing.running import attention_implementation, evaluating
from viz_transformer.errors import UserError


def attention_of_hooked(model: Any, inputs: CaptureInputs) -> RawAttention:
    """Run a model of TransformerLens with its cache, on one sentence.

    Hooks that were added to it before take part, as in each of its own runs.

    Raises:
        UserError: if an input is not used, a target is missing, or as `vt.capture`.
    """
    points = pattern_points(model.hook_dict)
    if not points:
        return attention_of_module(model, inputs)
    named = one_sentence(_named_inputs(model, inputs), inputs.batch_index)
    ids = named.pop("input_ids")
    mask = named.get("attention_mask", named.get("one_zero_attention_mask"))
    labels = inputs.labels
    if any(kind == "cross" for kind, _ in points.values()):
        if named.get("decoder_input") is None:
            raise UserError(
                f"{type(model).__name__} reads a target too; give its ids: decoder_input_ids=[...]"
            )
        source = label_side(labels.source, inputs.tokenizer, ids, mask)
        target = label_side(labels.target, inputs.tokenizer, named["decoder_input"], None)
        labels = Labels(source=source, target=target)
    else:
        labels = on_the_given_side(labels, label_side(labels.only, inputs.tokenizer, ids, mask))

    inputs.selection.check_layers(number for _, number in points.values())
    kept = {name for name, (_, number) in points.items() if inputs.selection.keeps(number)}
    with ExitStack() as stack:
        inner = getattr(model, "original_model", None)  # a bridge's, with parts of its own
        for each in (model, inner) if isinstance(inner, nn.Module) else (model,):
            stack.enter_context(evaluating(each))
        stack.enter_context(attention_implementation(model, "eager"))
        _, cache = model.run_with_cache(ids, names_filter=lambda name: name in kept, **named)
    causal = says_causal(inner, named, inputs.causal) if inner else model.cfg.attention_dir == "causal"
    return RawAttention(layers=layers_of_cache(cache), labels=labels, batch_index=None, causal=causal)


def _named_inputs(model: Any, inputs: CaptureInputs) -> dict[str, Any]:
    """Return what the model reads by name, the ids [batch, position] as ``"input_ids"``."""
    ids: Mapping[str, Any] = {**inputs.ids, **(inputs.encoding or {})}
    positional = dict(zip(inputs.parameters, inputs.positional, strict=False))
    first = positional.pop(next(iter(inputs.parameters)), None)
    given = ids.get("input_ids", first)
    read = torch.as_tensor(given, device=inputs.device) if given is not None else None
    if read is None or read.is_floating_point():
        raise UserError(
            f"{type(model).__name__} reads a text or token ids [batch, position]; "
            'give one of them: vt.capture(model, "text"), or input_ids=[...]'
        )
    named = {**positional, **inputs.named}
    for name in READING if inputs.encoding else ():
        named.pop(name, None)  # the ids are made
    if "decoder_input_ids" in ids:
        named["decoder_input"] = ids["decoder_input_ids"]
    _check_used(model, named, inputs)
    named = {name: as_input(name, value, inputs.device) for name, value in named.items()}
    return {"input_ids": read if read.ndim > 1 else read[None], **named}


def _check_used(model: Any, named: Mapping[str, Any], inputs: CaptureInputs) -> None:
    """Raise a UserError for an input that would change nothing, or that asks the model to write."""
    name = type(model).__name__
    if inputs.generate:
        raise UserError(
            f"{name} writes by a call of its own; write first, and capture what it wrote: "
            "vt.capture(model, model.generate(text))"
        )
    inner = getattr(model, "original_model", None)
    used = {*inputs.parameters, "decoder_input", *(used_by(inner) if isinstance(inner, nn.Module) else ())}
    for unused in sorted(named.keys() - used):
        raise UserError(
            f"{name} takes {unused}= and does not use it, so the trace would be that of the unchanged model; "
            "leave it out, and add a hook to the model before you capture it"
        )
