"""Heads' outputs read or replaced on their way into the output projection, while a model runs.

A forward pre-hook of torch sees what enters a projection. `nn.MultiheadAttention` never calls its
projection: it hands the matrix to `torch.nn.functional.multi_head_attention_forward`. There a
`TorchFunctionMode` computes the heads' outputs (a projection by the identity) and projects them
after the change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.intervening.patterns import fix_inside_multi_head
from viz_transformer.intervening.sites import AttentionSite
from viz_transformer.model.interventions import HeadChange
from viz_transformer.tracing.running import uncompiled

#: Given the heads' outputs [batch, position, head, d_head], it returns what replaces them.
Rewrite = Callable[[Tensor], Tensor]


@contextmanager
def rewritten(
    rewrites: Sequence[tuple[AttentionSite, Rewrite]],
    patterns: Mapping[AttentionSite, Sequence[HeadChange]] = MappingProxyType({}),
) -> Iterator[None]:
    """Pass the heads' outputs of some layers through functions, in every forward inside the block.

    Args:
        rewrites: layers, each with its function; a function that only looks returns its argument.
        patterns: for layers of `nn.MultiheadAttention` among them, the changes that fix a pattern;
            they come first.
    """
    inside = {id(site.projection): (site, f) for site, f in rewrites if site.is_torchs}
    with ExitStack() as stack:
        stack.enter_context(uncompiled())
        for site, rewrite in rewrites:
            if not site.is_torchs:
                hook = _pre_hook(site, rewrite)
                handle = site.projection.register_forward_pre_hook(hook, with_kwargs=True)
                stack.callback(handle.remove)
        if inside:
            stack.enter_context(_InsideMultiHead(list(inside.values()), patterns))
        yield


def _pre_hook(site: AttentionSite, rewrite: Rewrite) -> Callable[..., tuple[tuple, dict[str, Any]] | None]:
    def hook(_: nn.Module, args: tuple, named: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        if args:
            return (_through(site, rewrite, args[0]), *args[1:]), named
        name = next(iter(named))
        return args, {**named, name: _through(site, rewrite, named[name])}

    return hook


def _through(site: AttentionSite, rewrite: Rewrite, joined: Tensor) -> Tensor:
    """Rewrite heads' outputs that stand side by side, [..., position, n_heads · d_head]."""
    heads = joined.unflatten(-1, (site.n_heads, site.d_head))  # [..., position, head, d_head]
    batched = heads.reshape(-1, *heads.shape[-3:])  # [batch, position, head, d_head]
    changed = rewrite(batched)
    return joined if changed is batched else changed.reshape(joined.shape)


class _InsideMultiHead(TorchFunctionMode):
    """Rewrite the heads' outputs inside torch's own multi-head attention."""

    def __init__(
        self,
        rewrites: Sequence[tuple[AttentionSite, Rewrite]],
        patterns: Mapping[AttentionSite, Sequence[HeadChange]],
    ) -> None:
        super().__init__()
        self._rewrites, self._patterns = rewrites, patterns
        self._signature = inspect.signature(F.multi_head_attention_forward)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the function; of one of the layers, in two halves with the change between them."""
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            call = self._signature.bind(*args, **kwargs)
            for site, rewrite in self._rewrites:
                if _is_call_of(site.attention, call):
                    return self._in_two_halves(call, site, rewrite)
        return func(*args, **kwargs)

    def _in_two_halves(
        self, call: inspect.BoundArguments, site: AttentionSite, rewrite: Rewrite
    ) -> tuple[Tensor, Tensor | None]:
        call.apply_defaults()
        weight, bias = call.arguments["out_proj_weight"], call.arguments["out_proj_bias"]
        identity = torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)
        call.arguments.update(out_proj_weight=identity, out_proj_bias=None)
        joined, weights = F.multi_head_attention_forward(*call.args, **call.kwargs)

        def change(heads: Tensor) -> Tensor:  # [batch, position, head, d_head]
            if site in self._patterns:
                outputs = fix_inside_multi_head(self._patterns[site], call, heads.transpose(1, 2))
                heads = outputs.transpose(1, 2)  # [batch, position, head, d_head]
            return rewrite(heads)

        if joined.ndim == 3:  # [position, batch, n_heads · d_head]
            joined = _through(site, change, joined.transpose(0, 1)).transpose(0, 1)
        else:
            joined = _through(site, change, joined)
        return F.linear(joined, weight, bias), weights  # [position, batch, d_model]


def _is_call_of(attention: Any, call: inspect.BoundArguments) -> bool:
    """Tell a module by its matrix of values: in a block inside another, the projection is an identity."""
    if attention.in_proj_weight is not None:
        return call.arguments["in_proj_weight"] is attention.in_proj_weight
    return call.arguments.get("v_proj_weight") is attention.v_proj_weight
