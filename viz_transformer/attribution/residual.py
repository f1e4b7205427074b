"""The residual stream of a model: the blocks of a stack, what flows between them, and what follows them.

A stack is a list of blocks. Each reads the residual stream [batch, position, d_model] and returns it with
its own output added; what follows the last one turns it into logits. Everything here watches modules
by hooks, which are taken off again, so it holds for models of ours and of Hugging Face's alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.attribution.prompt import Prompt, logits_in, run, run_whole
from viz_transformer.errors import UserError
from viz_transformer.intervening import AttentionSite, find_sites

#: The name under which Hugging Face's blocks take the stream, where it is not given by position.
_STREAM = "hidden_states"


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
        logits: the model's own, [position, vocab].
    """

    states: Tensor
    logits: Tensor


def find_blocks(model: Any, kind: str | None = None) -> Blocks:
    """Return the blocks of the stack that writes, or of another: those that hold its attention.

    Args:
        model: the model.
        kind: ``"encoder"`` or ``"decoder"``; None for the decoder, or else the encoder.

    Raises:
        UserError: if it is no torch module, or has no single stack of this kind.
    """
    sites = find_sites(model)
    kinds = {site.kind for site in sites}
    kind = kind or ("decoder" if "decoder" in kinds else "encoder")
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
            f"{type(model).__name__} has no single stack of {kind} blocks; give a model whose blocks stand "
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


def read_stream(blocks: Blocks, prompt: Prompt) -> Stream:
    """Run a model that writes logits on a prompt, and keep the residual stream of a stack."""
    states, output = read_states(blocks, prompt)
    return Stream(states, logits_in(blocks.model, output)[0])  # [position, vocab]


def read_states(blocks: Blocks, prompt: Prompt) -> tuple[Tensor, Any]:
    """Return the residual stream [block + 1, position, d_model] of a stack, and what the model returns."""
    states: list[Tensor] = []
    first, *_ = blocks.modules
    with ExitStack() as hooks:
        # ALBERT runs its one block several times: what enters it later has left it before.
        hooks.enter_context(before(first, lambda stream: None if states else states.append(stream)))
        for block in blocks.modules:
            hooks.enter_context(after(block, lambda stream: states.append(stream)))
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


@contextmanager
def before(module: nn.Module, change: Callable[[Tensor], Any]) -> Iterator[None]:
    """Call `change` with the stream that enters a module; a tensor that it returns goes in instead."""

    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        stream = args[0] if args else kwargs[_STREAM]
        new = change(stream)
        if not isinstance(new, Tensor):
            return None
        return ((new, *args[1:]), kwargs) if args else (args, kwargs | {_STREAM: new})

    handle = module.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def after(module: nn.Module, change: Callable[[Tensor], Any]) -> Iterator[None]:
    """Call `change` with what leaves a module; a tensor that it returns comes out instead."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        among_others = isinstance(output, tuple | list)
        new = change(output[0] if among_others else output)
        if not isinstance(new, Tensor):
            return None
        return type(output)((new, *output[1:])) if among_others else new

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def first_reader(blocks: Blocks, prompt: Prompt, place: int) -> nn.Module:
    """Return the module that reads the stream when the last block has left it: the final norm.

    Args:
        blocks: of the model.
        prompt: what it reads.
        place: a position that may be read by itself, as a classifier reads its class token.

    Raises:
        UserError: if no module does.
    """
    inside = {id(module) for block in blocks.modules for module in block.modules()}
    left: list[Tensor] = []
    readers: list[nn.Module] = []

    def watch(module: nn.Module) -> Callable[[Tensor], None]:
        return lambda stream: readers.append(module) if left and _reads(stream, left[0], place) else None

    with ExitStack() as hooks:
        hooks.enter_context(after(blocks.modules[-1], left.append))
        for module in blocks.model.modules():
            if id(module) not in inside and not isinstance(module, nn.ModuleList):
                hooks.enter_context(before_any(module, watch(module)))
        run(blocks.model, prompt)
    if not readers:
        raise UserError(f"no norm of {type(blocks.model).__name__} reads what its last block leaves")
    return readers[0]


def _reads(given: Any, stream: Tensor, place: int) -> bool:
    """Return whether a module was given the stream [1, position, d_model], or its vector at a place."""
    if given is stream:
        return True
    vector = stream[:, place]  # [1, d_model]
    return isinstance(given, Tensor) and given.shape == vector.shape and torch.equal(given, vector)


@contextmanager
def before_any(module: nn.Module, look: Callable[[Any], None]) -> Iterator[None]:
    """Call `look` with the first positional input of a module, where it has one."""
    handle = module.register_forward_pre_hook(lambda _, args: look(args[0]) if args else None)
    try:
        yield
    finally:
        handle.remove()


def check_same(own: Tensor, computed: Tensor, message: str, size: Tensor | None = None) -> None:
    """Check that numbers computed in parts are the model's own.

    Args:
        own: the model's numbers.
        computed: the same, computed in parts.
        message: what to say if they differ by more than rounding.
        size: how large the numbers are that were added; by default the largest of `own`.

    Raises:
        UserError: if they differ.
    """
    if not is_close(own, computed, size):
        raise UserError(message)


def is_close(own: Tensor, computed: Tensor, size: Tensor | None = None) -> bool:
    """Return whether numbers computed in parts are the model's own, up to rounding; see `check_same`."""
    largest = (own.abs().max() if size is None else size).clamp(min=1.0)
    room = torch.finfo(own.dtype).eps ** 0.5 * largest  # float32: 0.0003; bfloat16: 0.09
    return bool((own - computed).abs().max() <= room)
