"""Shape tracer: each step of a function with its line of code, its inputs and its output."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.exercises.instruments.table import Cell, Table

_TORCH = str(Path(torch.__file__).parent)
#: Attributes of a tensor that are a step of their own; all others only tell something about it.
_TURNED = {"T", "mT", "H", "mH"}
_LONGEST_LINE = 64


class Step(NamedTuple):
    """One call of torch.

    Attributes:
        line: the line of code that it is in.
        operation: what torch was asked to do.
        inputs: the shape of each tensor that went in, but for a module's parameters.
        output: the shape of what came out, or the error.
        failed: whether it raised.
    """

    line: str
    operation: str
    inputs: tuple[str, ...]
    output: str
    failed: bool = False


@dataclass(frozen=True, repr=False)
class ShapeTrace(Table):
    """What `trace_shapes` saw.

    Attributes:
        steps: the calls of torch, in their order.
        returned: the shape of what the function gave back; None if it raised.
        error: what it raised, in a line; empty if it did not.
    """

    steps: tuple[Step, ...]
    returned: str | None
    error: str = ""

    def headings(self) -> tuple[str, ...]:
        """Name the columns."""
        return "line", "step", "shapes in", "shape out"

    def rows(self) -> list[list[Cell]]:
        """Return a row for each step; a line of several steps is written once."""
        rows, before = [], ""
        for step in self.steps:
            line = "" if step.line == before else step.line
            rows.append(
                [
                    Cell(line, code=True),
                    Cell(step.operation),
                    Cell("  ".join(step.inputs)),
                    Cell(step.output, alarm=step.failed),
                ]
            )
            before = step.line
        return rows

    def verdict(self) -> str:
        """Say what came back."""
        return f"It stops: {self.error}" if self.error else f"It returns {self.returned}."


def trace_shapes(function: Callable[..., Any], *inputs: Any, **named: Any) -> ShapeTrace:
    """Run a function or a module, and return the shapes at each of its steps.

    An error that it raises is part of the table, so the step before it can be seen.

    Args:
        function: anything that computes with torch.
        inputs: what it is called with.
        named: what it is called with by name.
    """
    with torch.no_grad(), _Watch() as watch:
        try:
            returned = function(*inputs, **named)
        except Exception as error:
            last = next(iter(watch.steps[-1:]), None)
            if last is None or not last.failed:
                watch.steps.append(Step(_line_of(error), "", (), type(error).__name__, True))
            message = str(error).strip().splitlines() or [""]
            return ShapeTrace(tuple(watch.steps), None, f"{type(error).__name__}: {message[0]}")
    return ShapeTrace(tuple(watch.steps), shape_of(returned))


def shape_of(value: Any) -> str:
    """Return the shape of a tensor, or of each in a tuple; of anything else, its kind."""
    if isinstance(value, Tensor):
        kind = {torch.bool: "bool ", torch.int64: "int "}.get(value.dtype, "")
        return f"{kind}{list(value.shape)}"
    if isinstance(value, tuple | list) and any(isinstance(each, Tensor) for each in value):
        return f"a {type(value).__name__} of {' and '.join(map(shape_of, value))}"
    return "None" if value is None else type(value).__name__


class _Watch(TorchFunctionMode):
    """Sees each call of a torch function that Python makes inside a ``with`` block."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        given = _tensors([*args, *named.values()])
        inputs = tuple(shape_of(each) for each in given if not isinstance(each, nn.Parameter))
        try:
            result = func(*args, **named)
        except Exception as error:
            self.steps.append(Step(_line(), _name(func), inputs, type(error).__name__, True))
            raise
        name = _name(func)
        if name and any(True for _ in _tensors([result])):
            self.steps.append(Step(_line(), name, inputs, shape_of(result)))
        return result


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)


def _name(func: Any) -> str:
    """Return what an operation is called; nothing for a look at an attribute."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        attribute = func.__self__.__name__
        return attribute if attribute in _TURNED else ""
    return "[ ]" if name == "__getitem__" else name.strip("_")


def _line() -> str:
    """Return the line of code that asked for the step: the first one outside torch."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_TORCH):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename == __file__:
        return ""  # a module of torch's own, traced as it is
    return _source(frame.f_code.co_filename, frame.f_lineno)


def _line_of(error: Exception) -> str:
    """Return the line of code that an error comes from: the last one outside torch."""
    ours = [
        entry
        for entry in traceback.extract_tb(error.__traceback__)
        if not entry.filename.startswith(_TORCH) and entry.filename != __file__
    ]
    return _source(ours[-1].filename, ours[-1].lineno or 0) if ours else ""


def _source(filename: str, number: int) -> str:
    line = linecache.getline(filename, number).split("#")[0].strip()
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
