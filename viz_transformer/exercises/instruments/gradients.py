"""Gradient check: which parameters of a module can learn, and which cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.exercises.instruments.table import Cell, Table


class Parameter(NamedTuple):
    """One parameter of a module.

    Attributes:
        name: its name in the module.
        shape: its shape.
        gradient: length of its gradient; None if it took no part in the output.
        twin: an earlier parameter that holds the same numbers; empty if none does.
        same: whether the twin is the very same parameter, not a copy.
    """

    name: str
    shape: tuple[int, ...]
    gradient: float | None
    twin: str = ""
    same: bool = False


@dataclass(frozen=True, repr=False)
class Learning(Table):
    """What `who_learns` found.

    Attributes:
        parameters: all of them, in the module's order.
    """

    parameters: tuple[Parameter, ...]

    @property
    def silent(self) -> tuple[str, ...]:
        """The parameters that took no part."""
        return tuple(each.name for each in self.parameters if each.gradient is None)

    @property
    def twins(self) -> tuple[str, ...]:
        """The parameters that hold the numbers of an earlier one."""
        return tuple(each.name for each in self.parameters if each.twin)

    @property
    def finite(self) -> bool:
        """Whether no gradient is infinite or NaN."""
        return all(math.isfinite(each.gradient or 0) for each in self.parameters)

    def headings(self) -> tuple[str, ...]:
        """Name the columns."""
        return "parameter", "shape", "length of its gradient", ""

    def rows(self) -> list[list[Cell]]:
        """Return a row for each parameter."""
        return [
            [
                Cell(each.name, code=True),
                Cell(str(list(each.shape))),
                _gradient(each.gradient),
                _twin(each),
            ]
            for each in self.parameters
        ]

    def verdict(self) -> str:
        """Say whether all of them can learn."""
        told = []
        if self.silent:
            told.append(f"{len(self.silent)} of {len(self.parameters)} took no part in the output")
        if self.twins:
            told.append(f"{len(self.twins)} hold the numbers of another")
        if not self.finite:
            told.append("some gradients are not finite")
        return f"{'; '.join(told)}." if told else "Every parameter took part, each with its own."


def who_learns(module: nn.Module, *inputs: Any, seed: int = 0, **named: Any) -> Learning:
    """Run a module, and ask each of its parameters for its gradient.

    The gradient is that of the output's sum with random signs and sizes. The parameters and
    their own ``.grad`` stay as they are.

    Args:
        module: any module of torch; of a tuple that it returns, the first is taken.
        inputs: what it is called with.
        seed: fixes the random sum.
        named: what it is called with by name.

    Raises:
        UserError: if the module returns no tensor.
    """
    output = module(*inputs, **named)
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor):
        raise UserError(
            f"the module returned {'None' if output is None else type(output).__name__}, but a "
            "gradient needs a tensor; does its forward end with return?"
        )
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(seed))
    every = list(module.named_parameters(remove_duplicate=False))
    of = [parameter for _, parameter in every]
    loss = (output * weights.to(output)).sum()
    gradients: tuple[Tensor | None, ...]
    if loss.requires_grad and of:
        gradients = torch.autograd.grad(loss, of, allow_unused=True)
    else:
        gradients = (None,) * len(of)
    found: list[Parameter] = []
    for place, ((name, parameter), gradient) in enumerate(zip(every, gradients, strict=True)):
        twin = next((each for each in every[:place] if _alike(each[1], parameter)), None)
        found.append(
            Parameter(
                name,
                tuple(parameter.shape),
                None if gradient is None else gradient.norm().item(),
                twin[0] if twin else "",
                twin is not None and twin[1] is parameter,
            )
        )
    return Learning(tuple(found))


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two parameters hold the same numbers, other than by starting as all 0 or all 1."""
    if one is other:
        return True
    constant = one.numel() == 0 or bool((one == one.flatten()[0]).all())
    return not constant and one.shape == other.shape and torch.equal(one, other)


def _gradient(gradient: float | None) -> Cell:
    if gradient is None:
        return Cell("none: took no part", alarm=True)
    return Cell(f"{gradient:.3g}", alarm=not math.isfinite(gradient))


def _twin(each: Parameter) -> Cell:
    if not each.twin:
        return Cell("")
    return Cell(f"{'is' if each.same else 'starts as a copy of'} {each.twin}", alarm=True)
