"""The answer type for a class of torch modules, compared with a reference on the same parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.exercises.answer_types import Function
from viz_transformer.exercises.comparison import (
    UnusableError,
    all_close,
    describe_difference,
    describe_type,
    first_line,
)
from viz_transformer.exercises.feedback import Check, unanswered
from viz_transformer.exercises.forbidden import forbidden_name
from viz_transformer.exercises.sandbox import NO_END, TOO_LARGE, call_each

_N_DRAWS = 5


class _UnlikeError(Exception):
    """A class that cannot take the reference's parameters; the message says why."""


@dataclass(frozen=True)
class ModuleClass(Function):
    """Asks for a subclass of ``nn.Module``, whose results are compared with a reference's on its parameters.

    Attributes:
        reference: a correct class; an answer has parameters of the same names and shapes.
        inputs: draws from a random generator the arguments of ``__init__``, and those of ``forward``.
    """

    reference: Callable[..., Any]
    inputs: Callable[[np.random.Generator], tuple[tuple[Any, ...], tuple[Any, ...]]]

    def check(self, answer: Any) -> Check:
        """Compare with the reference, then with the likely wrong classes."""
        name = self.reference.__name__
        if isinstance(answer, nn.Module):
            raise UnusableError("Give the class itself, without making a module of it.")
        if not isinstance(answer, type):
            given = "a function" if callable(answer) else describe_type(answer)
            raise UnusableError(f"Give a class; this is {given}.")
        if not issubclass(answer, nn.Module):
            return Check(False, f"It is not a module of torch: begin it with class {name}(nn.Module).")
        rng = np.random.default_rng(0)
        draws = [self._draw(rng) for _ in range(_N_DRAWS)]
        found = call_each(_results(answer), draws)
        wanted = call_each(_results(self.reference), draws)
        if found and found[0] is ...:
            return unanswered("forward still returns the three dots: write what it should do.")
        if found and isinstance(found[0], _UnlikeError):
            return Check(False, str(found[0]))
        if used := forbidden_name(answer, self.forbidden):
            return Check(False, self.forbidden[used])
        if self._agree(found, wanted):
            return Check(True, self.right)
        for mistake in self.mistakes:
            if self._agree(found, call_each(_results(mistake.answer), draws)):
                return Check(False, mistake.message)
        return Check(False, self._first_difference(draws, found, wanted))

    def _draw(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the arguments of both calls, the reference's parameters, and what each begins with."""
        sizes, given = self.inputs(rng)
        start = dict(self.reference(*sizes).named_parameters())
        drawn = {name: torch.from_numpy(rng.normal(size=each.shape)).to(each) for name, each in start.items()}
        return sizes, given, drawn, {name: each.detach() for name, each in start.items()}

    def _first_difference(self, draws: list[Any], found: list[Any], wanted: list[Any]) -> str:
        pairs = enumerate(zip(found, wanted, strict=False))
        at = next(number for number, both in pairs if not all_close(*both, self.tolerance))
        if isinstance(found[at], TimeoutError):
            return NO_END
        if isinstance(found[at], MemoryError):
            return TOO_LARGE
        called = f"{self.reference.__name__}({', '.join(map(str, draws[at][0]))})"
        if isinstance(found[at], _UnlikeError):
            return str(found[at])
        return describe_difference(f"{called}.forward", found[at], wanted[at], self.tolerance)


def _results(cls: Any) -> Callable[..., Any]:
    """Return a function that makes a module, gives it parameters, and calls it."""

    def result(
        sizes: tuple[Any, ...], given: tuple[Any, ...], drawn: dict[str, Tensor], start: dict[str, Tensor]
    ) -> Any:
        try:
            module = cls(*sizes)
        except Exception as error:
            raise _UnlikeError(_why_not_made(cls, sizes, error)) from error
        _check_parameters(module, start)
        module.load_state_dict(drawn, strict=False)
        with torch.no_grad():
            return module.eval()(*given)

    return result


def _why_not_made(cls: type, sizes: tuple[Any, ...], error: Exception) -> str:
    if "before Module.__init__() call" in str(error):
        return "Begin __init__ with super().__init__(): a module of torch needs it before it can hold others."
    called = f"{cls.__name__}({', '.join(map(str, sizes))})"
    return f"{called} raised {type(error).__name__}: {first_line(error)}."


def _check_parameters(module: nn.Module, wanted: dict[str, Tensor]) -> None:
    """Raise an error that says which parameters a module lacks, has beyond, or begins with other values."""
    found = dict(module.named_parameters())
    missing = [name for name in wanted if name not in found]
    beyond = [name for name in found if name not in wanted]
    if missing:
        raise _UnlikeError(_what_is_missing(module, missing, beyond))
    if beyond:
        raise _UnlikeError(f"It has parameters that it should not have: {_listed(beyond)}.")
    for name, value in wanted.items():
        shape, right = tuple(found[name].shape), tuple(value.shape)
        if shape != right:
            raise _UnlikeError(f"{name} has the shape {shape}; it should be {right}.")
        first = value.flatten()[0]
        if torch.all(value == first) and not torch.allclose(found[name].detach().to(value), value):
            raise _UnlikeError(f"Every number of {name} should be {first.item():g} before training.")


def _what_is_missing(module: nn.Module, missing: list[str], beyond: list[str]) -> str:
    for name in missing:
        top = name.partition(".")[0]
        value = getattr(module, top, None)
        if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
            return f"{top} is a plain tensor, which is not trained. Make it an nn.Parameter."
        if isinstance(value, list | tuple):
            return f"{top} is a plain {type(value).__name__}, which hides its parameters. Use nn.ModuleList."
    if beyond:
        return f"It has the parameters {_listed(beyond)}; here they should be called {_listed(missing)}."
    attribute = missing[0].partition(".")[0]
    return f"It has no parameter {_listed(missing)}: set it in __init__, as self.{attribute}."


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
