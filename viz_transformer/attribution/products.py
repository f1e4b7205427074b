"""A recorder of the products of weights and values, the step in which attention reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_PRODUCTS = frozenset({torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__})


class ProductRecorder(TorchFunctionMode):
    """Record each product of attention weights with values inside a ``with`` block.

    A product is one of these if its first factor is [..., query, key] and every row of it sums to 1, or to
    less where a part goes to a sink that is no token.
    The weights then have gradients, whatever is frozen in the model.

    Attributes:
        weights: [head, query, key] of each product, in their order.
        values: [head, key, d_head].
    """

    def __init__(self, shapes: Collection[tuple[int, int]], has_sink: bool = False) -> None:
        """Take the numbers of queries and keys that attention may have, and whether it has a sink."""
        super().__init__()
        self.weights: list[Tensor] = []
        self.values: list[Tensor] = []
        self._shapes = set(shapes)
        self._has_sink = has_sink

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the function, and record its factors if they are weights and values."""
        if func not in _PRODUCTS or len(args) != 2 or not self._are_weights(args[0]):
            return func(*args, **(kwargs or {}))
        weights, values = args
        if torch.is_grad_enabled() and not weights.requires_grad:
            weights = weights.detach().requires_grad_()
        self.weights.append(weights)
        # One head of values may serve all: Falcon.
        for_each = values.detach().expand(*weights.shape[:-2], *values.shape[-2:])
        self.values.append(for_each.reshape(-1, *values.shape[-2:]))  # [head, key, d_head]
        return func(weights, values)

    def _are_weights(self, factor: Any) -> bool:
        if not isinstance(factor, Tensor) or factor.ndim < 3 or tuple(factor.shape[-2:]) not in self._shapes:
            return False
        sums = factor.detach().float().sum(-1)
        shared = ((sums - 1).abs() < 0.01) | (sums == 0)  # a query of padding may attend to nothing
        if self._has_sink:
            shared |= sums < 1
        return bool((factor.detach() >= 0).all() and shared.all())
