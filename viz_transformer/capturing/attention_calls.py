"""A recorder of attention while a model runs.

A model attends by one of four ways: torch's `scaled_dot_product_attention` or `flex_attention`,
which never return their weights; `multi_head_attention_forward`, which `nn.MultiheadAttention` and
every `nn.Transformer` module use; or a softmax that its author wrote out. A `TorchFunctionMode`
receives each call of a torch function inside a `with` block. (While one is active, torch's modules
also avoid the fused path that would bypass the third.)
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from viz_transformer.capturing.running import uncompiled, watching
from viz_transformer.capturing.softmax_calls import SoftmaxWatch


@dataclass(frozen=True)
class Running:
    """A module while its forward runs.

    Attributes:
        name: its name in the model.
        sort: the name of its class.
        run: how often its forward had run before.
    """

    name: str = ""
    sort: str = ""
    run: int = 0


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One attention, over all sentences and heads.

    Attributes:
        weights: [batch, head, query, key]; of a call without a batch or heads, fewer axes; of one
            in groups (rows of a picture, or heads that share their keys), more before the query.
        is_cross: whether the queries came from another sequence than the keys, where the call
            shows it; None where it does not.
        is_inferred: whether only a softmax and a product tell that this is attention.
        shares_values: whether weights of one more axis than usual are multiplied with the same values
            along it, as those of heads are that share their keys.
        n_features: of each value, where the call shows it.
        by: the innermost module that was running.
    """

    weights: Tensor
    is_cross: bool | None = None
    is_inferred: bool = False
    shares_values: bool = False
    n_features: int | None = None
    by: Running = Running()


class AttentionRecorder(TorchFunctionMode):
    """Record the weights of every attention inside a ``with`` block, and which module made them."""

    def __init__(self, model: nn.Module | None = None) -> None:
        super().__init__()
        self._model = model
        self._calls: list[AttentionCall] = []
        self._softmaxes = SoftmaxWatch()
        self._running: list[Running] = [Running()]
        self._runs: Counter[nn.Module] = Counter()
        self._opened = ExitStack()

    @property
    def calls(self) -> list[AttentionCall]:
        """An `AttentionCall` for each attention, in their order."""
        return [call for call in self._calls if not self._softmaxes.is_factor(call.weights)]

    def __enter__(self) -> AttentionRecorder:
        """Begin; what torch compiled runs uncompiled meanwhile, or its calls would not be seen."""
        self._opened.enter_context(uncompiled())
        if self._model is not None:
            self._opened.enter_context(watching(self._model, self))
        return super().__enter__()

    def hooks(self, name: str, module: nn.Module) -> Iterator[RemovableHandle]:
        """Watch which module runs; a scripted one takes no such hooks, and its calls are not seen."""
        if not isinstance(module, torch.jit.ScriptModule):
            yield module.register_forward_pre_hook(partial(self._begin, name))
            yield module.register_forward_hook(self._end, always_call=True)

    def _begin(self, name: str, module: nn.Module, _: Any) -> None:
        self._running.append(Running(name, type(module).__name__, self._runs[module]))
        self._runs[module] += 1

    def _end(self, *_: Any) -> None:
        self._running.pop()

    def __exit__(self, *exception: Any) -> None:
        """End, also after an error."""
        super().__exit__(*exception)
        self._opened.close()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the function, and record the weights if it was attention."""
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            return self._multi_head(args, kwargs)
        if func is F.scaled_dot_product_attention:
            value = args[2] if len(args) > 2 else kwargs["value"]
            self._record(attention_weights(*args, **kwargs), value=value)
        elif getattr(func, "__name__", "") == "flex_attention":
            self._record(flex_weights(*args, **kwargs))
        result = func(*args, **kwargs)
        seen = self._softmaxes.see(func, args, kwargs, result)
        if seen is not None:
            self._record(seen[0], value=seen[1], is_inferred=True)
        return result

    def _record(self, weights: Tensor, *, value: Tensor | None = None, **found: Any) -> None:
        if value is not None:
            found |= {"shares_values": _shares_values(weights, value), "n_features": value.shape[-1]}
        self._calls.append(AttentionCall(weights, by=self._running[-1], **found))

    def _multi_head(self, args: tuple, kwargs: Mapping[str, Any]) -> tuple[Tensor, Tensor | None]:
        """Ask for every head's weights, and return only what the caller asked for."""
        call = inspect.signature(F.multi_head_attention_forward).bind(*args, **kwargs)
        call.apply_defaults()
        asked = dict(call.arguments)
        call.arguments.update(need_weights=True, average_attn_weights=False)
        output, weights = F.multi_head_attention_forward(*call.args, **call.kwargs)
        assert weights is not None  # need_weights=True
        query, key = asked["query"], asked["key"]
        recorded = weights.detach()
        if query.isfinite().all() and key.isfinite().all():
            # torch returns NaN for a query that may attend to nothing; a trace has zeros there.
            recorded = recorded.masked_fill(recorded.isnan().all(dim=-1, keepdim=True), 0.0)
        self._record(recorded, is_cross=query is not key)
        if not asked["need_weights"]:
            return output, None
        return output, weights.mean(dim=-3) if asked["average_attn_weights"] else weights


def _shares_values(weights: Tensor, value: Tensor) -> bool:
    """Return whether weights [batch, ..., query, key] meet the same values along an axis between."""
    if value.ndim != weights.ndim:
        return value.ndim < weights.ndim
    axes = range(1, weights.ndim - 2)
    return any(weights.shape[i] > 1 and (value.shape[i] == 1 or value.stride(i) == 0) for i in axes)


def attention_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute the weights that `torch.nn.functional.scaled_dot_product_attention` keeps to itself.

    Args:
        query: [..., head, query, d_head].
        key: [..., head, key, d_head]; with `enable_gqa`, one head for several of the query's.
        value: not used; the weights do not depend on it.
        attn_mask: bool, True = may attend, or numbers that are added to the scores.
        dropout_p: not used; the weights are those before dropout.
        is_causal: whether query i attends to the keys 0 to i only.
        scale: factor of the dot products; by default 1/√d_head.
        enable_gqa: whether groups of query heads share a key head.

    Returns:
        weights [..., head, query, key], at least float32; zeros where a query may attend to
        nothing.

    Source: the documentation of that function; Ainslie et al. 2023 for grouped queries.
    """
    precision = torch.promote_types(query.dtype, torch.float32)
    query, key = query.detach().to(precision), key.detach().to(precision)
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale  # [..., head, query, key]
    blocked = torch.zeros_like(scores, dtype=torch.bool)
    if is_causal:
        blocked = blocked | torch.ones_like(blocked).triu(diagonal=1)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        blocked = blocked | ~attn_mask
    elif attn_mask is not None:
        scores = scores + attn_mask.to(precision)
        blocked = blocked | (attn_mask <= torch.finfo(attn_mask.dtype).min)
    weights = scores.masked_fill(blocked, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(blocked.all(dim=-1, keepdim=True), 0.0)


#: For each axis of the scores, the innermost first, which arguments of a score_mod or a mask_mod
#: run along it: (score, batch, head, query, key).
_AXES = (
    (0, None, None, None, 0),
    (0, None, None, 0, None),
    (0, None, 0, None, None),
    (0, 0, None, None, None),
)


def flex_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor],
    block_mask: Sequence[Any],
    scale: float,
    *_: Any,
) -> Tensor:
    """Compute the weights that `flex_attention` keeps to itself.

    Args:
        query: [batch, head, query, d_head].
        key: [batch, head, key, d_head]; one head may serve several of the query's.
        value: not used; the weights do not depend on it.
        score_mod: from a score and the indices of its batch, head, query and key to another score.
        block_mask: a block mask as a tuple, whose last entry tells of a batch, head, query and key
            whether that query may attend to that key.
        scale: factor of the dot products.

    Returns:
        weights [batch, head, query, key], at least float32; zeros where a query may attend to
        nothing.

    Source: Dong et al. 2024, *Flex Attention*, section 3.
    """
    precision = torch.promote_types(query.dtype, torch.float32)
    query, key = query.detach().to(precision), key.detach().to(precision)
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ key.mT * scale  # [batch, head, query, key]
    mask_mod = block_mask[-1]
    indices = [torch.arange(size, device=scores.device) for size in scores.shape]
    with _indexing():
        scores = _of_each(score_mod)(scores, *indices)
        allowed = _of_each(lambda _, *at: mask_mod(*at))(scores, *indices)  # [batch, head, query, key]
    scores = scores.masked_fill(~allowed, -torch.inf)
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.softmax(dim=-1).masked_fill(empty, 0.0)


def _indexing() -> AbstractContextManager[Any]:
    """Let a function that vmap runs index a tensor by its arguments, such as ``slopes[head]``."""
    # This is how flex_attention does it, which has loaded torch._dynamo before it gets here.
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    return TransformGetItemToIndex()


def _of_each(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Turn a function of one score and its indices into one of all scores."""
    for axes in _AXES:
        function = torch.vmap(function, in_dims=axes)
    return function
