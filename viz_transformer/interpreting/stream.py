"""The residual stream of a model: the blocks of a stack, what flows between them, and what follows them.

A stack is a list of blocks. Each reads the residual stream [batch, position, d_model] and returns it with
its own output added; what follows the last one turns it into logits. Modules are watched by hooks, which
are taken off again, so all of this holds for models of ours and of Hugging Face's alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from viz_transformer.errors import UserError
from viz_transformer.interpreting.batched_runs import returning
from viz_transformer.interpreting.metric import logits_in
from viz_transformer.interpreting.prompt import Prompt, run, run_whole
from viz_transformer.interpreting.sites import AttentionSite, find_sites

#: The name under which Hugging Face's blocks take the stream, where it is not given by position.
_STREAM = "hidden_states"
#: So many copies of a picture at most are read at once.
_MOST_COPIES = 64


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of one stack.

    Attributes:
        model: the whole model.
        modules: the blocks, from the first.
        sites: the self-attention of each; fewer than blocks, if some have none.
        cross: the cross-attention of each, in the decoder of an encoder–decoder; else none.
    """

    model: nn.Module
    modules: tuple[nn.Module, ...]
    sites: tuple[AttentionSite, ...]
    cross: tuple[AttentionSite, ...]


@dataclass(frozen=True, eq=False)
class Stream:
    """The residual stream of one run.

    Attributes:
        states: [block + 1, position, d_model]: what enters the first block, and what each leaves.
        logits: the model's own, [position, vocab]; of a classifier [1, class].
    """

    states: Tensor
    logits: Tensor


def find_blocks(model: Any, kind: str | None = None) -> Blocks:
    """Return the blocks of a stack: those that hold its attention.

    Args:
        model: the model.
        kind: ``"encoder"`` or ``"decoder"``; None for the decoder, or else the encoder.

    Raises:
        UserError: if it is no torch module, or has no single stack of this kind.
    """
    sites = find_sites(model)
    kind = kind or ("decoder" if any(site.kind == "decoder" for site in sites) else "encoder")
    of_stack = {kind, "cross"} if kind == "decoder" else {kind}
    # A site in no list is no block: SigLIP's head attends to what the last one leaves.
    listed = [
        (site, stack)
        for site in sites
        if site.kind in of_stack and (stack := _stack_of(model, site)) is not None
    ]
    stacks = {id(stack): stack for _, stack in listed}
    if len(stacks) != 1:
        raise UserError(
            f"{type(model).__name__} has no single stack of {kind} blocks; give a model whose blocks are "
            "in one list, such as AutoModelForCausalLM, AutoModelForMaskedLM and AutoModelForSeq2SeqLM load"
        )
    (stack,) = stacks.values()
    own, cross = (
        tuple(site for site, _ in listed if (site.kind == "cross") == is_cross) for is_cross in (False, True)
    )
    if len(own) > len(stack):
        raise UserError(
            f"{type(model).__name__} has {len(own)} layers of attention in {len(stack)} stages of "
            f"its {kind}, so there is no one residual stream; give a model whose blocks read the "
            "same positions, such as ViT"
        )
    return Blocks(model, tuple(stack), own, cross)


def _stack_of(model: nn.Module, site: AttentionSite) -> nn.ModuleList | None:
    """Return the outermost list of modules that holds a site."""
    module = model
    for name in site.name.split("."):
        module = getattr(module, name)
        if isinstance(module, nn.ModuleList):
            return module
    return None


def before(module: nn.Module, change: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call `change` with the stream that enters a module; a tensor that it returns goes in instead."""

    def hook(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        new = change(args[0] if args else named[_STREAM])
        if not isinstance(new, Tensor):
            return None
        return ((new, *args[1:]), named) if args else (args, named | {_STREAM: new})

    return module.register_forward_pre_hook(hook, with_kwargs=True)


def after(module: nn.Module, change: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call `change` with what leaves a module; a tensor that it returns comes out instead."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        among_others = isinstance(output, tuple | list)
        new = change(output[0] if among_others else output)
        if not isinstance(new, Tensor):
            return None
        return type(output)((new, *output[1:])) if among_others else new

    return module.register_forward_hook(hook)


def on_input(module: nn.Module, look: Callable[[Any], None]) -> RemovableHandle:
    """Call `look` with the first positional input of a module, where it has one."""
    return module.register_forward_pre_hook(lambda _, args: look(args[0]) if args else None)


def read_stream(blocks: Blocks, prompt: Prompt) -> Stream:
    """Run a model that writes logits on a prompt, and keep the residual stream of a stack."""
    states, output = read_states(blocks, prompt)
    return Stream(states, logits_in(blocks.model, output)[0])


def read_states(blocks: Blocks, prompt: Prompt) -> tuple[Tensor, Any]:
    """Return the residual stream [block + 1, position, d_model] of a stack, and what the model returns."""
    states: list[Tensor] = []
    with ExitStack() as hooks:
        # ALBERT runs its one block several times: what enters it later has left it before.
        first = blocks.modules[0]
        hooks.enter_context(before(first, lambda stream: None if states else states.append(stream)))
        for block in blocks.modules:
            hooks.enter_context(after(block, states.append))
        output = run_whole(blocks.model, prompt)
    if any(len(each) != 1 for each in states):
        raise UserError(
            f"a block of {type(blocks.model).__name__} reads parts of what was given by themselves, "
            "so there is no one residual stream; give a model whose blocks read the whole"
        )
    return torch.cat(states), output


def logits_of(blocks: Blocks, prompt: Prompt, module: nn.Module, vectors: Tensor) -> Tensor:
    """Return what a model makes of vectors behind a module that only norm and output layer follow.

    Whatever the model does there (norms, projections, scaling, capping) is done by the model itself.

    Args:
        blocks: the model's.
        prompt: what the model reads meanwhile; without effect on the result.
        module: the last block, or the norm behind it.
        vectors: [vector, d_model].

    Returns:
        [vector, vocab]
    """
    n_positions = len(prompt.tokens)
    # A model may insist on the shape that it read, so the vectors take the places of whole texts.
    missing = -len(vectors) % n_positions
    texts = F.pad(vectors, (0, 0, 0, missing)).unflatten(0, (-1, n_positions))  # [text, position, d_model]
    with after(module, lambda _: texts):
        logits = run(blocks.model, prompt, len(texts))  # [text, position, vocab]
    return logits.flatten(0, 1)[: len(vectors)]


def class_logits(blocks: Blocks, prompt: Prompt, module: nn.Module, vectors: Tensor) -> Tensor:
    """Return the logits [vector, class] of what a module leaves, were it the same vector at every position.

    A classifier that reads one position, or the mean of some, then reads that vector.

    Args:
        blocks: of the model.
        prompt: a prompt that it has read.
        module: the last block, or a norm behind it.
        vectors: [vector, d_model].
    """
    everywhere = vectors[:, None].expand(-1, len(prompt.tokens), -1)  # [vector, position, d_model]
    return whole_logits(blocks, prompt, module, everywhere)


def whole_logits(blocks: Blocks, prompt: Prompt, module: nn.Module, states: Tensor) -> Tensor:
    """Return the logits [row, class] of whole states [row, position, d_model] that a module leaves."""
    found = []
    with _skipped(blocks, prompt):
        for some in states.split(_MOST_COPIES):
            with after(module, partial(_in_place_of, some)):
                found.append(run(blocks.model, prompt, len(some))[:, 0])
    return torch.cat(found)


def _in_place_of(states: Tensor, own: Tensor) -> Tensor:
    """Return what replaces a module's own output: the norm of a classifier may read the class token alone."""
    return states[:, 0] if own.ndim == 2 else states


@contextmanager
def _skipped(blocks: Blocks, prompt: Prompt) -> Iterator[None]:
    """Let each block return at once what it returns for a prompt, whatever it is given."""
    returned: dict[nn.Module, Any] = {}

    def keep(block: nn.Module, _: Any, output: Any) -> None:
        returned[block] = output

    with ExitStack() as hooks:
        for block in blocks.modules:
            hooks.enter_context(block.register_forward_hook(keep))
        run(blocks.model, prompt)
    with ExitStack() as forwards:
        for block in blocks.modules:
            forwards.enter_context(returning(block, repeat(returned[block])))
        yield


def answering_position(blocks: Blocks, prompt: Prompt, stream: Stream) -> int | None:
    """Return the position that a classifier reads, such as that of ``[CLS]``; None if it reads several."""
    own = stream.logits[0]  # [class]
    read = class_logits(blocks, prompt, blocks.modules[-1], stream.states[-1])  # [position, class]
    nearest = int((read - own).abs().amax(-1).argmin())
    return nearest if is_close(own, read[nearest]) else None


def final_norm(blocks: Blocks, prompt: Prompt, position: int) -> nn.Module:
    """Return the module that first reads the stream when the last block has left it.

    Args:
        blocks: of the model.
        prompt: what it reads.
        position: one that may be read by itself, as a classifier reads its class token.
    """
    inside = {id(module) for block in blocks.modules for module in block.modules()}
    left: list[Tensor] = []
    readers: list[nn.Module] = []

    def watch(module: nn.Module) -> Callable[[Any], None]:
        def look(given: Any) -> None:
            if left and isinstance(given, Tensor):
                vector = left[0][:, position]  # [1, d_model]
                if given is left[0] or (given.shape == vector.shape and torch.equal(given, vector)):
                    readers.append(module)

        return look

    with ExitStack() as hooks:
        hooks.enter_context(after(blocks.modules[-1], left.append))
        for module in blocks.model.modules():
            if id(module) not in inside and not isinstance(module, nn.ModuleList):
                hooks.enter_context(on_input(module, watch(module)))
        run(blocks.model, prompt)
    if not readers:
        raise UserError(f"no norm of {type(blocks.model).__name__} reads what its last block leaves")
    return readers[0]


def is_close(own: Tensor, computed: Tensor, size: Tensor | None = None) -> bool:
    """Return whether numbers computed in parts are the model's own, up to rounding.

    Args:
        own: the model's numbers.
        computed: the same, computed in parts.
        size: how large the numbers are that were added; by default the largest of `own`.
    """
    largest = (own.abs().max() if size is None else size).clamp(min=1.0)
    room = torch.finfo(own.dtype).eps ** 0.5 * largest  # float32: 0.0003; bfloat16: 0.09
    return bool((own - computed).abs().max() <= room)


def check_same(own: Tensor, computed: Tensor, message: str, size: Tensor | None = None) -> None:
    """Raise a UserError if numbers computed in parts are not the model's own; see `is_close`."""
    if not is_close(own, computed, size):
        raise UserError(message)
