"""Many changed runs of a model in few: each change in a row of a batch, from the first block that it changes.

In a decoder of 30 blocks, a change in the last one leaves 29 as they were; in an encoder–decoder, a change
in the decoder leaves the encoder. Each module that had ended before the changed block began returns what
it returned in the unchanged run, once for each row of the batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer._work import between_parts
from viz_transformer.capturing.running import evaluating
from viz_transformer.interpreting.heads import Rewrite, interventions, rewritten, site_of
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.model.interventions import HeadChange

#: So many positions at most are in one batch of changes: a layer's numbers then still fit a cache.
MOST_POSITIONS = 512
#: A batch's output takes at most so much memory.
_MOST_BYTES = 2**28
#: Sums in another order differ by so much of the largest number, in 32 bits or more and in fewer.
_TOLERANCE, _TOLERANCE_16_BITS = 5e-5, 0.05
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
        kept = [call.output for calls in self._calls.values() for call in calls]
        returned = tensors_in(kept)
        positions = (each.numel() // each.shape[-1] for each in returned if each.numel() and each.ndim)
        self.n_positions = max(positions, default=1)

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
                    stack.enter_context(returning(module, outputs))
            yield

    def rows_of(self, output: Any, n_rows: int) -> list[Any]:
        """Return what each row of a batch would have returned alone; caches and the like are None in it.

        Raises:
            UnlikeRowsError: if the rows can't be told apart.
        """
        found, alone = tensors_in(output), tensors_in(self.output)
        of_one = [each.shape for each in alone]
        axes = _row_axes(of_one, self._of_two[0] if n_rows > 1 else of_one)
        if len(found) != len(alone):
            raise UnlikeRowsError
        rows = []
        for row in range(n_rows):
            parts = []
            for tensor, whole, axis in zip(found, alone, axes, strict=True):
                part = tensor
                if axis is not None:
                    part = tensor.narrow(axis, row * whole.shape[axis], whole.shape[axis])
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
        of_two = self._of_two[1].get(module, [])
        if i >= len(of_two):
            raise UnlikeRowsError
        axes = _row_axes([each.shape for each in tensors], of_two[i].output)
        repeated = [
            each.clone() if axis is None else torch.cat([each] * n_rows, axis)
            for each, axis in zip(tensors, axes, strict=True)
        ]
        return _with_tensors(output, iter(repeated))

    @cached_property
    def _of_two(self) -> tuple[list[torch.Size], dict[nn.Module, list[_Call]]]:
        """The shapes in what a run of two rows returns, and in what its modules return."""
        output, calls = self._watch(2)
        return [each.shape for each in tensors_in(output)], calls

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
                hooks.enter_context(module.register_forward_pre_hook(begin))
                hooks.enter_context(module.register_forward_hook(end))
            return self._run(n_rows), calls


def _watched_modules(model: nn.Module, blocks: Collection[str]) -> list[nn.Module]:
    """Return the blocks, what holds them but the model itself, and what is beside these."""
    holders = {"", *(path[:end] for path in blocks for end in range(len(path)) if path[end] == ".")}
    return [module for path, module in model.named_modules() if path and path.rpartition(".")[0] in holders]


@contextmanager
def returning(module: nn.Module, outputs: Iterable[Any]) -> Iterator[None]:
    """Have the first calls of a module return what is given; it then computes the others itself."""
    own, left, none = vars(module).get("forward"), iter(outputs), object()
    forward = module.forward

    def returned(*args: Any, **named: Any) -> Any:
        output = next(left, none)
        return forward(*args, **named) if output is none else output

    module.forward = returned
    try:
        yield
    finally:
        del module.forward
        if own is not None:  # others may have put one there, as accelerate does
            module.forward = own


def _row_axes(alone: Sequence[torch.Size], of_two: Sequence[torch.Size]) -> list[int | None]:
    """Return each tensor's axis of rows, from its shapes for one row and two; None where they are alike."""
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
    """Return what a container holds; None if it is none, or not one that can be made again."""
    if isinstance(output, dict):
        return list(output.values())
    if isinstance(output, tuple | list):
        return list(output)
    if is_dataclass(output) and not isinstance(output, type):
        return [getattr(output, each.name) for each in fields(output) if each.init]
    return None


def _has_others(output: Any) -> bool:
    """Return whether something in it is neither a tensor nor alike in all rows, such as a cache."""
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


class BatchedRuns:
    """Runs of a model with one change in each, as many in a batch as it can, and the output of each.

    Whether the rows of a batch are what the model makes of each alone is tried: the last head of the first
    batch and of the last layer of each kind is run alone too. If they differ, or a batch fails, changes are
    run one by one from the block that they change, and if that differs too, wholly.

    Attributes:
        whole: what the unchanged model returns.
    """

    def __init__(self, model: nn.Module, run: Callable[[int], Any]) -> None:
        """Run the unchanged model.

        Args:
            model: a torch module whose attention `find_sites` finds; it stays as it is.
            run: runs it on so many rows, each of them the same input.
        """
        self._model, self._run = model, run
        self._sites = find_sites(model)
        self._last = {site.kind: site.layer for site in self._sites}
        self._tried: set[tuple[str, bool]] = set()
        self._kept: KeptRun | None = None
        self._size = 1
        try:
            self._kept = KeptRun(model, run, [site.name for site in self._sites])
        except Exception:  # the model's own error comes again, if it has one
            self.whole = self._alone()
        else:
            self.whole = self._kept.output
            n_bytes = max(1, sum(each.nbytes for each in tensors_in(self.whole)))
            self._size = max(1, min(MOST_POSITIONS // self._kept.n_positions, _MOST_BYTES // n_bytes))

    def outputs(self, changes: Sequence[HeadChange]) -> Iterator[Any]:
        """Yield what the model returns under each change; the one that is read must not be needed later.

        Raises:
            UserError: if the model has no such head.
        """
        done = 0
        while done < len(changes):
            batch = changes[done : done + self._size]
            between_parts(f"Changing head {done + 1} of {len(changes)}")
            yield from self._batch(batch)
            done += len(batch)

    def alone(self, change: HeadChange) -> Any:
        """Return what the model returns under a change, in a whole run of its own; so are those after it."""
        self._kept, self._size = None, 1
        return self._alone(change)

    def _batch(self, changes: Sequence[HeadChange]) -> Sequence[Any]:
        if self._kept is None:
            return [self._alone(change) for change in changes]
        try:
            with evaluating(self._model):
                rows = self._together(self._kept, changes)
            last = changes[-1]
            stage = (last.kind, last.layer == self._last[last.kind])
            if stage in self._tried or agree(rows[-1], self._alone(last)):
                self._tried.add(stage)
                return rows
        except Exception:
            site_of(self._sites, changes[-1])  # the only error of ours that a run alone would not raise again
        if self._size > 1:
            self._size = 1
            self._tried.clear()
        else:
            self._kept = None
        return [row for change in changes for row in self._batch([change])]

    def _together(self, kept: KeptRun, changes: Sequence[HeadChange]) -> Sequence[Any]:
        paths = {site_of(self._sites, change).name for change in changes}
        with kept.beginning_at(paths, len(changes)), scaled_by_row(self._model, changes):
            return kept.rows_of(self._run(len(changes)), len(changes))

    def _alone(self, *changes: HeadChange) -> Any:
        with interventions(self._model, changes), evaluating(self._model):
            return self._run(1)


def agree(output: Any, alone: Any) -> bool:
    """Return whether two outputs hold the same numbers, but for the order of their sums."""
    found, expected = tensors_in(output), tensors_in(alone)
    return len(found) == len(expected) and all(map(_close, found, expected))


def _close(found: Tensor, expected: Tensor) -> bool:
    if found.shape != expected.shape or not expected.numel():
        return found.shape == expected.shape
    if not expected.is_floating_point():
        return bool((found == expected).all())
    tolerance = _TOLERANCE if expected.element_size() >= 4 else _TOLERANCE_16_BITS
    finite = expected.isfinite()
    size = expected[finite].abs().max() if finite.any() else expected.new_zeros(())
    return torch.allclose(found, expected, rtol=0, atol=tolerance * float(size), equal_nan=True)


@contextmanager
def scaled_by_row(model: nn.Module, changes: Sequence[HeadChange]) -> Iterator[None]:
    """Scale one head in each row of a batch, in every forward inside the block.

    One run of a batch takes far less time than as many runs of one sentence.

    >>> import viz_transformer as vt
    >>> from viz_transformer.interpreting import scaled_by_row
    >>> changes = [vt.HeadChange("encoder", layer=0, head=head, factor=0) for head in range(4)]
    >>> model = vt.load_translator().model
    >>> with scaled_by_row(model, changes):
    ...     pass  # a batch of four rows, each without another head

    Args:
        model: a torch module whose attention `find_sites` finds.
        changes: one for each row; only their factors count.

    Raises:
        UserError: if the heads can't be found, or the model has no such head.
    """
    sites = find_sites(model)
    factors: dict[AttentionSite, Tensor] = {}
    for row, change in enumerate(changes):
        site = site_of(sites, change)
        of_site = factors.setdefault(site, torch.ones(len(changes), 1, site.n_heads, 1))
        of_site[row, 0, change.head, 0] = change.factor
    with rewritten([(site, _scale(of_site)) for site, of_site in factors.items()]):
        yield


def _scale(factors: Tensor) -> Rewrite:
    def scale(heads: Tensor) -> Tensor:  # [batch, position, head, d_head]
        # An input may have several rows itself, or a model cut each into windows.
        return heads * factors.to(heads).repeat_interleave(len(heads) // len(factors), 0)

    return scale
