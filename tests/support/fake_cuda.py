"""A graphics card to pretend with: what breaks on a real one breaks here, on any machine.

Its tensors are computed by the processor, but say that they stand elsewhere (on ``meta``, a device
that every torch knows), and refuse to meet a tensor of the processor's, as a card's do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

#: What the card is called.
CARD = "meta"
_aten = torch.ops.aten
_COPYING = {_aten._to_copy, _aten.copy_}  # from here to there
_INDEXING = {_aten.index, _aten.index_put, _aten.index_put_}


class _OnCard(Tensor):
    """A tensor on the card; `here` holds its numbers."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> _OnCard:
        with torch.inference_mode(False):  # a view of it may be one of a tensor that is trained
            made = Tensor._make_wrapper_subclass(
                cls,
                here.shape,
                strides=here.stride(),
                storage_offset=here.storage_offset(),
                dtype=here.dtype,
                device=CARD,
            )
        made.here = here
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: tuple, kwargs: dict) -> Any:
    """Do what torch would, on the processor; what comes of the card's tensors is the card's."""
    kind = func.overloadpacket
    on_card = {id(one.here): one for one in _tensors((args, kwargs)) if isinstance(one, _OnCard)}
    there = isinstance(args[0], _OnCard) if kind in _COPYING else bool(on_card)
    if there and kind not in _COPYING:
        # Into a card's tensor one may point from here, as torch allows it.
        points = kind in _INDEXING and isinstance(args[0], _OnCard)
        meeting = (args[0], args[2:]) if points else (args, kwargs)
        if any(not isinstance(one, _OnCard) and one.ndim for one in _tensors(meeting)):
            raise RuntimeError(
                f"{func}: expected all tensors to be on the same device, but found at least two "
                f"devices, {CARD} and cpu"
            )
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]).type == CARD
        kwargs = {**kwargs, "device": "cpu"}
    args, kwargs = tree_map_only(_OnCard, lambda one: one.here, (args, kwargs))
    found = func(*args, **kwargs)
    if not there:
        return found
    # What was changed in place is the tensor that it was before.
    return tree_map_only(Tensor, lambda one: on_card[id(one)] if id(one) in on_card else _OnCard(one), found)


def _tensors(tree: Any) -> list[Tensor]:
    return [one for one in tree_leaves(tree) if isinstance(one, Tensor)]


class _Computing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _computed(func, args, kwargs or {})


class _Making(TorchFunctionMode):
    """Makes on the processor, and then moves, what torch would make empty on ``meta``."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.new_tensor:
            return torch.tensor(args[1], dtype=args[0].dtype).to(args[0].device)
        if func is torch.tensor and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        return func(*args, **kwargs)


@contextmanager
def pretend_card() -> Iterator[str]:
    """Give the card's name; within, its tensors hold numbers."""
    # Torch has no bfloat16 for this device, and refuses to be asked.
    with mock.patch.object(torch, "autocast", return_value=nullcontext()), _Making(), _Computing():
        yield CARD
