"""The outputs of a model's heads, read or changed before the output projection.

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

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.capturing.running import evaluating, uncompiled
from viz_transformer.errors import UserError
from viz_transformer.interpreting.patterns import FixedPatterns, fix_inside_multi_head
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.model.interventions import HeadChange, Interventions, change_outputs

#: Given the heads' outputs [batch, position, head, d_head], it returns what replaces them.
Rewrite = Callable[[Tensor], Tensor]


@contextmanager
def interventions(model: nn.Module, heads: Sequence[HeadChange]) -> Iterator[None]:
    """Change heads of any torch model: every forward inside the block has the changes.

        off = vt.HeadChange("decoder", layer=0, head=3, factor=0.0)
        with vt.interventions(model, heads=[off]):
            logits = model(ids).logits

    The model itself stays as it is: the hooks that make the changes are gone after the block, also
    if it ends with an error. A change that is neutral (factor 1 and no replacement) leaves every
    bit of the output as it was. Of our own text models, `model` is ``translator.model``; calls such
    as ``translator.translate`` take ``interventions=`` instead, and do not look at this block.

    >>> import torch
    >>> import viz_transformer as vt
    >>> model, ids = vt.load_language_model().model, torch.tensor([[1, 5, 7]])
    >>> with vt.interventions(model, heads=[vt.HeadChange("decoder", layer=0, head=3, factor=0.0)]):
    ...     without = model(ids)
    >>> bool((without == model(ids)).all())
    False

    Args:
        model: a torch module whose attention `find_sites` finds: Hugging Face's, ours, those with
            `nn.MultiheadAttention`, or your own.
        heads: a `HeadChange` for each head to change.

    Raises:
        UserError: if the heads can't be found, or a change does not fit the model; in a forward
            inside the block, if numbers do not fit its positions, or if a pattern can't be fixed
            because the model computes its attention in a kernel of its own.

    Source: Michel et al. 2019, section 2.2; Wang et al. 2023, sections 2.1 and 3.1.
    """
    changes = Interventions(heads=heads).heads  # checks that no head is named twice
    sites = find_sites(model)
    by_site: dict[AttentionSite, list[HeadChange]] = {}
    for change in changes:
        site = site_of(sites, change)
        if not change.is_neutral:
            by_site.setdefault(site, []).append(change)
    patterns = {
        site: fixed
        for site, of_site in by_site.items()
        if (fixed := [change for change in of_site if change.pattern is not None])
    }
    hooked = {site: fixed for site, fixed in patterns.items() if not site.is_torchs}
    with ExitStack() as stack:
        rewrites = [(site, _rewrite(of_site)) for site, of_site in by_site.items()]
        stack.enter_context(rewritten(rewrites, patterns))
        if hooked:
            stack.enter_context(FixedPatterns(hooked))
        yield


def _rewrite(changes: Sequence[HeadChange]) -> Rewrite:
    def rewrite(heads: Tensor) -> Tensor:
        outputs = heads.transpose(1, 2)  # [batch, head, position, d_head]
        return change_outputs(outputs, changes).transpose(1, 2)  # [batch, position, head, d_head]

    return rewrite


def site_of(sites: Sequence[AttentionSite], change: HeadChange) -> AttentionSite:
    """Return the layer of a change, or raise a UserError that says what the model has."""
    of_kind = {site.layer: site for site in sites if site.kind == change.kind}
    if not of_kind:
        kinds = list(dict.fromkeys(site.kind for site in sites))
        raise UserError(f"this model has no {change.kind} attention; it has {kinds}")
    site = of_kind.get(change.layer)
    if site is None or change.head >= site.n_heads:
        n_heads = site.n_heads if site else max(each.n_heads for each in of_kind.values())
        numbers = list(of_kind)
        is_all = numbers == list(range(len(numbers)))
        layers = f"go from 0 to {len(numbers) - 1}" if is_all else f"that attend are {numbers}"
        raise UserError(
            f"{change.kind} layer {change.layer} head {change.head} is not in this model, whose "
            f"{change.kind} layers {layers} and heads from 0 to {n_heads - 1}"
        )
    return site


def head_outputs(model: nn.Module, *inputs: Any, **named: Any) -> dict[str, NDArray[np.float32]]:
    """Run a model once, and return the output of every head at every position.

        other = head_outputs(model, input_ids=other_ids)["decoder"]
        change = vt.HeadChange("decoder", layer=0, head=3, output=other[0, 3])

    >>> import torch
    >>> import viz_transformer as vt
    >>> model = vt.load_language_model().model
    >>> vt.head_outputs(model, torch.tensor([[1, 5, 7]]))["decoder"].shape  # [layer, head, position, d_head]
    (2, 4, 3, 16)

    Args:
        model: any torch module whose attention `find_sites` finds; it runs in evaluation mode and
            without gradients, and is then as it was.
        inputs: what its forward takes, of one sentence.
        named: likewise, by name.

    Returns:
        For each kind of attention float32 [layer, head, position, d_head]: the input of the output
        projection. ``"cross"`` has the decoder's positions.

    Raises:
        UserError: if the heads can't be found, the batch holds several sentences, or the layers of
            a kind differ in their sizes.

    Source: Vaswani et al. 2017, section 3.2.2, head_i of the concatenation.
    """
    sites = find_sites(model)
    seen: dict[AttentionSite, list[Tensor]] = {site: [] for site in sites}
    with rewritten([(site, _keep(seen[site])) for site in sites]), evaluating(model):
        model(*inputs, **named)
    by_kind: dict[str, list[NDArray[np.float32]]] = {}
    for site, found in seen.items():
        by_kind.setdefault(site.kind, []).append(_one_sentence(site, found))
    for kind, layers in by_kind.items():
        shapes = sorted({layer.shape for layer in layers})
        if len(shapes) > 1:
            raise UserError(
                f"the {kind} layers differ in [head, position, d_head]: {shapes}; give a model whose "
                "layers are alike, or one of its parts"
            )
    return {kind: np.stack(layers) for kind, layers in by_kind.items()}


def _keep(seen: list[Tensor]) -> Rewrite:
    def keep(heads: Tensor) -> Tensor:
        seen.append(heads.detach())
        return heads

    return keep


def _one_sentence(site: AttentionSite, seen: list[Tensor]) -> NDArray[np.float32]:
    """Return one layer's heads [head, position, d_head]."""
    if len(seen) != 1:
        raise UserError(
            f"{site.name} ran {len(seen)} times in one forward of the model, and its heads' outputs are "
            "read where it runs once; give a model whose layers each run once"
        )
    heads = seen[0]  # [batch, position, head, d_head]
    if len(heads) != 1:
        raise UserError(f"the batch has {len(heads)} sentences; give one, such as ids[:1]")
    return heads[0].transpose(0, 1).float().cpu().numpy()  # [head, position, d_head]


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
                stack.enter_context(site.projection.register_forward_pre_hook(hook, with_kwargs=True))
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
    """Rewrite heads' outputs that are side by side, [..., position, n_heads · d_head]."""
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
