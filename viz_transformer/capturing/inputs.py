"""The inputs of one `capture` call, parsed once for every adapter."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer import model as models
from viz_transformer._bounds import NEW_TOKENS, whole_number
from viz_transformer._text import shown
from viz_transformer.capturing.arguments import Labels, Selection, encode, sentence_index
from viz_transformer.errors import UserError

#: How many axes these inputs have with the batch's.
AXES = {"pixel_values": 4, "input_values": 2, "input_features": 3}
#: Each model of ours with its traced variant.
TRACED: dict[type[nn.Module], type[nn.Module]] = {
    models.Transformer: models.TracedTransformer,
    models.EncoderOnly: models.TracedEncoderOnly,
    models.DecoderOnly: models.TracedDecoderOnly,
}
#: What tells a model of TransformerLens how to read a text.
READING = ("prepend_bos", "padding_side")


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptureInputs:
    """Everything that came with a model.

    Attributes:
        positional: what the model's forward takes by position.
        ids: token ids by the names that `capture` knows, each [batch, position].
        named: further inputs of the model by name.
        encoding: what the tokenizer made of the text, or None without a text.
        tokenizer: Hugging Face's, or None.
        labels: the labels that were given.
        batch_index: which sentence, where there are several.
        generate: whether a Hugging Face model writes; None leaves it to the adapter.
        max_new_tokens: the most tokens that are then written.
        parameters: what the model's forward takes.
        causal: whether the model's attention modules are causal, if they all say the same.
        selection: which layers and heads are kept, and how exactly.
        verify: whether a class's weights are compared with its attention when first captured.
        device: where the model's parameters are.
    """

    positional: tuple[Any, ...]
    ids: Mapping[str, Tensor]
    named: Mapping[str, Any]
    encoding: Mapping[str, Any] | None
    tokenizer: Any
    labels: Labels
    batch_index: int | None
    generate: bool | None
    max_new_tokens: int
    parameters: Mapping[str, inspect.Parameter]
    causal: bool | None
    selection: Selection
    verify: bool
    device: torch.device


def parse_inputs(
    model: nn.Module,
    inputs: tuple[Any, ...],
    ids: Mapping[str, Any],
    named: Mapping[str, Any],
    *,
    tokenizer: Any,
    batch_index: int | None,
    max_new_tokens: int,
    known: Collection[str],
    **others: Any,
) -> CaptureInputs:
    """Check the arguments of `capture`, and bring them into one form.

    Args:
        model: a torch module.
        inputs: the positional arguments: a text or several, or what the model's forward takes.
        ids: token ids by the names that `capture` knows; a None counts as not given.
        named: the other inputs, by name.
        tokenizer: see `CaptureInputs`; likewise `batch_index`, `max_new_tokens` and `others`.
        known: the names of the arguments of `capture`, for the message about a misspelt one.

    Raises:
        UserError: if they contradict each other, or neither `capture` nor the model has a name.
    """
    if not hasattr(tokenizer, "convert_ids_to_tokens"):  # a processor holds the tokenizer of its text
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    text, second = None, None
    first = inputs[0] if inputs else None
    if isinstance(first, str):
        is_pair = len(inputs) > 1 and isinstance(inputs[1], str)
        text, second, inputs = first, inputs[1] if is_pair else None, inputs[1 + is_pair :]
    elif isinstance(first, list | tuple) and first and isinstance(first[0], str):
        text, inputs, batch_index = first[sentence_index(len(first), batch_index)], inputs[1:], None
    if text is not None and tokenizer is None and not is_hooked(model):
        raise UserError(
            f"the text {shown(text)} came without a tokenizer; give tokenizer=, or input_ids= and tokens="
        )
    parameters = forward_parameters(model)
    whole_number("max_new_tokens", max_new_tokens, NEW_TOKENS)
    if second is not None:
        _check_pair(model, parameters, text, second, tokenizer)
    _check_names(model, parameters, named, known)
    declared = {getattr(module, "is_causal", None) for module in model.modules()} - {None}
    return CaptureInputs(
        positional=inputs,
        ids={name: as_ids(model, value) for name, value in ids.items() if value is not None},
        named=named,
        encoding=None if text is None else _encode(model, tokenizer, text, second, named),
        tokenizer=getattr(model, "tokenizer", None) if tokenizer is None and is_hooked(model) else tokenizer,
        batch_index=batch_index,
        max_new_tokens=max_new_tokens,
        parameters=parameters,
        causal=declared == {True} if declared and declared <= {True, False} else None,
        device=device_of(model),
        **others,
    )


def _check_pair(
    model: nn.Module, parameters: Mapping[str, Any], text: str | None, second: str, tokenizer: Any
) -> None:
    """Raise a UserError for two texts that are no pair of sentences to a model."""
    given = f"two texts came, {shown(text)} and {shown(second)}"
    if tokenizer is None:
        raise UserError(f"{given}, and only a tokenizer joins them to a pair; give tokenizer=")
    if "decoder_input_ids" in parameters:
        raise UserError(
            f"{given}, and {type(model).__name__} has an encoder and a decoder: for a target, give its ids, "
            "decoder_input_ids=; for a pair that the encoder reads, **tokenizer(one, other, "
            'return_tensors="pt")'
        )


def _check_names(
    model: nn.Module,
    parameters: Mapping[str, inspect.Parameter],
    named: Mapping[str, Any],
    known: Collection[str],
) -> None:
    """Raise a UserError for an input that neither `capture` nor the model has."""
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in named.keys() - parameters.keys():
        if hasattr(getattr(model, "generation_config", None), name):
            continue  # it tells `generate` how to write, such as min_new_tokens=
        # A model that takes any name would silently ignore a misspelt one of ours.
        choices, cutoff = (known, 0.8) if takes_any else ([*known, *parameters], 0.6)
        near = difflib.get_close_matches(name, choices, n=1, cutoff=cutoff)
        if near or not takes_any:
            raise UserError(
                f"unknown input {name}=: neither capture nor {type(model).__name__} takes it; "
                + (f"did you mean {near[0]}=?" if near else f"the model takes {[*parameters]}")
            )


def _encode(
    model: Any, tokenizer: Any, text: str, second: str | None, named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a text as the model's inputs: by the tokenizer given, else as TransformerLens reads it."""
    if tokenizer is not None or not is_hooked(model):
        encoding = encode(tokenizer, text, second)
        if not encoding["input_ids"].shape[-1]:
            raise UserError(f"the text {shown(text)} has no token; give some words")
        return encoding
    if getattr(model, "tokenizer", None) is None:
        raise UserError(
            f"the text {shown(text)} came without a tokenizer, and this {type(model).__name__} has none; "
            "give tokenizer=, or input_ids= and tokens="
        )
    takes = inspect.signature(model.to_tokens).parameters
    options = {name: named[name] for name in READING if name in named and name in takes}
    ids = model.to_tokens(text, **options)
    return {"input_ids": ids[0] if isinstance(ids, tuple) else ids}  # some return their masks too


def is_hooked(model: Any) -> bool:
    """Return whether a model is one of TransformerLens: a HookedTransformer, a TransformerBridge …"""
    return all(hasattr(model, name) for name in ("run_with_cache", "to_tokens", "hook_dict", "cfg"))


def forward_of(model: nn.Module) -> Callable[..., Any]:
    """Return a model's forward, or the traced one of ours.

    A traced variant overrides forward alone, so its forward serves the plain model as well.
    """
    for plain, traced in TRACED.items():
        if isinstance(model, plain):
            return partial(traced.forward, model)
    return model.forward


def forward_parameters(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return what a model's forward takes; PEFT's takes anything, and hands it to the model inside."""
    inside: Callable[[], nn.Module] = getattr(model, "get_base_model", lambda: model)
    return inspect.signature(forward_of(inside())).parameters


def device_of(model: nn.Module) -> torch.device:
    """Return where a model's inputs must be: where accelerate runs it, or else where its weights are.

    Raises:
        UserError: if it has only the shapes of weights.
    """
    hooks = (getattr(module, "_hf_hook", None) for module in model.modules())
    placed = (device for hook in hooks if (device := getattr(hook, "execution_device", None)) is not None)
    device = torch.device(next(placed, next(model.parameters(), torch.empty(0)).device))
    if device.type == "meta":
        raise UserError(
            f"{type(model).__name__} has shapes and no weights (it is on the device 'meta'); load them "
            "first, such as by from_pretrained, and capture that model"
        )
    return device


def as_input(name: str, value: Any, device: torch.device) -> Any:
    """Return an input as a model's forward takes it: numbers as a tensor, with a batch."""
    is_ids = name.endswith(("_ids", "_mask"))
    if isinstance(value, list | tuple | np.ndarray) and (is_ids or name in AXES):
        value = torch.as_tensor(np.asarray(value))
    if not isinstance(value, Tensor):
        return value
    n_axes = 2 if is_ids else AXES.get(name, value.ndim)
    value = value.to(device)
    return value[None] if value.ndim == n_axes - 1 else value  # [batch, ...]


def as_ids(model: nn.Module, ids: Any) -> Tensor:
    """Turn ids, also those of one sentence in a list, into a tensor [batch, position]."""
    device = device_of(model)
    try:
        tensor = torch.as_tensor(ids, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{shown(ids)} are no token ids; give whole numbers, [position], or a text and tokenizer="
        ) from error
    return tensor if tensor.ndim > 1 else tensor[None]
