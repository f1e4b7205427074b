"""A check that the weights which a model returned are those by which it attended.

What a model returns need not be what it did: WavLM returns the mean of its heads as each of them,
Falcon adds its ALiBi twice when it returns them. So the first capture of a class in a process
runs the model once more, as it was loaded. Each attention in it is computed from what was
seen inside the call: softmax(q kᵀ · scale + mask) where torch's function is called, else
the softmax that was multiplied with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.tracing.attention_calls import AttentionRecorder
from viz_transformer.tracing.selection import TOLERANCE, Selection

#: How far two ways to compute a weight may be apart, of float32 and of half precision.
_ROUNDING, _HALF_ROUNDING = 1e-3, 2 * TOLERANCE
#: The classes whose weights were found to be right in this process, and which of their layers and heads.
_right: set[tuple[type, Selection]] = set()


def check_returned(
    model: nn.Module,
    forward: Callable[[], Any],
    layers: Mapping[str, Sequence[Any]],
    numbers: Mapping[str, Sequence[int]],
    selection: Selection,
) -> None:
    """Compare the layers that a model returned with the attention in one more forward.

    A layer is not compared where no attention with its numbers of heads, queries and keys is seen.

    Args:
        model: the model, in evaluation mode.
        forward: runs it as it was loaded.
        layers: of each kind, per layer [1, kept head, query, key], or None.
        numbers: of each kind, the number of each layer.
        selection: which layers and heads are kept.

    Raises:
        UserError: naming the layer and the head that differ.
    """
    if (type(model), selection) in _right:
        return
    kept = {
        (kind, number): weights
        for kind, of_kind in layers.items()
        for number, weights in zip(numbers[kind], of_kind, strict=True)
        if weights is not None and selection.keeps(number)
    }
    comparison = _Comparison(kept, selection)
    with comparison:
        forward()
    if comparison.apart:
        (kind, number), (difference, head) = next(iter(comparison.apart.items()))
        head = head if selection.heads is None else selection.heads[head]
        raise UserError(
            f"{type(model).__name__} returned other weights than it attended by: of the {kind} attention, "
            f"layer {number}, those of head {head} are {short_number(difference, 2)} apart; please report "
            "it, and see them nevertheless with verify=False"
        )
    _right.add((type(model), selection))


class _Comparison(AttentionRecorder):
    """Compare each attention with the layers that are still to be found, and keep none."""

    def __init__(self, kept: Mapping[tuple[str, int], Tensor], selection: Selection) -> None:
        super().__init__()
        self._left = dict(kept)
        self._selection = selection
        #: Of each layer that only other weights fit: how far the nearest are apart, and in which head.
        self.apart: dict[tuple[str, int], tuple[float, int]] = {}

    def _record(self, weights: Tensor, **_: Any) -> None:
        if weights.ndim < 3:
            return
        seen = weights.detach().flatten(0, -3)  # [head, query, key]
        for place, returned in self._left.items():
            found = self._difference(seen, returned[0], place[1])
            if found is None:
                continue
            half = returned.dtype != torch.float32 or weights.dtype != torch.float32
            if found[0] <= (_HALF_ROUNDING if half else _ROUNDING):
                del self._left[place]
                self.apart.pop(place, None)
                return
            self.apart[place] = min(found, self.apart.get(place, found))

    def _difference(self, seen: Tensor, returned: Tensor, number: int) -> tuple[float, int] | None:
        """Return the largest difference between two maps [head, query, key], and its head; None of others.

        Where a query may attend to nothing, models write what they like, and a sink is no key.
        """
        if self._selection.heads is not None and self._selection.heads[-1] < len(seen):
            seen = self._selection.take(seen, number)
        seen = seen[..., : returned.shape[-1]]
        if seen.shape != returned.shape:
            return None
        attends = (returned != 0).any(dim=-1, keepdim=True) & (seen != 0).any(dim=-1, keepdim=True)
        differences = ((seen.float() - returned.float()).abs() * attends).amax(dim=(-2, -1))  # [head]
        head = int(differences.argmax())
        return float(differences[head]), head
