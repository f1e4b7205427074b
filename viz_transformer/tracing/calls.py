"""Seeing attention while any model runs, without changing the model.

A model that attends with torch's own functions calls one of two: `scaled_dot_product_attention`,
which never shows its weights, or `multi_head_attention_forward`, which stands behind
`nn.MultiheadAttention` and every `nn.Transformer` module. A `TorchFunctionMode` is shown each call
of a torch function made inside a `with` block. (While one is active, torch's modules also leave
the fused path aside that would hide the second function.) So there is nothing to hook, to
replace or to put back.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One call of an attention function.

    Attributes:
        weights: [batch, head, query, key]; of a call without a batch or heads, fewer axes.
        is_cross: whether the queries came from another sequence than the keys, where the call
            shows it; None where it does not.
    """

    weights: Tensor
    is_cross: bool | None


class AttentionCalls(TorchFunctionMode):
    """Record the weights of every attention call inside a ``with`` block.

    Attributes:
        seen: an `AttentionCall` for each call, in the order of the calls.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[AttentionCall] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Let torch do what was asked, and keep the weights if it was attention."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            self.seen.append(AttentionCall(attention_weights(*args, **kwargs), None))
        elif func is F.multi_head_attention_forward:
            return self._multi_head(args, kwargs)
        return func(*args, **kwargs)

    def _multi_head(self, args: tuple, kwargs: Mapping[str, Any]) -> tuple[Tensor, Tensor | None]:
        """Ask for every head's weights, and hand back only what the caller asked for."""
        call = inspect.signature(F.multi_head_attention_forward).bind(*args, **kwargs)
        call.apply_defaults()
        asked = dict(call.arguments)
        call.arguments.update(need_weights=True, average_attn_weights=False)
        output, weights = F.multi_head_attention_forward(*call.args, **call.kwargs)
        query, key = asked["query"], asked["key"]
        seen = weights.detach()
        if query.isfinite().all() and key.isfinite().all():
            # torch gives NaN to a query that may attend to nothing; in a trace it has zeros.
            seen = seen.masked_fill(seen.isnan().all(dim=-1, keepdim=True), 0.0)
        self.seen.append(AttentionCall(seen, query is not key))
        if not asked["need_weights"]:
            return output, None
        return output, weights.mean(dim=-3) if asked["average_attn_weights"] else weights


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
    """Compute the weights that `torch.nn.functional.scaled_dot_product_attention` does not show.

    Args:
        query: [..., head, query, d_head].
        key: [..., head, key, d_head]; with `enable_gqa`, one head for several of the query's.
        value: not used: the weights are those on their way to it.
        attn_mask: bool, True = may attend, or numbers that are added to the scores.
        dropout_p: not used: the weights are those before dropout.
        is_causal: whether query i attends to the keys up to i alone.
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
