"""The blocks of any torch model with attention as they are: which parts they have, in which order.

All that is known of a model is what its attention layers are (`sites`). While it reads a text, hooks
tell what runs before, within and after each block: norms, attention, the network for each word. Where the
sums with the residual stream are follows from that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
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
    given: Tensor | None = None
    made: Tensor | None = None
    events: list[_Event] = field(default_factory=list)


class _Run:
    """What ran, in its order, while the hooks were in place."""

    def __init__(self, model: nn.Module) -> None:
        self.blocks = _blocks_of(model)
        self.words: Tensor | None = None
        self.last: list[tuple[nn.Module, Tensor]] = []  # norms beside the blocks, since the last block
        self.logits: Tensor | None = None
        self._stack = ExitStack()
        for block in self.blocks:
            self._watch_block(block)
        inside = {id(part) for block in self.blocks for part in block.module.modules()}
        for name, module in model.named_modules():
            around = name.rpartition(".")[0]
            if id(module) not in inside and is_norm(module) and self.blocks[0].path.startswith(around):
                self._hook(module, lambda norm, _, made: self.last.append((norm, _first(made))))
        words: Any = model
        self._hook(words.get_input_embeddings(), self._keep_words)
        self._hook(model, self._keep_logits)

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _hook(self, module: nn.Module, keep: Callable[[nn.Module, Tensor, Any], None]) -> None:
        """Call `keep` with what the module read first and what it made, when it has run."""

        def hook(ran: nn.Module, given: tuple[Any, ...], named: dict[str, Any], made: Any) -> None:
            read: Any = given[0] if given else named.get("hidden_states")
            keep(ran, read, made)

        self._stack.callback(module.register_forward_hook(hook, with_kwargs=True).remove)

    def _watch_block(self, block: _Block) -> None:
        def begin(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            block.given = given[0] if given else named["hidden_states"]
            block.events, self.last = [], []

        def end(_: nn.Module, __: Tensor, made: Any) -> None:
            block.made = _first(made)

        handle = block.module.register_forward_pre_hook(begin, with_kwargs=True)
        self._stack.callback(handle.remove)
        self._hook(block.module, end)
        for kind, module, owners in _parts_in(block):
            self._hook(module, _keeper(block, kind, owners))

    def _keep_words(self, _: nn.Module, __: Tensor, made: Any) -> None:
        self.words = made

    def _keep_logits(self, _: nn.Module, __: Tensor, made: Any) -> None:
        self.logits = getattr(made, "logits", None)


def _keeper(block: _Block, kind: str, owners: list[nn.Module]) -> Callable[[nn.Module, Tensor, Any], None]:
    def keep(_: nn.Module, given: Tensor, made: Any) -> None:
        last = block.events[-1] if block.events else None
        if last is not None and kind == last.kind == "feed_forward":
            last.modules, last.made = [*last.modules, *owners], _first(made)
        else:
            block.events.append(_Event(kind, owners, given, _first(made)))

    return keep


def read_blocks(
    model: nn.Module, run: Callable[[], ForwardTrace]
) -> tuple[ForwardTrace, list[BlockPart], Tensor | None]:
    """Return the attention of a text, a model's parts in the order of the flow, and its logits.

    Args:
        model: a model of Hugging Face's with one stack of blocks.
        run: lets the model read a text, and returns its attention.

    Raises:
        UserError: if the model's blocks are not found, or it has two stacks.
    """
    with _Run(model) as ran:
        if _has_two(ran.blocks):
            name = type(model).__name__
            raise UserError(
                f"{name} has an encoder and a decoder, and this picture takes a model with one "
                "stack of blocks; vt.attention_stepper(model, …) and vt.head_lab(model, …) take it"
            )
        trace = run()
    logits = None if ran.logits is None else ran.logits[0].detach()
    return trace, list(_Counted(model, ran).parts()), logits


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
        events, given = block.events, block.given
        branches = [event.kind for event in events if event.kind != "norm"]
        before = bool(events) and (events[0].kind == "norm" or events[-1].kind != "norm")
        last_at = max((at for at, event in enumerate(events) if event.kind != "norm"), default=-1)
        parallel = before and _is_parallel(events, given)
        name = ""
        for at, event in enumerate(events):
            if event.kind != "norm":
                name = event.kind
                yield self._part(f"{number}.{name}", _kind_of(block, name), number, event.modules, event.made)
                following = next((each for each in events[at + 1 :]), None)
                if before and at < last_at and not parallel and _leads_on(events, at):
                    after = next(each for each in events[at + 1 :] if _opens(events, each))
                    yield self._part(f"{number}.{name}_residual", "add", number, [], after.given)
                elif before and at == last_at and (following is None):
                    yield self._part(f"{number}.{name}_residual", "add", number, [], block.made)
                continue
            if before and _opens(events, event):
                coming = next((each.kind for each in events[at:] if each.kind != "norm"), branches[-1])
                yield self._part(f"{number}.{coming}_norm", "norm", number, event.modules, event.made)
            elif before:  # a norm within the branch, after its part
                yield self._part(f"{number}.{name}_after_norm", "norm", number, event.modules, event.made)
                ends = at + 1 == len(events)
                if ends or _opens(events, events[at + 1]):
                    summed = block.made if ends else events[at + 1].given
                    yield self._part(f"{number}.{name}_residual", "add", number, [], summed)
            else:
                yield self._part(f"{number}.{name}_residual", "add_norm", number, event.modules, event.made)

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


def _opens(events: list[_Event], norm: _Event) -> bool:
    """Whether a norm is before a part, and not after one in the same branch."""
    at = events.index(norm)
    if norm.kind != "norm":
        return False
    following = events[at + 1] if at + 1 < len(events) else None
    before = events[at - 1] if at else None
    if following is None:
        return False
    # Between two parts the first norm of several closes a branch, and the last opens the next.
    return following.kind != "norm" or before is None


def _leads_on(events: list[_Event], at: int) -> bool:
    """Whether the event after a part opens the next branch: then the sum is between them."""
    return at + 1 < len(events) and _opens(events, events[at + 1])


def _is_parallel(events: list[_Event], given: Tensor | None) -> bool:
    """Whether attention and network read the same vectors, side by side."""
    places = [at for at, event in enumerate(events) if event.kind != "norm"]
    if len(places) < 2 or given is None:
        return False
    norms = [event for event in events[places[0] + 1 : places[-1]] if event.kind == "norm"]
    return not norms or torch.equal(norms[-1].given, given)


def _kind_of(block: _Block, name: str) -> str:
    is_masked = name == "self_attention" and block.sites[0].kind == "decoder"
    return "masked_self_attention" if is_masked else name


def _blocks_of(model: nn.Module) -> list[_Block]:
    """Return the blocks: of each layer of attention the module whose name ends in the layer's number."""
    blocks: dict[str, _Block] = {}
    for site in find_sites(model):
        parts = site.name.split(".")
        number = next((at for at, part in enumerate(parts) if part.isdigit()), None)
        if number is None:
            name = type(model).__name__
            raise UserError(
                f"{name} has its attention in {site.name!r}, in no list of blocks, so they can't be "
                "drawn; vt.capture(model, …) shows its attention"
            )
        path = ".".join(parts[: number + 1])
        blocks.setdefault(path, _Block(path, model.get_submodule(path), [])).sites.append(site)
    return list(blocks.values())


def _has_two(blocks: list[_Block]) -> bool:
    return len({site.kind for block in blocks for site in block.sites}) > 1


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
