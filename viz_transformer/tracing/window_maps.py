"""Whole maps of models that attend inside the windows of a picture: Swin, Hugging Face's and others'."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.tracing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.tracing.position_biases import Biases
from viz_transformer.tracing.selection import sentence_index


@dataclass(frozen=True)
class Windowed:
    """A layer that attended inside windows.

    Attributes:
        shift: how far its windows are shifted, down and right, in patches.
        rows: how many patches its picture is high.
        columns: how many it is wide.
        n_pictures: how many it read.
    """

    shift: tuple[int, int]
    rows: int
    columns: int
    n_pictures: int


@contextmanager
def watching_windows(model: nn.Module) -> Iterator[list[Windowed]]:
    """List the layers with shifted windows, of timm's Swin or torchvision's, as they run.

    Inside the ``with`` block, that is. Such a layer reads [picture, row, column, feature], and tells
    the sizes of its windows and of their shift.
    """
    seen: list[Windowed] = []

    def see(module: Any, given: tuple[Any, ...]) -> None:
        if given and isinstance(given[0], Tensor) and given[0].ndim == 4:
            n_pictures, rows, columns, _ = given[0].shape
            seen.append(Windowed(tuple(module.shift_size), rows, columns, n_pictures))

    handles = [
        module.register_forward_pre_hook(see)
        for module in model.modules()
        if all(_is_pair(getattr(module, name, None)) for name in ("window_size", "shift_size"))
    ]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def layers_of_windows(
    calls: Sequence[AttentionCall], seen: Sequence[Windowed], batch_index: int | None, biases: Biases
) -> dict[str, list[Any]] | None:
    """Put the maps of one picture together; None if not all attention was that of windows.

    Args:
        calls: in their order.
        seen: the layers, in the same.
        batch_index: which picture.
        biases: what was seen to be added inside the windows; becomes that of the whole picture.

    Raises:
        UserError: if the windows of a layer are not filled.
    """
    if not seen or len(calls) != len(seen):
        return None
    picture = sentence_index(seen[0].n_pictures, batch_index)
    _widen(biases, seen)
    return {
        "self": [
            _map_of_windows(call.weights.chunk(of.n_pictures)[picture], of.shift, of.rows, of.columns)
            for call, of in zip(calls, seen, strict=True)
        ]
    }


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def maps_of_windows(
    config: Any, blocks: Sequence[Any], pixels: Tensor, forward: Callable[[], Any], biases: Biases
) -> dict[str, list[Any]]:
    """Put together the maps of Swin: each window's weights at its place in the picture.

    The biases, which the forward fills with those of a window, become those of the whole picture.

    Source: Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    with AttentionRecorder() as recorder:
        forward()
    calls = iter(recorder.calls)
    patch = config.patch_size
    rows, columns = (math.ceil(size / patch) for size in pixels.shape[-2:])
    seen, block = [], iter(blocks)
    for depth in config.depths:
        for _ in range(depth):
            shift = int(next(block).shift_size)
            seen.append(Windowed((shift, shift), rows, columns, 1))
        rows, columns = (rows + 1) // 2, (columns + 1) // 2  # patches are merged two by two
    _widen(biases, seen)
    return {"self": [_map_of_windows(next(calls).weights, of.shift, of.rows, of.columns) for of in seen]}


def _widen(biases: Biases, seen: Sequence[Windowed]) -> None:
    """Make biases [head, query, key] of a window those of the whole picture, 0 between windows."""
    for of_kind in biases.values():
        if len(of_kind) == len(seen):
            for number, of in enumerate(seen):
                bias = of_kind[number][None]  # [1, head, query, key]
                of_kind[number] = _spread(bias, of.shift, of.rows, of.columns)[:, :-1, :-1]


def _map_of_windows(weights: Tensor, shift: tuple[int, int], rows: int, columns: int) -> Tensor:
    """Put one layer's map together.

    Args:
        weights: [window, head, query, key], each inside one window.
        shift: how far the windows are shifted, down and right, where the picture has several.
        rows: how many patches the picture is high.
        columns: how many it is wide.

    Returns:
        weights [1, head, query, key], over the patches of the picture, row by row.
    """
    whole = _spread(weights, shift, rows, columns)
    if whole[:, :-1, -1].any():
        size = math.isqrt(weights.shape[-1])
        raise UserError(
            f"{rows} by {columns} patches do not fill windows of {size} by {size}, and the model attends "
            f"to what it adds; give a picture whose sides are multiples of {size} patches in every layer"
        )
    return whole[None, :, :-1, :-1]


def _spread(values: Tensor, shift: tuple[int, int], rows: int, columns: int) -> Tensor:
    """Put the values of windows at their places in the picture, 0 between windows.

    Args:
        values: [window, head, query, key]; [1, head, query, key] if all windows have the same.
        shift: and the others as in `_map_of_windows`.

    Returns:
        [head, query, key] over the patches, with one more at the end for all that fills windows.
    """
    size = math.isqrt(values.shape[-1])
    down, right = (0, 0) if min(rows, columns) <= size else shift
    n = rows * columns
    places = torch.arange(n).view(rows, columns)
    # What is added to fill the last windows has the number n.
    places = F.pad(places, (0, -columns % size, 0, -rows % size), value=n).roll((-down, -right), (0, 1))
    windows = places.unflatten(0, (-1, size)).unflatten(2, (-1, size))  # [row, size, column, size]
    windows = windows.transpose(1, 2).reshape(-1, size * size).to(values.device)  # [window, patch]
    whole = values.new_zeros(values.shape[1], n + 1, n + 1)
    values = values.transpose(0, 1).expand(-1, len(windows), -1, -1)  # [head, window, query, key]
    whole[:, windows[:, :, None], windows[:, None, :]] = values
    return whole
