"""Leak meter: change one word, and see which outputs move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.exercises.instruments.table import Cell, Table

#: What float32 rounding may move an output by.
UNMOVED = 1e-5
BETWEEN = ("positions", "sentences")
_FAR = 5_318_008


@dataclass(frozen=True, repr=False)
class Leaks(Table):
    """What `leak_meter` measured.

    Attributes:
        changes: [edited, output], the largest change of a number of that output.
        names: what is edited, and what comes out: the words, or the sentences.
        between: ``"positions"`` or ``"sentences"``.
    """

    changes: NDArray[np.float32]
    names: tuple[str, ...]
    between: str

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """[edited, output]: whether this output may move if that is edited.

        A position may move those after it; a sentence may move itself alone.
        """
        places = np.arange(len(self.names))
        if self.between == "sentences":
            return places[:, None] == places
        return places[:, None] <= places

    @property
    def moved(self) -> NDArray[np.bool_]:
        """[edited, output]: whether the output moved at all; one that is NaN did."""
        return ~(self.changes <= UNMOVED)

    @property
    def leaks(self) -> NDArray[np.bool_]:
        """[edited, output]: whether it moved and should not have."""
        return self.moved & ~self.allowed

    def headings(self) -> list[str]:
        """Name the outputs."""
        return ["changed ↓   output →", *self.names]

    def rows(self) -> list[list[Cell]]:
        """Return a row for each word or sentence that was changed."""
        return [
            [Cell(name), *map(_cell, changes, moved, leaks)]
            for name, changes, moved, leaks in zip(
                self.names, self.changes, self.moved, self.leaks, strict=True
            )
        ]

    def verdict(self) -> str:
        """Count the leaks."""
        n_leaks, n_watched = int(self.leaks.sum()), int((~self.allowed).sum())
        where = "the future" if self.between == "positions" else "another sentence"
        if not n_leaks:
            return f"No leak from {where}: none of {n_watched} outputs moved."
        return f"{n_leaks} of {n_watched} outputs moved that must not know {where}."


def leak_meter(
    model: Callable[[Tensor], Any],
    x: Tensor,
    names: Sequence[str] | None = None,
    *,
    between: str = "positions",
    seed: int = 0,
) -> Leaks:
    """Change each word in turn, and measure how far each output moves.

    Args:
        model: a function or a module, from x to an output [batch, position, …]; of a tuple, the
            first is taken. It must not draw at random: put a module in eval mode.
        x: vectors [batch, position, feature], or ids [batch, position].
        names: what to call the positions (or sentences); by default their numbers.
        between: ``"positions"``: of a decoder, none may move an earlier one. ``"sentences"``: none
            may move another of its batch.
        seed: fixes what is put in the place of a word.

    Raises:
        UserError: if x, the output or the names do not fit.
    """
    if between not in BETWEEN:
        raise UserError(f"between={between!r} is none of {list(BETWEEN)}")
    if not isinstance(x, Tensor) or x.ndim < 2:
        raise UserError(
            "the leak meter needs a batch: vectors [batch, position, feature], or ids "
            f"[batch, position]; this is {getattr(x, 'shape', type(x).__name__)}"
        )
    axis = BETWEEN.index(between) ^ 1  # positions are axis 1, sentences axis 0
    n_edited = x.shape[axis]
    names = tuple(map(str, range(n_edited) if names is None else names))
    if len(names) != n_edited:
        raise UserError(f"{len(names)} names do not fit {n_edited} {between}; give one for each")
    others = _others(x, seed)
    changes = np.zeros((n_edited, n_edited), np.float32)
    with torch.no_grad():
        before = _output(model, x)
        for place in range(n_edited):
            edited = x.clone()
            edited.select(axis, place).copy_(others.select(axis, place))
            change = (_output(model, edited) - before).abs()  # [batch, position, …]
            changes[place] = change.transpose(0, axis).flatten(1).amax(1).numpy()
    return Leaks(changes, names, between)


def _others(x: Tensor, seed: int) -> Tensor:
    """Return something else for every place of x."""
    if x.is_floating_point():
        # Far from the seeds that a learner gives: with theirs, the other would be x itself.
        generator = torch.Generator().manual_seed(_FAR + seed)
        return torch.randn(x.shape, generator=generator).to(x)
    known = x.unique()  # in their order; each id gives way to the next one
    return known[(torch.searchsorted(known, x) + 1) % len(known)]


def _output(model: Callable[[Tensor], Any], x: Tensor) -> Tensor:
    output = model(x)
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor) or output.shape[:2] != x.shape[:2]:
        shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise UserError(
            f"the model gave {shape} for an input {list(x.shape)}, but the leak meter compares "
            "outputs [batch, position, …] with as many sentences and positions"
        )
    return output.float()


def _cell(change: float, moved: bool, leak: bool) -> Cell:
    number = "NaN" if np.isnan(change) else short_number(change, 1) if change < 0.005 else f"{change:.2f}"
    text = number if moved else "0"
    return Cell(f"{text} leak" if leak else text, alarm=bool(leak))
