"""A check that the weights which a model returned are those by which it attended.

What a model returns need not be what it did: WavLM returns the mean of its heads as each of them,
Falcon adds its ALiBi twice when it returns them. So the first capture of a class in a process
runs the model once more, as it was loaded. Each attention in it is computed from what was
seen inside the call: softmax(q kᵀ · scale + mask) where torch's function is called, else
the softmax that was multiplied with the values. The classes of a table need no check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from viz_transformer._numbers import short_number
from viz_transformer.capturing.arguments import Selection
from viz_transformer.capturing.attention_calls import AttentionRecorder
from viz_transformer.errors import UserError

#: How far two ways to compute weights may be apart: any weight of float32; of half precision, where the
#: roundings of many layers add up, the share of its weight that a query of a head moves, in the mean.
_ROUNDING, _MOVED = 1e-3, 0.1
#: The classes whose weights were found to be right in this process, which of their layers and heads, and
#: whether all of these layers were seen.
_right: dict[tuple[type, Selection], bool] = {}


def check_returned(
    model: Any,
    forward: Callable[[], Any],
    layers: Mapping[str, Sequence[Any]],
    numbers: Mapping[str, Sequence[int]],
    selection: Selection,
    mask: Any = None,
) -> None:
    """Compare the layers that a model returned with the attention in one more forward.

    A layer is not compared where no attention with its numbers of heads, queries and keys is seen.

    Args:
        model: the model, in evaluation mode.
        forward: runs it as it was loaded.
        layers: of each kind, per layer [1, kept head, query, key], or None.
        numbers: of each kind, the number of each layer.
        selection: which layers and heads are kept.
        mask: 1 at tokens and 0 at padding, [1, position]; or None, or another mask.

    Raises:
        UserError: naming the layer and the head that differ.
    """
    kernel = str(getattr(model.config, "_attn_implementation", ""))
    if "flash" in kernel:  # its calls are not seen
        return
    is_known = (type(model), selection) in _right or is_verified(model)
    if is_known and is_as_its_class(model):
        return
    kept = {
        (kind, number): weights
        for kind, of_kind in layers.items()
        for number, weights in zip(numbers[kind], of_kind, strict=True)
        if weights is not None and selection.keeps(number)
    }
    comparison = _Comparison(kept, selection, mask[0].bool() if getattr(mask, "ndim", 0) == 2 else None)
    with comparison:
        forward()
    if comparison.different:
        (kind, number), (difference, head) = next(iter(comparison.different.items()))
        head = head if selection.heads is None else selection.heads[head]
        raise UserError(
            f"{type(model).__name__} returned other weights than it attended by: of the {kind} attention, "
            f"layer {number}, those of head {head} are {short_number(difference, 2)} apart; give it all "
            "that its processor makes, such as token_type_ids, or see them all the same with verify=False, "
            "and please report it"
        )
    if is_as_its_class(model):
        _right[type(model), selection] = not comparison.left


class _Comparison(AttentionRecorder):
    """Compare each attention with the layers that are still to be found, and keep none."""

    def __init__(
        self, kept: Mapping[tuple[str, int], Tensor], selection: Selection, tokens: Tensor | None
    ) -> None:
        super().__init__()
        #: The layers that were not seen yet.
        self.left = dict(kept)
        self._selection = selection
        self._tokens = tokens  # bool [position], False at padding
        #: Of each layer that only other weights fit: how far the nearest are apart, and in which head.
        self.different: dict[tuple[str, int], tuple[float, int]] = {}

    def _record(self, weights: Tensor, **_: Any) -> None:
        if weights.ndim < 3:
            return
        seen = weights.detach().flatten(0, -3)  # [head, query, key]
        for place, returned in self.left.items():
            found = self._difference(seen, returned[0], place[1])
            if found is None:
                continue
            if found[0] <= (_ROUNDING if _is_exact(returned) else _MOVED):
                del self.left[place]
                self.different.pop(place, None)
                return
            self.different[place] = min(found, self.different.get(place, found))

    def _difference(self, seen: Tensor, returned: Tensor, number: int) -> tuple[float, int] | None:
        """Return how far two maps [head, query, key] are apart, and in which head most; None of others.

        What padding attends to, and a query that may attend to nothing, differs between implementations;
        a sink is no key.
        """
        if self._selection.heads is not None and self._selection.heads[-1] < len(seen):
            seen = self._selection.take(seen, number)
        seen = seen[..., : returned.shape[-1]]
        if seen.shape != returned.shape:
            return None
        attends = (returned != 0).any(dim=-1, keepdim=True) & (seen != 0).any(dim=-1, keepdim=True)
        if self._tokens is not None and len(self._tokens) == returned.shape[-2]:
            attends = attends & self._tokens[:, None]  # [head, query, 1]
        difference = (seen.float() - returned.float()).abs() * attends  # [head, query, key]
        if _is_exact(returned):
            differences = difference.amax(dim=(-2, -1))  # [head]
        else:
            differences = difference.sum(dim=(-2, -1)) / 2 / attends.sum(dim=(-2, -1)).clamp(min=1)  # [head]
        head = int(differences.argmax())
        return float(differences[head]), head


def _is_exact(weights: Tensor) -> bool:
    """Return whether weights were computed with all digits of float32."""
    return weights.dtype == torch.float32 and not (weights.is_cuda and torch.backends.cuda.matmul.allow_tf32)


#: The classes whose captures were found right, and so need no check of their own, with the version of
#: transformers; ``python -m benchmarks capture_models --write`` writes it.
LISTED = Path(__file__).with_name("verified_classes.json")
_OWN = ("transformers.", "torch.")


def is_verified(model: Any) -> bool:
    """Return whether a model is of a verified class, all of whose parts and functions are the library's."""
    kernel = getattr(model.config, "_attn_implementation", None)
    base = type(getattr(model, "base_model", model))
    return (
        base.__module__.startswith("transformers.")
        and base.__name__ in verified_classes()
        and kernel in (None, "eager", "sdpa")
        and all(type(part).__module__.startswith(_OWN) for part in model.modules())
        and all(type(part).forward.__module__.startswith(_OWN) for part in model.modules())
    )


def is_as_its_class(model: Any) -> bool:
    """Return whether no part of a model has a hook, or a forward that others of its class do not have."""
    return not any(
        "forward" in vars(part) or part._forward_hooks or part._forward_pre_hooks for part in model.modules()
    )


@cache
def verified_classes() -> frozenset[str]:
    """Return the names of the verified classes of the installed transformers; none of another version."""
    table = json.loads(LISTED.read_text(encoding="utf-8"))
    return frozenset(table["classes"] if table["transformers"] == version("transformers") else ())
