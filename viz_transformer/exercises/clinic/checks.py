"""Inputs for the hidden tests, and the checks that several of them make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from viz_transformer.exercises.instruments import leak_meter

_Module = TypeVar("_Module", bound=nn.Module)
CLOSE = 1e-4  # float32 rounding, and some room for sums in another order


def random_vectors(*shape: int, seed: int = 0) -> Tensor:
    """Return random numbers from N(0, 1)."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed))


def build_module(make: Callable[..., _Module], *arguments: Any, **named: Any) -> _Module:
    """Build a module, the same each time, without dropout, and without moving torch's own seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **named).eval()


def is_close(one: Any, other: Tensor) -> bool:
    """Whether something is a tensor of that shape and those numbers."""
    return (
        isinstance(one, Tensor)
        and one.shape == other.shape
        and torch.allclose(one, other, rtol=CLOSE, atol=CLOSE)
    )


def runs(function: Callable[..., Any], *inputs: Any) -> bool:
    """Whether a call returns without an exception."""
    try:
        function(*inputs)
    except Exception:
        return False
    return True


def no_leak(function: Callable[[Tensor], Any], x: Tensor, between: str = "positions") -> bool:
    """Whether no output moves that must stay; see `leak_meter`."""
    return not leak_meter(function, x, between=between).leaks.any()
