"""Heads that are modules of their own: each attends alone, and their block puts them together.

So attention is written where it is explained, with a class for one head and a `ModuleList` of them.
Without more, each would be taken for a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.tracing.attention_calls import AttentionCall, AttentionRecorder


@dataclass(frozen=True, eq=False)
class HeadModule:
    """A module of a list of equals that attended once.

    Attributes:
        place: its list, and what it read: equal for the heads of one layer.
        call: its attention.
    """

    place: tuple[Any, ...]
    call: AttentionCall


@contextmanager
def watching_heads(model: nn.Module, recorder: AttentionRecorder) -> Iterator[list[HeadModule]]:
    """List the modules inside a ``with`` block that may be single heads, as they run."""
    seen: list[HeadModule] = []
    alive: dict[str, list[Tensor]] = {}  # what a list read last: no other tensor has its memory meanwhile
    begun: list[tuple[int, tuple[Any, ...]]] = []

    def begin(name: str, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        alive[name] = [each for each in (*given, *named.values()) if _has_memory(each)]
        begun.append((len(recorder.calls), (name, *map(_memory, alive[name]))))

    def end(*_: Any) -> None:
        start, place = begun.pop()
        calls = recorder.calls[start:]
        if len(calls) == 1:
            seen.append(HeadModule(place, calls[0]))

    handles = []
    for name, siblings in model.named_modules():
        if isinstance(siblings, nn.ModuleList) and len(siblings) > 1 and len(set(map(type, siblings))) == 1:
            for module in siblings:
                handles.append(module.register_forward_pre_hook(partial(begin, name), with_kwargs=True))
                handles.append(module.register_forward_hook(end))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _has_memory(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided


def _memory(tensor: Tensor) -> tuple[int, int]:
    """Return where a tensor's numbers are, the same for its slices; a change in place is a new version."""
    return tensor.untyped_storage().data_ptr(), 0 if tensor.is_inference() else tensor._version


def joined_heads(calls: Sequence[AttentionCall], heads: Sequence[HeadModule]) -> list[AttentionCall]:
    """Make one call of the heads of each layer; the other calls stay as they are."""
    joined: dict[int, AttentionCall | None] = {}
    for _, of_layer in groupby(heads, key=lambda head: head.place):
        layer = [head.call for head in of_layer]
        if len(layer) > 1 and len({call.weights.shape for call in layer}) == 1:
            # [batch, head, query, key]; a head by itself may have no axis for heads
            join = torch.cat if layer[0].weights.ndim > 3 else torch.stack
            weights = join([call.weights for call in layer], dim=-3)
            joined |= {**dict.fromkeys(map(id, layer)), id(layer[0]): replace(layer[0], weights=weights)}
    return [each for call in calls if (each := joined.get(id(call), call)) is not None]
