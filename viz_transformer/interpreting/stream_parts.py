"""What each part of a model adds to the residual stream at one position, and what a norm makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.interpreting.prompt import Prompt, run_whole
from viz_transformer.interpreting.sites import AttentionSite
from viz_transformer.interpreting.stream import Blocks, after, on_input


def exact(tensor: Tensor) -> Tensor:
    """Return numbers in float64, on the processor: Apple's cards have none of that size."""
    return tensor.detach().cpu().double()


class FrozenNorm:
    """A norm as it acts on the parts of one vector x.

    A LayerNorm or RMSNorm divides by a number that depends on x. With that number kept as it is for x,
    the norm is linear: N(x) = scale · gain · centre(x) + bias, so the parts of x can be normed one by
    one and add up to N(x). The gain, the bias and whether it centres are found by trying the norm on
    known vectors, so it holds for every library's LayerNorm and RMSNorm alike.

    Attributes:
        bias: what the norm adds to every vector, [d_model].

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section on the
    handling of layer normalization; TransformerLens calls it `apply_ln_to_stack`.
    """

    def __init__(self, norm: nn.Module, x: Tensor) -> None:
        """Freeze a norm at the vector x [d_model], or raise a UserError if it is no norm of this kind."""
        zeros, ones = torch.zeros_like(x), torch.ones_like(x)
        test = ones.clone()
        test[1::2] = -1  # 1, −1, 1, −1 …: its mean is 0, so that centring does not change it
        if len(test) % 2:
            test[-1], test[-2], test[-3] = -0.5, -0.5, 1.0
        outputs = exact(norm(torch.stack([zeros, ones, test, x])[:, None])[:, 0])  # [4, d_model]
        self.bias = outputs[0]
        of_ones, of_test, of_x = outputs[1:] - self.bias  # each [d_model]
        self._gain = of_test / exact(test)  # [d_model], up to a factor that the scale takes in
        self._centres = bool(of_ones.abs().max() <= 1e-3 * self._gain.abs().max())
        self._scale = 1.0
        unscaled = self(exact(x))
        self._scale = float(of_x @ unscaled / (unscaled @ unscaled))
        error = (of_x - self(exact(x))).norm()
        if not error <= torch.finfo(x.dtype).eps ** 0.5 * of_x.norm():
            raise UserError(
                f"a {type(norm).__name__} is neither a LayerNorm nor an RMSNorm, so its output cannot be "
                "divided among heads; give a model with one of these"
            )

    def __call__(self, parts: Tensor) -> Tensor:
        """Return what parts [..., d_model] of x become, in float64 and without the bias."""
        if self._centres:
            parts = parts - parts.mean(-1, keepdim=True)
        return self._scale * self._gain * parts


@dataclass(frozen=True, eq=False)
class Added:
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

    def __init__(self, n_positions: int, position: int) -> None:
        self.inputs: dict[nn.Module, Tensor] = {}
        self.outputs: dict[nn.Module, Tensor] = {}
        self._n_positions, self._position = n_positions, position

    def watch(self, module: nn.Module, hooks: ExitStack) -> None:
        """Watch a module as long as the hooks stay."""
        hooks.enter_context(on_input(module, partial(self._keep, self.inputs, module)))
        hooks.enter_context(after(module, partial(self._keep, self.outputs, module)))

    def _keep(self, vectors: dict[nn.Module, Tensor], module: nn.Module, tensor: Any) -> None:
        # Some networks see the positions as rows: [position, width], others [1, position, width].
        if isinstance(tensor, Tensor) and tensor.numel() % self._n_positions == 0:
            # A copy: Falcon adds its attention to the output of its network in place.
            vectors[module] = tensor.reshape(self._n_positions, -1)[self._position].clone()  # [width]


def added_by_blocks(
    blocks: Blocks, prompt: Prompt, position: int, states: Tensor
) -> Iterator[tuple[Added, ...]]:
    """Yield what each block added: its attention, its cross-attention if it has one, and its network.

    Args:
        blocks: of one stack.
        prompt: what the model reads.
        position: where.
        states: [block + 1, position, d_model], the stream of that stack.
    """
    watched = [Watched(states.shape[1], position) for _ in blocks.modules]
    with ExitStack() as hooks:
        for block, seen in zip(blocks.modules, watched, strict=True):
            for module in block.modules():
                seen.watch(module, hooks)
        run_whole(blocks.model, prompt)
    sites = zip(*filter(None, (blocks.sites, blocks.cross)), strict=True)
    ends = states[:, position]  # [block + 1, d_model]
    for block, of_block, seen, start, end in zip(
        blocks.modules, sites, watched, ends[:-1], ends[1:], strict=True
    ):
        found = _divide(of_block, seen, start, end) or _divide_normed(of_block, seen, start, end)
        if found is None:
            raise not_added(block)
        yield found


def not_added(block: nn.Module) -> UserError:
    """Return the error about a block whose output is no sum of what its parts made."""
    return UserError(
        f"a {type(block).__name__} does not simply add its attention and its network to the residual stream "
        "(post-norm models norm the sum, others scale it), so a logit has no share of each head; give a "
        "pre-norm model, or patch: vt.attribution.patching(…)"
    )


def _divide(
    sites: Sequence[AttentionSite], seen: Watched, start: Tensor, end: Tensor
) -> tuple[Added, ...] | None:
    """Divide what a pre-norm block added to its input among its heads and the rest; None if it is none.

    Attention is added as it leaves the projection, or behind one more norm (Gemma 2). Which it is
    shows in the rest: it must be what some other part of the block made.
    """
    for norms in product(*(_norms_behind(site, seen) for site in sites)):
        added = [
            seen.outputs[site.projection] if norm is None else seen.outputs.get(norm, start)
            for site, norm in zip(sites, norms, strict=True)
        ]
        if any(_is_sum(end, start, *added, other) for other in seen.outputs.values()):
            attentions = [_of_attention(*pair, seen) for pair in zip(sites, norms, strict=True)]
            rest = exact(end) - exact(start) - sum(each.parts.sum(0) + each.bias for each in attentions)
            return (*attentions, Added(rest[None], torch.zeros_like(rest)))
    return None


def _divide_normed(
    sites: Sequence[AttentionSite], seen: Watched, start: Tensor, end: Tensor
) -> tuple[Added, ...] | None:
    """Divide what a post-norm block made, a norm behind each sum; None if it is none."""
    current, found = start, []
    for site in sites:
        summands = current, seen.outputs[site.projection]
        reading = (module for module, x in seen.inputs.items() if _is_sum(x, *summands))
        norm = next((module for module in reading if module in seen.outputs), None)
        if norm is None:
            return None
        found.append(Added(*_of_heads(site, seen), FrozenNorm(norm, seen.inputs[norm])))
        current = seen.outputs[norm]
    for norm, made in seen.outputs.items():
        x = seen.inputs.get(norm)
        if (
            x is not None
            and torch.equal(made, end)
            and any(_is_sum(x, current, y) for y in seen.outputs.values())
        ):
            rest = exact(x) - exact(current)
            return (*found, Added(rest[None], torch.zeros_like(rest), FrozenNorm(norm, x)))
    return None


def _norms_behind(site: AttentionSite, seen: Watched) -> list[nn.Module | None]:
    """Return the modules that read what a projection made, behind None: that it is added as it is."""
    if site.projection not in seen.outputs:
        raise UserError(
            f"a {type(site.attention).__name__} does not call its output projection, so what its heads "
            "write is not seen; give a model of Hugging Face's or ours, or patch: vt.attribution.patching(…)"
        )
    made = seen.outputs[site.projection]
    return [None, *(each for each, x in seen.inputs.items() if torch.equal(x, made))]


def _of_attention(site: AttentionSite, norm: nn.Module | None, seen: Watched) -> Added:
    """Return what each head adds, behind a norm where there is one, and what the biases add."""
    heads, bias = _of_heads(site, seen)
    if norm is None:
        return Added(heads, bias)
    frozen = FrozenNorm(norm, seen.outputs[site.projection])
    return Added(frozen(heads), frozen(bias) + frozen.bias)


def _of_heads(site: AttentionSite, seen: Watched) -> tuple[Tensor, Tensor]:
    """Return what the projection makes of each head alone, [head, d_model], and its bias [d_model]."""
    heads = seen.inputs[site.projection]  # [head · d_head]
    matrices = site.weight.unflatten(0, (site.n_heads, site.d_head))  # [head, d_head, d_model]
    outputs = heads.reshape(site.n_heads, 1, site.d_head)  # [head, 1, d_head]
    bias = site.projection(torch.zeros_like(heads)[None, None])[0, 0]  # [d_model]
    return (exact(outputs) @ exact(matrices))[:, 0], exact(bias)


def _is_sum(end: Tensor, *parts: Tensor) -> bool:
    """Return whether a vector is the sum of others, up to rounding."""
    if any(part.shape != end.shape for part in parts):
        return False
    stacked = torch.stack([part.to(end.dtype) for part in parts])  # [part, d_model]
    room = 32 * torch.finfo(end.dtype).eps * stacked.abs().sum(0)  # [d_model]
    return bool(((end - stacked.sum(0)).abs() <= room).all())
