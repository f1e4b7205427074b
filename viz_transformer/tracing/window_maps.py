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
    calls: Sequence[AttentionCall], seen: Sequence[Windowed], batch_index: int | None
) -> dict[str, list[Any]] | None:
    """Put the maps of one picture together; None if not all attention was that of windows.

    Raises:
        UserError: if the windows of a layer are not filled.
    """
    if not seen or len(calls) != len(seen):
        return None
    picture = sentence_index(seen[0].n_pictures, batch_index)
    return {
        "self": [
            _map_of_windows(call.weights.chunk(of.n_pictures)[picture], of.shift, of.rows, of.columns)
            for call, of in zip(calls, seen, strict=True)
        ]
    }


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def maps_of_windows(
    config: Any, blocks: Sequence[Any], pixels: Tensor, forward: Callable[[], Any]
) -> dict[str, list[Any]]:
    """Put together the maps of Swin: each window's weights at its place in the picture.

    Source: Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    with AttentionRecorder() as recorder:
        forward()
    calls = iter(recorder.calls)
    patch = config.patch_size
    rows, columns = (math.ceil(size / patch) for size in pixels.shape[-2:])
    layers, block = [], iter(blocks)
    for depth in config.depths:
        for _ in range(depth):
            shift = int(next(block).shift_size)
            layers.append(_map_of_windows(next(calls).weights, (shift, shift), rows, columns))
        rows, columns = (rows + 1) // 2, (columns + 1) // 2  # patches are merged two by two
    return {"self": layers}


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
    size = math.isqrt(weights.shape[-1])
    down, right = (0, 0) if min(rows, columns) <= size else shift
    n = rows * columns
    places = torch.arange(n).view(rows, columns)
    # What is added to fill the last windows has the number n.
    places = F.pad(places, (0, -columns % size, 0, -rows % size), value=n).roll((-down, -right), (0, 1))
    windows = places.unflatten(0, (-1, size)).unflatten(2, (-1, size))  # [row, size, column, size]
    windows = windows.transpose(1, 2).reshape(-1, size * size).to(weights.device)  # [window, patch]
    whole = weights.new_zeros(weights.shape[1], n + 1, n + 1)
    whole[:, windows[:, :, None], windows[:, None, :]] = weights.transpose(0, 1)
    if whole[:, :n, n].any():
        raise UserError(
            f"{rows} by {columns} patches do not fill windows of {size} by {size}, and the model attends "
            f"to what it adds; give a picture whose sides are multiples of {size} patches in every layer"
        )
    return whole[None, :, :n, :n]
