"""An unchanged run of a model, kept: a run that changes a later part begins with what it had computed.

In a decoder of 30 blocks, a change in the last one leaves 29 as they were; in an encoder–decoder, a change
in the decoder leaves the encoder. Each module that had ended before the changed block began returns what
it returned then, once for each row of a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.tracing.running import evaluating

#: A block ends at the first number in a module's path: ``model.layers.3``.
_BLOCK = re.compile(r"(?:[^.]+\.)*?\d+(?=\.)")
#: What a model returns beside tensors, and is alike in each row.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class UnlikeRowsError(Exception):
    """What a model returns for several rows can't be told apart by rows."""


@dataclass(frozen=True, eq=False)
class _Call:
    """One call of a module: when it began and ended, counted in such moments, and what it returned."""

    begun: int
    ended: int
    output: Any


class KeptRun:
    """An unchanged run, from which runs of many rows begin that change a part of it.

    Attributes:
        output: what the unchanged run returned.
        n_positions: the most positions that a block returned.
    """

    def __init__(self, model: nn.Module, run: Callable[[int], Any], paths: Collection[str]) -> None:
        """Run a model, and keep what its blocks return.

        Args:
            model: the model; it stays as it is.
            run: runs it on so many rows, each of them the same input.
            paths: the modules that will be changed, as `named_modules` names them.
        """
        self._model, self._run = model, run
        blocks = {path: found.group() if (found := _BLOCK.match(path)) else path for path in paths}
        self._watched = _watched_modules(model, set(blocks.values()))
        self.output, self._calls = self._watch(1)
        # A block that is called several times changes from its first call on.
        firsts = {path: self._calls.get(model.get_submodule(block)) for path, block in blocks.items()}
        self._begins = {path: calls[0].begun if calls else 0 for path, calls in firsts.items()}
        last = max(self._begins.values(), default=0)
        self._calls = {
            module: [call for call in calls if call.ended < last] for module, calls in self._calls.items()
        }
        returned = [
            each for calls in self._calls.values() for call in calls for each in tensors_in(call.output)
        ]
        positions = (each.numel() // each.shape[-1] for each in returned if each.numel() and each.ndim)
        self.n_positions = max(positions, default=1)
        self._of_two: tuple[list[torch.Size], dict[nn.Module, list[_Call]]] | None = None

    @contextmanager
    def beginning_at(self, paths: Collection[str], n_rows: int) -> Iterator[None]:
        """Have the one run inside the block compute only what a change in some modules can change.

        Args:
            paths: modules that are changed, of those that were named.
            n_rows: how many rows the run has.

        Raises:
            UnlikeRowsError: if the rows of what a module returns can't be told.
        """
        start = min(self._begins[path] for path in paths)
        with ExitStack() as stack:
            for module, calls in self._calls.items():
                known = [each for each in calls if each.ended < start]
                if known and not any(map(_has_others, (each.output for each in known))):
                    outputs = [self._in_rows(module, i, n_rows) for i in range(len(known))]
                    stack.enter_context(_returning(module, outputs))
            yield

    def rows_of(self, output: Any, n_rows: int) -> list[Any]:
        """Return what each row of a batch would have returned alone; caches and the like are None in it.

        Raises:
            UnlikeRowsError: if the rows can't be told apart.
        """
        found, alone = tensors_in(output), tensors_in(self.output)
        shapes = self._shapes_of_two()[0] if n_rows > 1 else [each.shape for each in alone]
        axes = _row_axes([each.shape for each in alone], shapes)
        if len(found) != len(alone):
            raise UnlikeRowsError
        rows = []
        for row in range(n_rows):
            parts = []
            for tensor, whole, axis in zip(found, alone, axes, strict=True):
                part = (
                    tensor
                    if axis is None
                    else tensor.narrow(axis, row * whole.shape[axis], whole.shape[axis])
                )
                if part.shape != whole.shape:
                    raise UnlikeRowsError
                parts.append(part)
            rows.append(_with_tensors(output, iter(parts)))
        return rows

    def _in_rows(self, module: nn.Module, i: int, n_rows: int) -> Any:
        """Return what the module's call `i` returns for so many rows; its own, which may be written to."""
        output = self._calls[module][i].output
        tensors = tensors_in(output)
        if n_rows == 1:
            return _with_tensors(output, iter([each.clone() for each in tensors]))
        of_two = self._shapes_of_two()[1].get(module, [])
        if i >= len(of_two):
            raise UnlikeRowsError
        axes = _row_axes([each.shape for each in tensors], of_two[i].output)
        repeated = [
            each.clone() if axis is None else torch.cat([each] * n_rows, axis)
            for each, axis in zip(tensors, axes, strict=True)
        ]
        return _with_tensors(output, iter(repeated))

    def _shapes_of_two(self) -> tuple[list[torch.Size], dict[nn.Module, list[_Call]]]:
        """Return the shapes in what a run of two rows returns, and in what its modules return."""
        if self._of_two is None:
            output, calls = self._watch(2)
            self._of_two = [each.shape for each in tensors_in(output)], calls
        return self._of_two

    def _watch(self, n_rows: int) -> tuple[Any, dict[nn.Module, list[_Call]]]:
        """Run the model, and return its output and every call of the watched modules.

        What they return for one row is kept as it was then, for a later block may add to it in place; for
        two rows, only the shapes are.
        """
        calls: dict[nn.Module, list[_Call]] = {}
        begun: list[int] = []
        moment = 0

        def begin(*_: Any) -> None:
            nonlocal moment
            moment += 1
            begun.append(moment)

        def end(module: nn.Module, _: Any, output: Any) -> None:
            nonlocal moment
            moment += 1
            tensors = tensors_in(output)
            kept = (
                _with_tensors(output, iter([each.clone() for each in tensors]), keeps_others=True)
                if n_rows == 1
                else [each.shape for each in tensors]
            )
            calls.setdefault(module, []).append(_Call(begun.pop(), moment, kept))

        with evaluating(self._model), ExitStack() as hooks:
            for module in self._watched:
                hooks.callback(module.register_forward_pre_hook(begin).remove)
                hooks.callback(module.register_forward_hook(end).remove)
            return self._run(n_rows), calls


def _watched_modules(model: nn.Module, blocks: Collection[str]) -> list[nn.Module]:
    """Return the blocks, what holds them but the model itself, and what stands beside these."""
    holders = {"", *(path[:end] for path in blocks for end in range(len(path)) if path[end] == ".")}
    return [module for path, module in model.named_modules() if path and path.rpartition(".")[0] in holders]


@contextmanager
def _returning(module: nn.Module, outputs: Sequence[Any]) -> Iterator[None]:
    """Have the first calls of a module return what is given; it then computes the others itself."""
    own, left = module.__dict__.get("forward"), iter(outputs)
    forward, nothing = module.forward, object()

    def returned(*args: Any, **named: Any) -> Any:
        output = next(left, nothing)
        return forward(*args, **named) if output is nothing else output

    module.forward = returned
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own


def _row_axes(alone: Sequence[torch.Size], of_two: Sequence[torch.Size]) -> list[int | None]:
    """Return along which axis the rows stand in each tensor, from its shapes for one row and for two.

    None where the shape is the same.

    Raises:
        UnlikeRowsError: if it can't be told.
    """
    axes: list[int | None] = []
    if len(alone) != len(of_two):
        raise UnlikeRowsError
    for one, two in zip(alone, of_two, strict=True):
        unlike = [axis for axis, (a, b) in enumerate(zip(one, two, strict=False)) if a != b]
        if len(one) != len(two) or len(unlike) > 1 or any(two[axis] != 2 * one[axis] for axis in unlike):
            raise UnlikeRowsError
        axes.append(unlike[0] if unlike else None)
    return axes


def tensors_in(output: Any) -> list[Tensor]:
    """Return the tensors in what a module returns, in order."""
    if isinstance(output, Tensor):
        return [output]
    return [tensor for part in _parts_of(output) or () for tensor in tensors_in(part)]


def _parts_of(output: Any) -> list[Any] | None:
    """Return what stands in a container; None if it is none, or not one that can be made again."""
    if isinstance(output, dict):
        return list(output.values())
    if isinstance(output, tuple | list):
        return list(output)
    if is_dataclass(output) and not isinstance(output, type):
        return [getattr(output, each.name) for each in fields(output) if each.init]
    return None


def _has_others(output: Any) -> bool:
    """Tell whether something in it is neither a tensor nor alike in all rows, such as a cache."""
    if isinstance(output, (Tensor, *_PLAIN)):
        return False
    parts = _parts_of(output)
    return parts is None or any(map(_has_others, parts))


def _with_tensors(output: Any, tensors: Iterator[Tensor], *, keeps_others: bool = False) -> Any:
    """Return a container like this one, with other tensors; of the rest, numbers and words stay."""
    if isinstance(output, Tensor):
        return next(tensors)
    parts = _parts_of(output)
    if parts is None:
        return output if keeps_others or isinstance(output, _PLAIN) else None
    made = [_with_tensors(part, tensors, keeps_others=keeps_others) for part in parts]
    if isinstance(output, dict):
        named = dict(zip(output, made, strict=True))
        return named if type(output) is dict else type(output)(**named)
    if isinstance(output, tuple | list):
        return type(output)(*made) if hasattr(output, "_fields") else type(output)(made)
    names = [each.name for each in fields(output) if each.init]
    return replace(output, **dict(zip(names, made, strict=True)))
