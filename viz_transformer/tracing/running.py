"""Context managers that run a model and leave it exactly as it was."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError

_CONTAINERS = (dict, OrderedDict, list, set)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Run what torch.compile made as it was written: compiled code does not call hooks put on later."""
    is_needed = "torch._dynamo" in sys.modules  # else nothing is compiled
    # Torch 2.5 cannot do it, and does not say whether anything is compiled.
    can = is_needed and hasattr(torch.compiler, "set_stance")
    with torch.compiler.set_stance("force_eager") if can else nullcontext():
        yield


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a model in evaluation mode and without gradients, then restore it.

    Dropout would remove weights at random, and their rows would no longer sum to 1. Restored are
    each module's own training flag (a part may be frozen while the whole trains), and whatever
    else a forward may leave in a module: Hugging Face registers hooks on the layers whose
    attention is requested, and a model of your own may keep its last weights or count its calls.
    """
    before = [(each, _snapshot(vars(each)), each.training) for each in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with torch.no_grad(), uncompiled():
        try:
            for module, _, _ in before:
                module.training = False
            yield
        finally:
            for module, snapshot, training in before:
                _restore(vars(module), snapshot)
                module.training = training  # a scripted module keeps it elsewhere
            for buffer, values in buffers:
                buffer.copy_(values)


@contextmanager
def attention_implementation(model: nn.Module, implementation: str) -> Iterator[None]:
    """Switch the Hugging Face models in a module to one attention implementation, then restore it.

    Args:
        model: such a model, or a module that holds one.
        implementation: ``"eager"``, the only one with which a model returns its weights; or
            ``"sdpa"``, torch's own function.
    """
    configs: dict[int, Any] = {}
    for module in model.modules():
        _collect_configs(getattr(module, "config", None), configs)
    before = [(config, _snapshot(vars(config))) for config in configs.values()]
    try:
        for config in configs.values():
            # Falcon's eager attention adds its ALiBi twice; sdpa, with which it runs, adds it once.
            config._attn_implementation = "sdpa" if getattr(config, "alibi", False) else implementation
        yield
    finally:
        for config, snapshot in before:
            _restore(vars(config), snapshot)


def _collect_configs(config: Any, configs: dict[int, Any]) -> None:
    """Collect a configuration and those nested in it, such as that of a larger model's text part."""
    if hasattr(config, "_attn_implementation") and id(config) not in configs:
        configs[id(config)] = config
        for nested in vars(config).values():
            _collect_configs(nested, configs)


def _snapshot(attributes: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Record every attribute, and the content of each container."""
    return {
        name: (value, value.copy() if type(value) in _CONTAINERS else None)
        for name, value in attributes.items()
    }


def _restore(attributes: dict[str, Any], snapshot: dict[str, tuple[Any, Any]]) -> None:
    attributes.clear()
    for name, (value, content) in snapshot.items():
        attributes[name] = value
        if content is not None and type(value) is list:
            value[:] = content
        elif content is not None:
            value.clear()
            value.update(content)


def random_state(device: torch.device) -> tuple[Tensor, ...]:
    """Return from where random numbers are drawn: on the processor, and on a CUDA device."""
    states = (torch.random.get_rng_state(),)
    return (*states, torch.cuda.get_rng_state(device)) if device.type == "cuda" else states


@contextmanager
def drawing_from(states: tuple[Tensor, ...], device: torch.device) -> Iterator[None]:
    """Draw the random numbers that followed a `random_state`, then go on as before."""
    before = random_state(device)
    try:
        _set_random_state(states, device)
        yield
    finally:
        _set_random_state(before, device)


def _set_random_state(states: tuple[Tensor, ...], device: torch.device) -> None:
    torch.random.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)


@contextmanager
def within_sizes(model: Any, *read: Any) -> Iterator[None]:
    """Say which size of a model was passed, where torch only says that an index is out of range.

    Args:
        model: what runs inside the ``with`` block.
        read: the token ids that it reads, each [batch, position]; what is none is not looked at.

    Raises:
        UserError: if an id is beyond the vocabulary, or a text is longer than the model's positions.
    """
    try:
        yield
    except (IndexError, RuntimeError) as error:
        message = _too_large(
            model, [each for each in read if isinstance(each, Tensor) and each.ndim == 2], error
        )
        if message is None:
            raise
        raise UserError(message) from error


def _too_large(model: Any, read: list[Tensor], error: Exception) -> str | None:
    """Return which size the error is about, if it is about one."""
    name, is_index = type(model).__name__, "index out of range in self" in str(error)
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    n_tokens = getattr(embeddings, "num_embeddings", None)
    room = n_positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if room is not None:
        positions = [module for path, module in model.named_modules() if "position" in path]
        padding = [each.padding_idx for each in positions if getattr(each, "padding_idx", None) is not None]
        room -= max(padding, default=-1) + 1  # RoBERTa counts positions from behind the number of padding
    for ids in read:
        if is_index and n_tokens is not None and ids.numel():
            wrong = [i for i in (int(ids.min()), int(ids.max())) if not 0 <= i < n_tokens]
            if wrong:
                return (
                    f"the ids hold {wrong[-1]}, and {name} knows {n_tokens} tokens; give ids from 0 to "
                    f"{n_tokens - 1}, made by its own tokenizer"
                )
        if room is not None and ids.shape[1] > room and (is_index or str(n_positions) in str(error)):
            return f"the text has {ids.shape[1]} tokens, and {name} reads at most {room}; give a shorter text"
    if room is None or not is_index:
        return None
    return f"{name} has room for {room} tokens, read and written; give a shorter text, or write less"
