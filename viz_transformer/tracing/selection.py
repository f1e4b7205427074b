"""The part of a model's attention that a trace keeps: which sentence, layers and heads, and how exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import LAYERS
from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array

_DTYPES = ("float32", "float16")
#: How far a row may be from a sum of 1: bfloat16 rounds each weight by up to 0.4%.
TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is kept of the attention weights.

    Attributes:
        layers: the model's own numbers of the layers, in order; None keeps all.
        heads: the model's own numbers of the heads, in order; None keeps all.
        dtype: ``"float32"`` or ``"float16"``.
        run: which run, of modules that run several times in one forward; None takes the first whose
            positions the labels name.
        group: which group, of layers that attend inside groups of positions (rows, windows, frames).
        normalised: whether rows must be shares that sum to 1.
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    dtype: str = "float32"
    run: int | None = None
    group: int | None = None
    normalised: bool = True

    def keeps(self, layer: int) -> bool:
        """Return whether a layer is kept."""
        return self.layers is None or layer in self.layers

    def take(self, weights: Any, layer: int) -> Any:
        """Return the kept heads of a layer, of the kept precision, without a copy where no value changes.

        Args:
            weights: tensor or array [..., head, query, key].
            layer: its number, for the message.

        Raises:
            UserError: if the layer has no such head.
        """
        if self.heads is not None:
            n_heads = weights.shape[-3]
            if self.heads[-1] >= n_heads:
                raise UserError(
                    f"heads={list(self.heads)}, but layer {layer} has {n_heads} heads; "
                    f"choose from 0 to {n_heads - 1}"
                )
            weights = weights[..., list(self.heads), :, :]  # [..., kept head, query, key]
        if self.dtype == "float32":
            return weights
        return weights.half() if hasattr(weights, "half") else as_array(weights, self.dtype)

    def check_layers(self, numbers: Iterable[int]) -> None:
        """Raise a UserError if a layer was chosen that is not among the model's."""
        there = sorted(set(numbers))
        lacking = [layer for layer in self.layers or () if layer not in there]
        if lacking:
            raise UserError(
                f"layers={list(self.layers or ())}, but the layers that attend are {there}; choose from these"
            )


def parse_selection(layers: Any, heads: Any, dtype: Any, run: Any, group: Any, normalised: Any) -> Selection:
    """Check what `capture` was told to keep.

    Raises:
        UserError: if a number is not whole or is below 0, `dtype` is not one that a trace holds, or
            `normalised` is neither True nor False.
    """
    name = dtype if isinstance(dtype, str) else dtype.__name__ if isinstance(dtype, type) else shown(dtype)
    name = name.removeprefix("torch.")
    if name not in _DTYPES:
        raise UserError(f"dtype={shown(dtype)} is not one that a trace holds; choose 'float32' or 'float16'")
    for which, number in (("run", run), ("group", group)):
        if number is not None and (type(number) is not int or number < 0):
            raise UserError(f"{which}={shown(number)}; give a whole number: {which}=0 is the first {which}")
    if not isinstance(normalised, bool):
        raise UserError(f"normalised={shown(normalised)}; give True, or False for weights that are no shares")
    numbers = {"layers": _numbers("layers", layers), "heads": _numbers("heads", heads)}
    return Selection(**numbers, dtype=name, run=run, group=group, normalised=normalised)


def _numbers(name: str, given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        numbers: Sequence[Any] = [] if isinstance(given, str) else list(islice(given, LAYERS.most + 1))
    except Exception:  # it cannot be counted, or does anything when it is
        numbers = []
    whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in numbers)
    if not 0 < len(numbers) <= LAYERS.most or not whole or min(numbers) < 0:
        raise UserError(
            f"{name}={shown(given)} does not choose {name}; give a list of their numbers, counted "
            f"from 0: {name}=[0, 1]"
        )
    return tuple(sorted({int(each) for each in numbers}))


def sentence_index(n_sentences: int, batch_index: int | None) -> int:
    """Return which sentence of a batch is meant.

    Raises:
        UserError: if that is not clear, or there is no such sentence.
    """
    if batch_index is None and n_sentences > 1:
        raise UserError(
            f"the batch has {n_sentences} sentences, and a trace shows one; "
            f"say which: batch_index=0 to {n_sentences - 1}"
        )
    index = 0 if batch_index is None else batch_index
    if not isinstance(index, int | np.integer) or isinstance(index, bool) or not 0 <= index < n_sentences:
        raise UserError(
            f"batch_index={shown(index)}, but the batch has {n_sentences} sentences; "
            f"choose 0 to {n_sentences - 1}"
        )
    return index


def as_array(weights: Any, dtype: str = "float32") -> NDArray[Any]:
    """Turn a tensor of any number type, or an array, into an array of `dtype`.

    Raises:
        UserError: if it holds no numbers, or more than a trace does.
    """
    if dtype == "float16" and hasattr(weights, "half"):
        weights = weights.half()  # on its own device
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.asarray(given_array(weights, "a layer"), dtype=dtype)
