"""Adapters for our own models, and for any module that attends with torch's functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from viz_transformer.capturing.arguments import Labels, labels_of_ids
from viz_transformer.capturing.assemble import RawAttention
from viz_transformer.capturing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.capturing.call_kinds import HeadWatch, sort_layers
from viz_transformer.capturing.inputs import CaptureInputs, as_ids, forward_of
from viz_transformer.capturing.running import BiasWatch, attention_implementation, evaluating, watching
from viz_transformer.capturing.whole_maps import WindowWatch
from viz_transformer.errors import DOCUMENTATION, UserError
from viz_transformer.model import Transformer
from viz_transformer.trace import KINDS


def attention_of_own_model(model: nn.Module, inputs: CaptureInputs) -> RawAttention:
    """Run a model of ours, whose traced forward returns its weights.

    Raises:
        UserError: as the model's forward.
    """
    positional, named, labels = _forward_inputs(model, inputs)
    n_given = len(positional) + len({"source_ids", "target_ids"} & named.keys())
    if isinstance(model, Transformer) and n_given < 2:
        raise UserError(
            "a Transformer reads source and target ids; give input_ids= and decoder_input_ids=, "
            "or let its translator write the target: translator.trace(text)"
        )
    with evaluating(model):
        output = forward_of(model)(*positional, **named)
    return RawAttention(
        layers={kind.name: getattr(output, kind.field) for kind in KINDS.values()},
        labels=labels,
        batch_index=inputs.batch_index,
        positions={"source": output.source_positions, "target": output.target_positions},
    )


def attention_of_module(model: nn.Module, inputs: CaptureInputs) -> RawAttention:
    """Run any module, and record the attention functions that its forward calls.

    Raises:
        UserError: if it calls none, or as `sort_layers`.
    """
    positional, named, labels = _forward_inputs(model, inputs)
    recorder, windows, biases = AttentionRecorder(model), WindowWatch(), BiasWatch()
    heads = HeadWatch(recorder)
    with (
        evaluating(model),
        attention_implementation(model, "sdpa"),
        watching(model, windows, biases),
        recorder,
        watching(model, heads),
    ):
        model(*positional, **named)
    read = [*positional, *named.values()]
    if all(_is_over_channels(call, read) for call in recorder.calls):
        raise UserError(
            f"{type(model).__name__} has no attention that can be seen: it neither holds "
            "nn.MultiheadAttention, nor calls torch's scaled_dot_product_attention or "
            "flex_attention, nor multiplies the result of a softmax with values; let it return "
            "its weights, and give those: vt.capture(weights, tokens=[...]); what is seen, and how: "
            f"{DOCUMENTATION}capture.md"
        )
    calls = heads.joined()
    n_sentences = _n_sentences(read)
    labels = labels.padded_by(named.get("attention_mask"), inputs.batch_index or 0)
    raw = RawAttention(layers={}, labels=labels, batch_index=inputs.batch_index, causal=inputs.causal)
    whole = windows.maps(calls, inputs.batch_index, biases.found)
    if whole is not None:
        return replace(raw, layers=whole, batch_index=None, biases=biases.of(whole))
    layers, numbers, notes = sort_layers(calls, labels, n_sentences, inputs.batch_index, inputs.selection)
    return replace(raw, layers=layers, numbers=numbers, notes=notes, biases=biases.of(layers))


def _forward_inputs(model: nn.Module, inputs: CaptureInputs) -> tuple[list[Any], dict[str, Any], Labels]:
    """Return what the forward takes by position and by name, and the labels.

    Ids go by name where the forward knows the name, else in their order.
    """
    if inputs.generate:
        raise UserError(
            f"{type(model).__name__} has no generate() of Hugging Face's kind; write the target "
            "first, and capture it with its ids and tokens"
        )
    ids, labels = inputs.ids, inputs.labels
    if inputs.encoding is not None:
        ids = {"input_ids": as_ids(model, inputs.encoding["input_ids"]), **ids}
        if labels == Labels():
            read = labels_of_ids(inputs.tokenizer, ids["input_ids"][0].tolist(), inputs.encoding)
            labels = Labels(tokens=read.with_segments(None, inputs.encoding))
    by_name = {name: value for name, value in ids.items() if name in inputs.parameters}
    in_order = [value for name, value in ids.items() if name not in inputs.parameters]
    return [*in_order, *inputs.positional], {**by_name, **inputs.named}, labels


def _is_over_channels(call: AttentionCall, inputs: Sequence[Any]) -> bool:
    """Return whether weights run between channels, whose values have the positions of the input as features.

    Source: El-Nouby et al. 2021, *XCiT: Cross-Covariance Image Transformers*, section 3.2.
    """
    read = [value.shape for value in inputs if isinstance(value, Tensor) and value.is_floating_point()]
    lengths = {shape[1] for shape in read if len(shape) == 3}  # [batch, position, feature]
    lengths |= {shape[2] * shape[3] for shape in read if len(shape) == 4}  # [batch, feature, row, column]
    return call.n_features in lengths and call.weights.shape[-1] not in lengths


def _n_sentences(inputs: Sequence[Any]) -> tuple[int, ...]:
    """Return how many sentences the first tensor among the inputs holds, and if its batch comes second."""
    for value in inputs:
        if isinstance(value, Tensor):
            n_axes = value.ndim - value.is_floating_point()  # without one for features
            return tuple(value.shape[: 2 if n_axes == 2 else 1]) if n_axes > 1 else (1,)
    return (1,)
