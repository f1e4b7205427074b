"""What each part of a model wrote to the residual stream at one position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.attribution.frozen_norm import FrozenNorm, exact
from viz_transformer.attribution.prompt import Prompt, run_whole
from viz_transformer.attribution.residual import Blocks, after, before_any
from viz_transformer.errors import UserError
from viz_transformer.intervening import AttentionSite


@dataclass(frozen=True, eq=False)
class Written:
    """What one attention or one network added to the stream at one position.

    Attributes:
        parts: of an attention [head, d_model]; of a network [1, d_model].
        bias: of the attention's output projection, [d_model].
        norm: of a post-norm model, the norm of the sum; else None.
    """

    parts: Tensor
    bias: Tensor
    norm: FrozenNorm | None = None


class Watched:
    """What went into and came out of modules at a position: vectors by module."""

    def __init__(self, n_positions: int, place: int) -> None:
        self.inputs: dict[nn.Module, Tensor] = {}
        self.outputs: dict[nn.Module, Tensor] = {}
        self._n_positions, self._place = n_positions, place

    def watch(self, module: nn.Module, hooks: ExitStack) -> None:
        """Watch a module as long as the hooks stay."""
        hooks.enter_context(before_any(module, partial(self._keep, self.inputs, module)))
        hooks.enter_context(after(module, partial(self._keep, self.outputs, module)))

    def _keep(self, vectors: dict[nn.Module, Tensor], module: nn.Module, tensor: Any) -> None:
        # Some networks see the positions as rows: [position, width], others [1, position, width].
        if isinstance(tensor, Tensor) and tensor.numel() % self._n_positions == 0:
            # A copy: Falcon adds its attention to the output of its network in place.
            vectors[module] = tensor.reshape(self._n_positions, -1)[self._place].clone()  # [width]


def written_by(blocks: Blocks, prompt: Prompt, place: int, states: Tensor) -> Iterator[tuple[Written, ...]]:
    """Yield what each block wrote: its attention, its cross-attention if it has one, and its network.

    Args:
        blocks: of one stack.
        prompt: what the model reads.
        place: the position.
        states: [block + 1, position, d_model], the stream of that stack.

    Raises:
        UserError: if a block adds its attention to the stream in no known way.
    """
    watched = [Watched(states.shape[1], place) for _ in blocks.modules]
    with ExitStack() as hooks:
        for block, seen in zip(blocks.modules, watched, strict=True):
            for module in block.modules():
                seen.watch(module, hooks)
        run_whole(blocks.model, prompt)
    sites = zip(*filter(None, (blocks.sites, blocks.cross)), strict=True)
    at_place = states[:, place]  # [block + 1, d_model]
    for block, of_block, seen, start, end in zip(
        blocks.modules, sites, watched, at_place[:-1], at_place[1:], strict=True
    ):
        found = _divide(of_block, seen, start, end) or _divide_normed(of_block, seen, start, end)
        if found is None:
            raise not_added(block)
        yield found


def not_added(block: nn.Module) -> UserError:
    """Return the error about a block whose output is no sum of what its parts wrote."""
    return UserError(
        f"a {type(block).__name__} does not simply add its attention and its network to the residual stream "
        "(post-norm models norm the sum, others scale it), so a logit has no share of each head; give a "
        "pre-norm model, or patch: vt.attribution.patching(…)"
    )


def _divide(
    sites: Sequence[AttentionSite], seen: Watched, start: Tensor, end: Tensor
) -> tuple[Written, ...] | None:
    """Divide what a pre-norm block added to its input among its heads and the rest; None if it is none.

    Attention is added as it leaves the projection, or behind one more norm (Gemma 2). Which it is
    shows in the rest: it must be what some other part of the block made.
    """
    for norms in product(*(_norms_behind(site, seen) for site in sites)):
        added = [
            seen.outputs[site.projection] if norm is None else seen.outputs.get(norm, start)
            for site, norm in zip(sites, norms, strict=True)
        ]
        if any(is_sum(end, start, *added, other) for other in seen.outputs.values()):
            attentions = [_write_normed(*pair, seen) for pair in zip(sites, norms, strict=True)]
            rest = exact(end) - exact(start) - sum(each.parts.sum(0) + each.bias for each in attentions)
            return (*attentions, Written(rest[None], torch.zeros_like(rest)))
    return None


def _divide_normed(
    sites: Sequence[AttentionSite], seen: Watched, start: Tensor, end: Tensor
) -> tuple[Written, ...] | None:
    """Divide what a post-norm block made: the norm of each sum stands behind it; None if it is none."""
    current, found = start, []
    for site in sites:
        norm = _norm_of_sum(seen, current, seen.outputs[site.projection])
        if norm is None:
            return None
        heads, bias = _write_heads(site, seen.inputs[site.projection])
        found.append(Written(heads, bias, FrozenNorm(norm, seen.inputs[norm])))
        current = seen.outputs[norm]
    for norm, made in seen.outputs.items():
        x = seen.inputs.get(norm)
        if (
            x is not None
            and torch.equal(made, end)
            and any(is_sum(x, current, y) for y in seen.outputs.values())
        ):
            rest = exact(x) - exact(current)
            return (*found, Written(rest[None], torch.zeros_like(rest), FrozenNorm(norm, x)))
    return None


def _norm_of_sum(seen: Watched, *summands: Tensor) -> nn.Module | None:
    """Return the module that reads the sum of some vectors."""
    reading = (module for module, x in seen.inputs.items() if is_sum(x, *summands))
    return next((module for module in reading if module in seen.outputs), None)


def _norms_behind(site: AttentionSite, seen: Watched) -> list[nn.Module | None]:
    """Return the modules that read what a projection wrote, behind None: that it is added as it is.

    Raises:
        UserError: if the model never calls the projection.
    """
    if site.projection not in seen.outputs:
        raise UserError(
            f"a {type(site.attention).__name__} does not call its output projection, so what its heads "
            "write is not seen; give a model of Hugging Face's or ours, or patch: vt.attribution.patching(…)"
        )
    written = seen.outputs[site.projection]
    return [None, *(each for each, x in seen.inputs.items() if torch.equal(x, written))]


def _write_normed(site: AttentionSite, norm: nn.Module | None, seen: Watched) -> Written:
    """Return what each head adds behind a norm, and what the biases add."""
    heads, bias = _write_heads(site, seen.inputs[site.projection])
    if norm is None:
        return Written(heads, bias)
    frozen = FrozenNorm(norm, seen.outputs[site.projection])
    return Written(frozen(heads), frozen(bias) + frozen.bias)


def is_sum(end: Tensor, *parts: Tensor) -> bool:
    """Return whether a vector is the sum of others, up to rounding."""
    if any(part.shape != end.shape for part in parts):
        return False
    stacked = torch.stack([part.to(end.dtype) for part in parts])  # [part, d_model]
    room = 32 * torch.finfo(end.dtype).eps * stacked.abs().sum(0)  # [d_model]
    return bool(((end - stacked.sum(0)).abs() <= room).all())


def _write_heads(site: AttentionSite, heads: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each head [head · d_head] alone writes, [head, d_model], and the projection's bias."""
    matrices = site.weight.unflatten(0, (site.n_heads, site.d_head))  # [head, d_head, d_model]
    outputs = heads.reshape(site.n_heads, 1, site.d_head)  # [head, 1, d_head]
    bias = site.projection(torch.zeros_like(heads)[None, None])[0, 0]  # [d_model]
    return (exact(outputs) @ exact(matrices))[:, 0], exact(bias)
