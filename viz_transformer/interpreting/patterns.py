"""Fixed attention patterns: the weights of a head replaced where they meet the values.

A `TorchFunctionMode` sees each call of a torch function. While one of the changed layers runs, a
softmax over [batch, head, query, key] is its attention, and its result gets the pattern. Of
`scaled_dot_product_attention`, which keeps its weights, the head's output becomes pattern times
values, and so it does inside `nn.MultiheadAttention`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.capturing.attention_calls import attention_weights
from viz_transformer.errors import UserError
from viz_transformer.interpreting.sites import AttentionSite
from viz_transformer.model.interventions import HeadChange, fixed_pattern

_SOFTMAXES = frozenset({Tensor.softmax, torch.softmax, F.softmax})


class FixedPatterns(TorchFunctionMode):
    """Give some heads fixed patterns, in every forward inside a ``with`` block."""

    def __init__(self, changes: Mapping[AttentionSite, Sequence[HeadChange]]) -> None:
        """Take the changes of each layer; each has a pattern."""
        super().__init__()
        self._changes = changes
        self._hooks = ExitStack()
        #: The layers that are running, and whether the attention of each was seen.
        self._running: list[tuple[AttentionSite, list[bool]]] = []

    def __enter__(self) -> FixedPatterns:
        """Begin to watch when each layer runs."""
        for site in self._changes:
            begin = site.attention.register_forward_pre_hook(self._begin(site))
            self._hooks.enter_context(begin)
            self._hooks.enter_context(site.attention.register_forward_hook(self._end, always_call=True))
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        """End, also after an error."""
        super().__exit__(*exception)
        self._hooks.close()

    def _begin(self, site: AttentionSite) -> Any:
        return lambda *_: self._running.append((site, []))

    def _end(self, module: nn.Module, _: Any, output: Any) -> None:
        site, seen = self._running.pop()
        if not seen and output is not None:  # None after an error of the layer's own
            raise UserError(
                f"in {site.name.rpartition('.')[0]} ({type(module).__name__}) the weights meet the values "
                "where no torch function shows it, so no pattern can be fixed; load the model with "
                'attn_implementation="eager", or change factor=, mean= or output='
            )

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the function, and fix the patterns if it is the attention of a changed layer."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not self._running:
            return result
        site, seen = self._running[-1]
        if func is F.scaled_dot_product_attention and result.ndim == 4:
            seen.append(True)
            allowed = _allowed(inspect.signature(attention_weights).bind(*args, **kwargs))
            value = args[2] if len(args) > 2 else kwargs["value"]  # [batch, group, key, d_head]
            value = value.repeat_interleave(result.shape[1] // value.shape[1], dim=1)
            return _pattern_outputs(self._changes[site], result, allowed, value)
        if func in _SOFTMAXES and result.ndim == 4 and result.shape[1] == site.n_heads:
            seen.append(True)
            scores = args[0] if args else kwargs["input"]
            weights = result.clone()  # the softmax's own result must stay for its gradient
            allowed = scores > torch.finfo(scores.dtype).min / 2
            for change in self._changes[site]:
                weights[:, change.head] = fixed_pattern(change, weights, allowed)
            return weights
        return result


def _allowed(call: inspect.BoundArguments) -> Tensor:
    """Return which keys each query may attend to in a call, bool [batch, head, query, key]."""
    for name in ("query", "key"):  # all scores alike: what is above 0 then, the mask lets through
        call.arguments[name] = torch.zeros_like(call.arguments[name])
    return attention_weights(*call.args, **call.kwargs) > 0


def fix_inside_multi_head(
    changes: Sequence[HeadChange], call: inspect.BoundArguments, outputs: Tensor
) -> Tensor:
    """Return the heads' outputs [batch, head, query, d_head] of torch's multi-head attention under patterns.

    Args:
        changes: each with a pattern.
        call: the call of `torch.nn.functional.multi_head_attention_forward`.
        outputs: those without the patterns, [batch, head, query, d_head].
    """
    given = call.arguments
    if given["bias_k"] is not None or given["add_zero_attn"]:
        raise UserError(
            "this nn.MultiheadAttention adds a key of its own (add_bias_kv or add_zero_attn), which no "
            "pattern has; change factor=, mean= or output= instead"
        )
    if given.get("use_separate_proj_weight"):
        weight = given["v_proj_weight"]
    else:
        weight = given["in_proj_weight"].chunk(3)[2]  # [d_model, d_model]
    bias = None if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)[2]
    value = F.linear(given["value"], weight, bias)  # [key, batch, d_model] or [key, d_model]
    value = value.reshape(len(value), -1, *outputs.shape[1::2])  # [key, batch, head, d_head]
    alike = {name: torch.zeros_like(given[name]) for name in ("query", "key")}
    asked = {**given, **alike, "need_weights": True, "average_attn_weights": False}
    weights = F.multi_head_attention_forward(**asked)[1]
    assert weights is not None  # need_weights=True
    allowed = (weights > 0).reshape(-1, *weights.shape[-3:])  # [batch, head, query, key]
    return _pattern_outputs(changes, outputs, allowed, value.permute(1, 2, 0, 3))


def _pattern_outputs(
    changes: Sequence[HeadChange], outputs: Tensor, allowed: Tensor, value: Tensor
) -> Tensor:
    """Return heads' outputs [batch, head, query, d_head], those of the changes as pattern times values.

    Args:
        changes: each with a pattern.
        outputs: those without the patterns.
        allowed: bool, True = may attend, [batch, head, query, key].
        value: [batch, head, key, d_head].
    """
    outputs = outputs.clone()
    weights = value.new_zeros(allowed.shape)
    for change in changes:
        outputs[:, change.head] = fixed_pattern(change, weights, allowed) @ value[:, change.head]
    return outputs
