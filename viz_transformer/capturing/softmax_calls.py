"""Attention that a model writes out by hand: a softmax over scores whose weights multiply values.

The softmax itself may be torch's, or powers of e that are divided by their sum.

A softmax alone may be anything: probabilities of words, or of the experts in a mixture. It is
attention if its weights go on to a product that is summed over the axis of the softmax, the
keys: a matrix product, or ``(weights * values).sum(1)``. So each softmax is followed through what may be in
    between (dropout,
masks, another number type, a view) until it meets the values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

# By their names, because torch has most functions twice: torch.f and Tensor.f.
_PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "einsum"})
#: They keep the numbers and the axes. A trace has the weights before dropout.
_COPIES = frozenset(
    {"dropout", "dropout_", "alpha_dropout", "contiguous", "clone", "detach"}
    | {"to", "type", "type_as", "float", "half", "bfloat16", "double"}
)
#: They change numbers, for example to zero where a query may attend to nothing.
_CHANGES = frozenset(
    {"masked_fill", "masked_fill_", "nan_to_num", "nan_to_num_", "where"}
    | {"mul", "mul_", "__mul__", "__rmul__", "multiply", "div", "div_", "__truediv__", "divide"}
)
_QUOTIENTS = frozenset({"div", "div_", "__truediv__", "divide", "true_divide"})
#: What a sum of powers may go through before it divides them.
_OF_A_SUM = frozenset({"unsqueeze", "__getitem__", "view", "reshape", "add", "__add__", "clamp", "clamp_min"})
_PRODUCTS_OF_EACH = frozenset({"mul", "__mul__", "__rmul__", "multiply"})
_VIEWS = frozenset({"view", "reshape", "flatten", "unflatten", "expand", "squeeze", "view_as", "reshape_as"})
_MOVES = frozenset(
    {"transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "unsqueeze"}
    | {"mT", "mH", "T", "H", "adjoint"}
)


class _WrittenSoftmax:
    """Find a softmax that a model computes as powers of e, divided by their sum."""

    def __init__(self) -> None:
        # As in `SoftmaxWatch`, each entry holds the tensor that its key is the id of.
        self._powers: dict[int, Tensor] = {}
        self._sums: dict[int, tuple[Tensor, Tensor, int]] = {}

    def axis(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int | None:
        """Return the axis of the softmax, counted from the end, if this call completes one."""
        first = id(args[0]) if args else None
        if name in {"exp", "exp_"}:
            self._powers[id(result)] = result
        elif name == "sum" and first in self._powers:
            dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
            if isinstance(dim, int):
                axis = dim if dim < 0 else dim - args[0].ndim
                self._sums[id(result)] = result, args[0], axis
        elif name in _OF_A_SUM and first in self._sums:
            self._sums[id(result)] = result, *self._sums[first][1:]
        elif name in _QUOTIENTS and len(args) > 1 and id(args[1]) in self._sums:
            _, powers, axis = self._sums[id(args[1])]
            return axis if args[0] is powers else None
        elif name in _CHANGES and first in self._powers and result.shape == args[0].shape:
            self._powers[id(result)] = result
        return None


@dataclass(frozen=True, eq=False)
class _Followed:
    """A tensor that came from a softmax.

    Attributes:
        softmax: what the softmax returned.
        tensor: the result so far.
        key_axis: the axis of `tensor` over which the softmax ran, counted from the end.
        weights: the weights [..., query, key] as far as they are known: with all axes that the
            model ever gave them, and in their first number type. None if the keys were not last.
        factor: the weights [..., key, 1], if `tensor` is their product with values, still to be summed.
    """

    softmax: Tensor
    tensor: Tensor
    key_axis: int
    weights: Tensor | None
    factor: Tensor | None = None


class SoftmaxWatch:
    """Follow each softmax to the values that its weights multiply, if it ever meets any."""

    def __init__(self) -> None:
        # Each entry holds the tensor that its key is the id of, so no other tensor gets that id.
        self._followed: dict[int, _Followed] = {}
        self._outputs: dict[int, tuple[Tensor, Tensor]] = {}
        self._factors: list[Tensor] = []
        self._written = _WrittenSoftmax()

    def see(
        self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> tuple[Tensor, Tensor] | None:
        """Take notice of a call of a torch function, which has returned already.

        Returns:
            attention weights [..., query, key], and the values that this call multiplied them with.
        """
        name = _name(func)
        axis = self._written.axis(name, args, kwargs, result)
        if name == "softmax":
            dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(dim, int):
                axis = dim if dim < 0 else dim - result.ndim
        if axis is not None:
            weights = result if axis == -1 else None
            self._followed[id(result)] = _Followed(result, result, axis, weights)
        elif self._followed and name in _PRODUCTS:
            return self._multiply(*_operands(name, args, kwargs), result)
        elif name == "sum" and args and id(args[0]) in self._followed:
            return self._sum(self._followed[id(args[0])], args, kwargs)
        elif self._followed and isinstance(result, Tensor):
            for each in (*args, *kwargs.values()):
                if id(each) in self._followed:
                    after = _after(self._followed[id(each)], name, func, args, kwargs, result)
                    if after is not None:
                        self._followed[id(result)] = after
                    break
        return None

    def is_factor(self, weights: Tensor) -> bool:
        """Return whether weights that `see` returned turned out to be no map of queries to keys.

        Linear attention and Nyström's multiply several softmaxes: each is a factor of a map that is
        never computed.
        """
        return any(weights is factor for factor in self._factors)

    def _sum(
        self, product: _Followed, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Tensor, Tensor] | None:
        """Return the weights of a query and the values, if a product of both is summed over its keys."""
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if product.factor is None or not isinstance(dim, int):
            return None
        if (dim if dim < 0 else dim - product.tensor.ndim) != product.key_axis:
            return None
        return product.factor.mT, product.tensor  # [..., query=1, key]

    def _multiply(
        self, equation: str | None, operands: Sequence[Any], result: Any
    ) -> tuple[Tensor, Tensor] | None:
        if len(operands) != 2:
            return None
        for index, tensor in enumerate(operands):
            followed, value = self._followed.get(id(tensor)), operands[1 - index]
            # A table of parameters has no positions: probabilities @ embeddings is no attention.
            if followed is None or isinstance(value, nn.Parameter) or value.ndim == 2 < tensor.ndim:
                continue
            weights = _oriented(followed, equation, index, value)
            if weights is None:
                continue
            self._followed = {
                key: each for key, each in self._followed.items() if each.softmax is not followed.softmax
            }
            self._outputs[id(result)] = result, weights
            if id(value) in self._outputs:
                self._factors += [weights, self._outputs[id(value)][1]]
            return weights, value
        return None


def _name(func: Callable[..., Any]) -> str:
    """Return a torch function's name, or that of the attribute that is read, such as ``"mT"``."""
    name = getattr(func, "__name__", "")
    return getattr(getattr(func, "__self__", None), "__name__", "") if name == "__get__" else name


def _after(
    before: _Followed,
    name: str,
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    result: Tensor,
) -> _Followed | None:
    """Return the result so far of a softmax's weights in one call, or None if they are lost."""
    n_keys = before.tensor.shape[before.key_axis]
    weights = before.weights
    is_column = before.key_axis == -2 and before.tensor.ndim < 4 and before.tensor.shape[-1] == 1
    if name in _PRODUCTS_OF_EACH and is_column and result.shape[-1] > 1:
        return replace(before, tensor=result, factor=before.tensor)  # [batch, key, feature]
    if name in _COPIES | _CHANGES and result.shape == before.tensor.shape:
        if name in _CHANGES and weights is not None:
            weights = result if before.key_axis == -1 else None
        return replace(before, tensor=result, weights=weights)
    if name in _VIEWS and before.key_axis == -1 and result.ndim > 1 and result.shape[-1] == n_keys:
        if weights is not None and result.ndim > weights.ndim:
            weights = result  # heads that were one axis with the sentences have their own now
        return replace(before, tensor=result, weights=weights)
    if name in _MOVES:
        # An axis of two among axes of one shows where the keys go.
        sizes = [1] * before.tensor.ndim
        sizes[before.key_axis] = 2
        shape = func(torch.empty(sizes, device="meta"), *args[1:], **kwargs).shape
        key_axis = shape.index(2) - len(shape)
        if key_axis == -1 and weights is not None and weights.ndim == 2 and result.ndim == 3:
            weights = result  # [batch, key] -> [batch, query=1, key]
        return replace(before, tensor=result, key_axis=key_axis, weights=weights)
    return None


def _operands(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str | None, Sequence[Any]]:
    """Return the equation, which `einsum` alone has, and what is multiplied."""
    given = [*args, *kwargs.values()]
    if name == "__rmatmul__":
        return None, given[::-1]
    if name != "einsum":
        return None, given[:2]
    equation, *operands = given
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    return (equation, operands) if isinstance(equation, str) else (None, ())


def _oriented(followed: _Followed, equation: str | None, index: int, value: Tensor) -> Tensor | None:
    """Return the weights [..., query, key] if a product sums over their keys, else None.

    Args:
        followed: what is multiplied with the value.
        equation: the one of `einsum`; None for a matrix product.
        index: whether it is before the value (0) or after it (1).
        value: the other operand.
    """
    if equation is None:
        if followed.key_axis != (-2 if index else -1) or value.ndim < 2:
            return None
        if followed.tensor.ndim == 1:
            return followed.tensor[None]  # [query=1, key]
        if followed.weights is not None:
            return followed.weights
        return followed.tensor.mT if index else followed.tensor
    query, key = _einsum_axes(followed, equation, index, value)
    if key is None:
        return None
    order = [axis for axis in range(followed.tensor.ndim) if axis not in (query, key)]
    if query is None:
        return followed.tensor.permute(*order, key)[..., None, :]  # [..., query=1, key]
    order += [query, key]
    if followed.weights is not None and order == sorted(order):
        return followed.weights
    return followed.tensor.permute(order)  # [..., query, key]


def _einsum_axes(
    followed: _Followed, equation: str, index: int, value: Tensor
) -> tuple[int | None, int | None]:
    """Return which axes of the followed tensor are the query's and the keys', as an equation tells them.

    The keys are summed over, and the value has them too. The query's axis is one that the output
    keeps and the value lacks; if there are several (heads that share their values), the one before
    the keys; if there is none, a single query. Without keys both are None.
    """
    before, _, after = equation.replace(" ", "").partition("->")
    terms = before.split(",")
    tensors = (value, followed.tensor) if index else (followed.tensor, value)
    terms = [_spelled_out(term, tensor.ndim) for term, tensor in zip(terms, tensors, strict=True)]
    mine, other = terms[index], terms[1 - index]
    counts = Counter("".join(terms))
    kept: Collection[str] = (
        after.replace("...", "0123456789") if after else [x for x in counts if counts[x] == 1]
    )
    key = len(mine) + followed.key_axis
    if mine[key] in kept or mine[key] not in other or len(set(mine)) < len(mine):
        return None, None
    free = [axis for axis, letter in enumerate(mine) if letter in kept and letter not in other]
    if len(free) > 1:
        return (key - 1, key) if key - 1 in free else (None, None)
    if not free and len(mine) > 2:  # of several rows, each weighs something else than positions: experts
        return None, None
    return (free[0] if free else None), key


def _spelled_out(term: str, ndim: int) -> str:
    """Return the letters of an operand's axes; those that "..." stands for are digits."""
    n_more = max(ndim - len(term.replace("...", "")), 0)
    return term.replace("...", "0123456789"[10 - n_more :])
