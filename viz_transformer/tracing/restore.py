"""Leaving a model exactly as it was."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

_CONTAINERS = (dict, OrderedDict, list, set)


@contextmanager
def looked_at(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout and without gradients, and put everything back behind it.

    Dropout would take away weights at random, and their rows would no longer sum to 1. Put back
    are each module's own training flag (a part may be frozen while the whole trains), and what
    else a forward may leave behind in a module: Hugging Face's hangs hooks on the layers whose
    attention is asked for, and somebody's own may keep its last weights or count its calls.
    """
    before = [(each, _contents(vars(each)), each.training) for each in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with torch.no_grad():
        try:
            for module, _, _ in before:
                module.training = False
            yield
        finally:
            for module, contents, training in before:
                _put_back(vars(module), contents)
                module.training = training  # a scripted module keeps it elsewhere
            for buffer, values in buffers:
                buffer.copy_(values)


@contextmanager
def attention_by(model: nn.Module, implementation: str) -> Iterator[None]:
    """Let the Hugging Face models in a module compute attention in one way; put it back.

    Args:
        model: such a model, or a module that holds one.
        implementation: ``"eager"``, step by step: a model returns its weights on no other way,
            asked for at the call or not; or ``"sdpa"``, torch's own function.
    """
    configs: dict[int, Any] = {}
    for module in model.modules():
        _collect(getattr(module, "config", None), configs)
    before = [(config, _contents(vars(config))) for config in configs.values()]
    try:
        for config in configs.values():
            config._attn_implementation = implementation
        yield
    finally:
        for config, contents in before:
            _put_back(vars(config), contents)


def _collect(config: Any, configs: dict[int, Any]) -> None:
    """Find a configuration and those nested in it, such as the text part of a larger model's."""
    if hasattr(config, "_attn_implementation") and id(config) not in configs:
        configs[id(config)] = config
        for nested in vars(config).values():
            _collect(nested, configs)


def _contents(attributes: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Note every attribute, and of a container also what it holds."""
    return {
        name: (value, copy.copy(value) if type(value) in _CONTAINERS else None)
        for name, value in attributes.items()
    }


def _put_back(attributes: dict[str, Any], contents: dict[str, tuple[Any, Any]]) -> None:
    attributes.clear()
    for name, (value, held) in contents.items():
        attributes[name] = value
        if held is not None and type(value) is list:
            value[:] = held
        elif held is not None:
            value.clear()
            value.update(held)
