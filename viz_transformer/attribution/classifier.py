"""What a classifier makes of vectors: it reads its class token, or a mean, and scores the whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.attribution.prompt import Prompt, run
from viz_transformer.attribution.residual import Blocks, Stream, after, is_close

#: So many copies of a picture at most are read at once.
_MOST_COPIES = 64


def class_logits(blocks: Blocks, prompt: Prompt, module: nn.Module, vectors: Tensor) -> Tensor:
    """Return the logits of what a module leaves, were it the same vector at every position.

    A classifier that reads one position, or the mean of some, then reads that vector. The blocks are
    skipped, so this costs what stands before and behind them.

    Args:
        blocks: of the model.
        prompt: a prompt that it has read.
        module: the last block, or a norm behind it.
        vectors: [vector, d_model].

    Returns:
        [vector, class]
    """
    everywhere = vectors[:, None].expand(-1, len(prompt.tokens), -1)  # [vector, position, d_model]
    return whole_logits(blocks, prompt, module, everywhere)


def whole_logits(blocks: Blocks, prompt: Prompt, module: nn.Module, states: Tensor) -> Tensor:
    """Return the logits [row, class] of whole states [row, position, d_model] that a module leaves."""
    found = []
    with _skipped(blocks, prompt):
        for some in states.split(_MOST_COPIES):
            with after(module, partial(_in_place, some)):
                found.append(run(blocks.model, prompt, len(some))[:, 0])  # [row, class]
    return torch.cat(found)


def answering_position(blocks: Blocks, prompt: Prompt, stream: Stream) -> int | None:
    """Return the position that a classifier reads, such as that of ``[CLS]``; None if it reads several."""
    own = stream.logits[0]  # [class]
    read = class_logits(blocks, prompt, blocks.modules[-1], stream.states[-1])  # [position, class]
    distances = (read - own).abs().amax(-1)  # [position]
    nearest = int(distances.argmin())
    return nearest if is_close(own, read[nearest]) else None


def _in_place(states: Tensor, own: Tensor) -> Tensor:
    """Return what stands in place of a module's own output: a norm may read the class token alone."""
    return states[:, 0] if own.ndim == 2 else states


@contextmanager
def _skipped(blocks: Blocks, prompt: Prompt) -> Iterator[None]:
    """Let each block return at once what it returns for a prompt, whatever it is given."""
    returned: dict[nn.Module, Any] = {}
    with ExitStack() as hooks:
        for block in blocks.modules:
            handle = block.register_forward_hook(
                lambda module, _, output: returned.__setitem__(module, output)
            )
            hooks.callback(handle.remove)
        run(blocks.model, prompt)
    with ExitStack() as forwards:
        for block in blocks.modules:
            forwards.enter_context(_returning(block, returned[block]))
        yield


@contextmanager
def _returning(module: nn.Module, output: Any) -> Iterator[None]:
    """Replace a module's forward by what it returned before."""
    own = vars(module).get("forward")  # others may have put one there, as accelerate does
    vars(module)["forward"] = lambda *_, **__: output
    try:
        yield
    finally:
        del vars(module)["forward"]
        if own is not None:
            vars(module)["forward"] = own
