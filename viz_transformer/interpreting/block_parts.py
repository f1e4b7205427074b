"""The parts of the blocks of any torch model, in the order in which they run.

Of a model only its attention layers are known (`sites`). While it reads a text, hooks record what runs
before, within and after each block: norms, attention, the network of each position. The places of the sums
with the residual stream follow from that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.trace import ForwardTrace


@dataclass(frozen=True, eq=False)
class BlockPart:
    """One part of a model, as it ran.

    Attributes:
        key: where it is, such as ``"decoder.0.self_attention"``.
        kind: ``"tokens"``, ``"embedding"``, ``"positions"``, ``"norm"``, ``"self_attention"``,
            ``"masked_self_attention"``, ``"cross_attention"``, ``"feed_forward"``, ``"add"``, ``"add_norm"``,
            ``"last_norm"``, ``"output"`` or ``"rest"``.
        stack: ``"encoder"`` or ``"decoder"``.
        layer: of its block, from 0; None outside the blocks.
        modules: what carries it out.
        parameters: how many numbers it learns that no part before it has.
        vectors: what comes out of it, float32 [position, d_model], or None.
    """

    key: str
    kind: str
    stack: str
    layer: int | None
    modules: tuple[nn.Module, ...]
    parameters: int
    vectors: Tensor | None


@dataclass(eq=False)
class _Event:
    """A part of a block that ran: an attention, a norm, or what is neither and learns something."""

    kind: str
    modules: list[nn.Module]
    given: Tensor
    made: Tensor


@dataclass(eq=False)
class _Block:
    """A block as it ran."""

    path: str
    module: nn.Module
    sites: list[AttentionSite]
    given: Any = None
    made: Any = None
    events: list[_Event] = field(default_factory=list)


@dataclass(eq=False)
class _Run:
    """What ran: blocks, the words' vectors, the norms beside the blocks since the last one, the logits."""

    blocks: list[_Block]
    words: Any = None
    last: list[tuple[nn.Module, Tensor]] = field(default_factory=list)
    logits: Tensor | None = None


def read_blocks(
    model: Any, run: Callable[[], ForwardTrace]
) -> tuple[ForwardTrace, list[BlockPart], Tensor | None]:
    """Return the attention of a text, a model's parts in the order of the flow, and its logits.

    Args:
        model: a model of Hugging Face's with one stack of blocks.
        run: lets the model read a text, and returns its attention.

    Raises:
        UserError: if the model's blocks are not found, or it has two stacks.
    """
    ran = _Run(_blocks_of(model))
    if len({site.kind for block in ran.blocks for site in block.sites}) > 1:
        raise UserError(
            f"{type(model).__name__} has an encoder and a decoder, and this picture takes a model with one "
            "stack of blocks; vt.attention_stepper(model, …) and vt.head_lab(model, …) take it"
        )
    with ExitStack() as hooks:
        _watch(model, ran, hooks)
        trace = run()
    logits = None if ran.logits is None else ran.logits[0].detach()
    return trace, list(_Counted(model, ran).parts()), logits


def _watch(model: Any, ran: _Run, hooks: ExitStack) -> None:
    """Keep what runs, in its order, as long as the hooks stay."""

    def on_call(module: nn.Module, keep: Callable[[Any, Any], None]) -> None:
        """Call `keep` with what the module read first and what it made, when it has run."""

        def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any], made: Any) -> None:
            keep(given[0] if given else named.get("hidden_states"), made)

        hooks.enter_context(module.register_forward_hook(hook, with_kwargs=True))

    def begin_block(block: _Block, *_: Any) -> None:
        block.events, ran.last = [], []

    def end_block(block: _Block, given: Any, made: Any) -> None:
        block.given, block.made = given, _first(made)

    def end_part(block: _Block, kind: str, modules: list[nn.Module], given: Any, made: Any) -> None:
        last = block.events[-1] if block.events else None
        if last is not None and kind == last.kind == "feed_forward":
            last.modules, last.made = [*last.modules, *modules], _first(made)
        else:
            block.events.append(_Event(kind, modules, given, _first(made)))

    def end_norm(norm: nn.Module, _: Any, made: Any) -> None:
        ran.last.append((norm, _first(made)))

    for block in ran.blocks:
        for kind, module, modules in _parts_in(block):
            on_call(module, partial(end_part, block, kind, modules))
        hooks.enter_context(block.module.register_forward_pre_hook(partial(begin_block, block)))
        on_call(block.module, partial(end_block, block))
    inside = {id(part) for block in ran.blocks for part in block.module.modules()}
    for name, module in model.named_modules():
        around = name.rpartition(".")[0]
        if id(module) not in inside and is_norm(module) and ran.blocks[0].path.startswith(around):
            on_call(module, partial(end_norm, module))
    on_call(model.get_input_embeddings(), lambda _, made: setattr(ran, "words", made))
    on_call(model, lambda _, made: setattr(ran, "logits", getattr(made, "logits", None)))


class _Counted:
    """A model's parts, with the parameters that none before them has."""

    def __init__(self, model: Any, ran: _Run) -> None:
        self._model, self._ran = model, ran
        self._known: set[int] = set()
        self._stack = ran.blocks[0].sites[0].kind

    def parts(self) -> Iterator[BlockPart]:
        """Yield every part."""
        first, words = self._ran.blocks[0].given, self._model.get_input_embeddings()
        yield self._part("tokens", "tokens", None, [], None)
        others = [
            module
            for name, module in self._model.named_modules()
            if module is not words and "emb" in name.lower() and not list(module.children())
        ]
        others += [m for name, m in self._model.named_modules() if name.rpartition(".")[2] == "wpe"]
        learned = any(isinstance(module, nn.Embedding) for module in others)
        vectors = self._ran.words if learned else first
        output = self._model.get_output_embeddings()
        others = [module for module in others if module is not output]
        yield self._part("embedding", "embedding", None, [words] if learned else [words, *others], vectors)
        if learned:
            yield self._part("positions", "positions", None, others, first)
        for number, block in enumerate(self._ran.blocks):
            yield from self._block(number, block)
        for norm, made in self._ran.last[:1]:
            yield self._part("norm", "last_norm", None, [norm], made)
        rest = [
            module
            for module in self._model.children()
            if any(id(each) not in self._known for each in module.parameters())
        ]
        if self._ran.logits is not None:
            yield self._part("output", "output", None, rest, None)
        elif rest:
            yield self._part("rest", "rest", None, rest, self._ran.blocks[-1].made)

    def _block(self, number: int, block: _Block) -> Iterator[BlockPart]:
        events = block.events
        before = bool(events) and (events[0].kind == "norm" or events[-1].kind != "norm")
        parallel = before and _is_parallel(block)
        name = ""
        for at, event in enumerate(events):
            is_last = at + 1 == len(events)
            opens_next = _opens(events, at + 1)
            if event.kind != "norm":
                name = event.kind
                is_masked = name == "self_attention" and block.sites[0].kind == "decoder"
                kind = "masked_self_attention" if is_masked else name
                yield self._part(f"{number}.{name}", kind, number, event.modules, event.made)
                is_added = before and (is_last or (opens_next and not parallel))
            elif before and _opens(events, at):
                coming = next(each.kind for each in events[at:] if each.kind != "norm")
                yield self._part(f"{number}.{coming}_norm", "norm", number, event.modules, event.made)
                is_added = False
            elif before:  # a norm within the branch, after its part
                yield self._part(f"{number}.{name}_after_norm", "norm", number, event.modules, event.made)
                is_added = is_last or opens_next
            else:
                yield self._part(f"{number}.{name}_residual", "add_norm", number, event.modules, event.made)
                is_added = False
            if is_added:
                summed = block.made if is_last else events[at + 1].given
                yield self._part(f"{number}.{name}_residual", "add", number, [], summed)

    def _part(
        self, key: str, kind: str, layer: int | None, modules: list[nn.Module], vectors: Tensor | None
    ) -> BlockPart:
        found = {id(each): each.numel() for module in modules for each in module.parameters()}
        new = found.keys() - self._known
        self._known |= new
        return BlockPart(
            key=f"{self._stack}.{key}",
            kind=kind,
            stack=self._stack,
            layer=layer,
            modules=tuple(modules),
            parameters=sum(found[each] for each in new),
            vectors=None if vectors is None else vectors[0].detach().float().cpu(),
        )


def _opens(events: list[_Event], at: int) -> bool:
    """Return whether there is a norm before a part, and none after one in the same branch."""
    if at + 1 >= len(events) or events[at].kind != "norm":
        return False
    # Between two parts the first norm of several closes a branch, and the last opens the next.
    return events[at + 1].kind != "norm" or at == 0


def _is_parallel(block: _Block) -> bool:
    """Return whether attention and network read the same vectors, side by side."""
    places = [at for at, event in enumerate(block.events) if event.kind != "norm"]
    if len(places) < 2 or block.given is None:
        return False
    norms = [event for event in block.events[places[0] + 1 : places[-1]] if event.kind == "norm"]
    return not norms or torch.equal(norms[-1].given, block.given)


def _blocks_of(model: nn.Module) -> list[_Block]:
    """Return the blocks: of each layer of attention the module whose name ends in the layer's number."""
    blocks: dict[str, _Block] = {}
    for site in find_sites(model):
        parts = site.name.split(".")
        number = next((at for at, part in enumerate(parts) if part.isdigit()), None)
        if number is None:
            raise UserError(
                f"{type(model).__name__} has its attention in {site.name!r}, in no list of blocks, so they "
                "can't be drawn; vt.capture(model, …) shows its attention"
            )
        path = ".".join(parts[: number + 1])
        blocks.setdefault(path, _Block(path, model.get_submodule(path), [])).sites.append(site)
    return list(blocks.values())


def _parts_in(block: _Block) -> Iterator[tuple[str, nn.Module, list[nn.Module]]]:
    """Yield what is watched in a block: its kind, what makes its vectors, and all that belongs to it."""
    inside: set[int] = set()
    for site in block.sites:
        kind = "cross_attention" if site.kind == "cross" else "self_attention"
        yield kind, site.projection, [site.attention, site.projection]
        inside |= {id(each) for each in (*site.attention.modules(), *site.projection.modules())}
    yield from _others_in(block.module, inside)


def _others_in(module: nn.Module, inside: set[int]) -> Iterator[tuple[str, nn.Module, list[nn.Module]]]:
    """Yield norms, and the largest modules that learn something and hold neither norms nor attention."""
    for child in module.children():
        if id(child) in inside or not any(True for _ in child.parameters()):
            continue
        if is_norm(child):
            yield "norm", child, [child]
        elif any(is_norm(each) or id(each) in inside for each in child.modules()):
            yield from _others_in(child, inside)
        else:
            yield "feed_forward", child, [child]


def is_norm(module: nn.Module) -> bool:
    """Whether a module normalises vectors, by its name."""
    return "norm" in type(module).__name__.lower() and not list(module.children())


def _first(made: Any) -> Tensor:
    return made[0] if isinstance(made, tuple | list) else made
