"""Our own models, and any module that attends with torch's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.model import (
    DecoderOnly,
    EncoderOnly,
    ModelOutput,
    TracedDecoderOnly,
    TracedEncoderOnly,
    TracedTransformer,
    Transformer,
)
from viz_transformer.trace import ForwardTrace
from viz_transformer.tracing.arrays import assemble_kinds
from viz_transformer.tracing.assemble import assemble
from viz_transformer.tracing.calls import AttentionCalls
from viz_transformer.tracing.classify import sort_calls
from viz_transformer.tracing.labels import Labels
from viz_transformer.tracing.restore import attention_by, looked_at

#: Each model of ours with its traced variant.
TRACED: dict[type[nn.Module], type[nn.Module]] = {
    Transformer: TracedTransformer,
    EncoderOnly: TracedEncoderOnly,
    DecoderOnly: TracedDecoderOnly,
}


def traced_forward(model: nn.Module) -> Callable[..., ModelOutput] | None:
    """Return the forward that shows the weights, if the model is ours.

    A traced variant overrides forward alone, so its forward serves the plain model as well.
    """
    for plain, traced in TRACED.items():
        if isinstance(model, plain):
            return partial(traced.forward, model)
    return None


def capture_own(
    model: nn.Module,
    inputs: Sequence[Any],
    named: Mapping[str, Any],
    labels: Labels,
    batch_index: int | None,
) -> ForwardTrace:
    """Trace a model of ours.

    Raises:
        UserError: as `assemble` and the model's forward.
    """
    forward = traced_forward(model)
    assert forward is not None
    n_given = len(inputs) + len({"source_ids", "target_ids"} & named.keys())
    if isinstance(model, Transformer) and n_given < 2:
        raise UserError(
            "a Transformer reads source and target ids; give input_ids= and decoder_input_ids=, "
            "or let its translator write the target: translator.trace(text)"
        )
    with looked_at(model):
        output = forward(*inputs, **named)
    kinds = {
        "encoder": output.encoder_attention,
        "decoder": output.decoder_attention,
        "cross": output.cross_attention,
    }
    positions = {"source": output.source_positions, "target": output.target_positions}
    return assemble_kinds(kinds, labels, batch_index, positions=positions)


def capture_module(
    model: nn.Module,
    inputs: Sequence[Any],
    named: Mapping[str, Any],
    labels: Labels,
    batch_index: int | None,
) -> ForwardTrace:
    """Trace any module by the attention functions that its forward calls.

    Raises:
        UserError: if it calls none, or as `sort_calls` and `assemble`.
    """
    with looked_at(model), attention_by(model, "sdpa"), AttentionCalls() as calls:
        model(*inputs, **named)
    if not calls.seen:
        raise UserError(
            f"{type(model).__name__} has no attention that can be seen: it neither holds "
            "nn.MultiheadAttention nor calls torch.nn.functional.scaled_dot_product_attention; "
            "let it return its weights, and give those: vt.capture(weights, tokens=[...])"
        )
    layers, sides = sort_calls(
        calls.seen, labels, _n_sentences([*inputs, *named.values()]), batch_index, causal(model)
    )
    return assemble(layers, sides, batch_index)


def causal(model: nn.Module) -> bool | None:
    """Return what a model's attention modules say of themselves, if they say it."""
    said = {getattr(module, "is_causal", None) for module in model.modules()} - {None}
    return said == {True} if said and said <= {True, False} else None


def inputs_of(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return the inputs that a model's forward takes."""
    return inspect.signature(traced_forward(model) or model.forward).parameters


def place_ids(model: nn.Module, names_and_ids: Mapping[str, Any]) -> tuple[list[Any], dict]:
    """Hand ids over by name where the model's forward knows the name, else in their order."""
    known = inputs_of(model)
    inputs = [ids for name, ids in names_and_ids.items() if name not in known]
    return inputs, {name: ids for name, ids in names_and_ids.items() if name in known}


def as_ids(model: nn.Module, ids: Any) -> Tensor:
    """Turn ids, also those of one sentence in a list, into a tensor [batch, position]."""
    first = next(model.parameters(), torch.empty(0))
    tensor = torch.as_tensor(ids, device=first.device)
    return tensor if tensor.ndim > 1 else tensor[None]


def _n_sentences(inputs: Sequence[Any]) -> int:
    """Return how many sentences the first tensor among the inputs holds."""
    for value in inputs:
        if isinstance(value, Tensor):
            batched = value.ndim > (2 if value.is_floating_point() else 1)
            return value.shape[0] if batched else 1
    return 1
