"""Torch's optimisers without torch's compiler, until something is compiled.

Adam's `step` and four methods of every optimiser import `torch._dynamo` only to tell it that they are
not to be compiled. That takes 2.4 seconds of a processor and 70 MiB, in every kernel of a class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.optim import Adam, AdamW, Optimizer

Method = Callable[..., Any]


def spare_the_compiler() -> None:
    """Let optimisers of this process do without the compiler, as long as nothing else loads it.

    A torch whose methods are written in another way is left as it is.
    """
    for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
        method = getattr(Optimizer, name)
        setattr(Optimizer, name, _spared(method, getattr(method, "__wrapped__", method)))
    for kind in (Adam, AdamW):
        step: Any = vars(kind).get("step")  # AdamW may have Adam's
        if hasattr(step, "__wrapped__"):
            kind.step = _spared(step, _in_its_mode(step.__wrapped__))  # type: ignore[method-assign]


def _spared(method: Method, plain: Method) -> Method:
    """Return a method of torch's that is its plain self until the compiler is there."""

    @wraps(method)
    def spared(*arguments: Any, **options: Any) -> Any:
        is_loaded = "torch._dynamo" in sys.modules
        return (method if is_loaded else plain)(*arguments, **options)

    return spared


def _in_its_mode(step: Method) -> Method:
    """Return a step that records gradients only where its optimiser can be differentiated."""

    def plain(self: Optimizer, *arguments: Any, **options: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *arguments, **options)

    return plain
