"""jaxtyping's check of shapes, made once for all calls that are alike.

A check takes ten times as long as the addition that it checks, and its verdict depends only on the
shapes and types that go in and come out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import jaxtyping
from numpy import ndarray
from torch import Tensor
from torch.nn import Module

_checking = jaxtyping.jaxtyped


def once_for_calls_alike(*, typechecker: Callable) -> Callable:
    """Return jaxtyping's own decorator, for a function or a class, that remembers what passed."""

    def decorate(made: Any) -> Any:
        if not isinstance(made, FunctionType):
            return _checking(made, typechecker=typechecker)
        known: list[Any] = []  # a result to be checked, in place of a call

        def made_or_known(*args: Any, **kwargs: Any) -> Any:
            return known.pop() if known else made(*args, **kwargs)

        # The names in its annotations are looked up where it was written.
        here = FunctionType(made_or_known.__code__, made.__globals__, closure=made_or_known.__closure__)
        checked = _checking(functools.wraps(made)(here), typechecker=typechecker)
        passed: dict[Any, set[Any]] = {}  # the kinds of results, by the kinds of arguments

        @functools.wraps(made)
        def call(*args: Any, **kwargs: Any) -> Any:
            if jaxtyping.config.jaxtyping_disable:
                return made(*args, **kwargs)
            given = _kinds(args), _kinds(kwargs.values()), *kwargs
            if given not in passed:
                result = checked(*args, **kwargs)
                passed[given] = {_kind(result)}
                return result
            result = made(*args, **kwargs)
            if (kind := _kind(result)) not in passed[given]:
                known.append(result)
                checked(*args, **kwargs)
                passed[given].add(kind)
            return result

        return call

    return decorate


def _kinds(values: Iterable[Any]) -> tuple[Any, ...]:
    """All of some arguments that a check of shapes can depend on, such as ``"batch {self.n_heads}"``."""
    return tuple(
        value
        if isinstance(value, int | str)
        else (type(value), *(one for one in vars(value).values() if isinstance(one, int)))
        if isinstance(value, Module)
        else _kind(value)
        for value in values
    )


def _kind(value: Any) -> Any:
    """The shape and type of a tensor, or of those that a tuple holds; of anything else its type."""
    if isinstance(value, Tensor | ndarray):
        return type(value), value.shape, value.dtype
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_kind, value))
    return type(value)
