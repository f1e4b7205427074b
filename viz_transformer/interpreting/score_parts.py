"""Why a head looks there: its score, divided among the parts that the query and the key were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.capturing.running import attention_implementation, evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.metric import token_names
from viz_transformer.interpreting.prompt import Prompt, PromptLike, read_prompt, run_whole
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.interpreting.stream import (
    Blocks,
    check_same,
    final_norm,
    find_blocks,
    logits_of,
    read_states,
)
from viz_transformer.interpreting.stream_parts import Added, FrozenNorm, Watched, added_by_blocks, exact
from viz_transformer.trace import KINDS, ScoreParts

#: How many numbers one batch of parts may hold: 64 MB in float32.
_MOST_NUMBERS = 16_000_000
#: How many tokens are named that a head raises, and that it lowers.
_NAMED = 5


def score_parts(
    model: Any,
    prompt: PromptLike,
    *,
    layer: int,
    head: int,
    query: int = -1,
    key: int,
    kind: str | None = None,
    tokenizer: Any = None,
    target: PromptLike | None = None,
) -> ScoreParts:
    """Divide the score of a query with a key among the parts that the two were made of.

        parts = vt.attribution.score_parts(model, text, tokenizer=tokenizer, layer=4, head=2, query=9, key=3)
        vt.plots.plot_score_parts(parts)

    The vectors that a head compares are sums: of the word, its position, and what every earlier head and
    network added there. With the scale of each norm kept as it is, the score before the softmax is then a sum
    too, with one number for each pair of a part of the query and a part of the key. Rotary positions turn
    each part alike, and heads that share their keys are compared with those.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> bool(abs(parts.values.sum() + parts.remainder - parts.score) < 1e-4)
    True

    Args:
        model: one of ours, or of Hugging Face's whose blocks norm before or after their parts, as those of
            Llama, GPT-2 and BERT do, and which compares by torch's `scaled_dot_product_attention`.
        prompt: a text, or token ids [position].
        layer: counted from 0.
        head: counted from 0.
        query: the position that looks; −1 is the last.
        key: the position that is looked at.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; by default the model's only one, or ``"cross"``.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, as in `logit_lens`.

    Raises:
        UserError: if the model is no such model, its score is no such sum, or a number does not fit.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section on QK circuits.
    """
    site = _site(model, kind, layer, head)
    text = read_prompt(model, prompt, tokenizer, target)
    sides = [text.side(side) for side in (KINDS[site.kind].query, KINDS[site.kind].key)]
    places = [_place(*each) for each in zip(("query", "key"), (query, key), sides, strict=True)]
    with evaluating(model), attention_implementation(model, "sdpa"):
        call = _watch(model, text, site)
        own = _Stack(find_blocks(model, "encoder" if site.kind == "encoder" else "decoder"), text)
        other = _Stack(find_blocks(model, "encoder"), text) if site.kind == "cross" else own
        names, parts = zip(
            *(
                _parts_of(stack, place, site, given[0, place])
                for stack, place, given in zip((own, other), places, call.inputs, strict=True)
            ),
            strict=True,
        )
        score, mask, values = _compare_parts(call, parts, places, head)
        raised, lowered = _tokens_changed(own, places[0], site, head)
    check_same(
        score,
        values.sum() + mask,
        f"the scores of {type(site.attention).__name__} are not linear in what its queries and keys are made "
        "of (it norms them once more, or compares otherwise), so they cannot be divided",
        size=values.abs().max(),
    )
    return ScoreParts(
        kind=site.kind,
        layer=layer,
        head=head,
        query=places[0],
        key=places[1],
        query_tokens=sides[0].tokens,
        key_tokens=sides[1].tokens,
        query_parts=names[0],
        key_parts=names[1],
        values=values.numpy(),
        remainder=float(mask),
        score=float(score),
        raised=raised,
        lowered=lowered,
    )


def _site(model: Any, kind: str | None, layer: int, head: int) -> AttentionSite:
    """Return the attention of a head."""
    sites = find_sites(model)
    kinds = list(dict.fromkeys(site.kind for site in sites))
    kind = kind or ("cross" if "cross" in kinds else kinds[-1])
    of_kind = {site.layer: site for site in sites if site.kind == kind}
    if layer not in of_kind or head not in range(of_kind[layer].n_heads):
        has = f"layers {[*of_kind]} of {sites[0].n_heads} heads" if of_kind else f"the kinds {kinds}"
        asked = f"kind={kind!r:.20}, layer={layer!r:.20}, head={head!r:.20}"
        raise UserError(f"{asked} is no head of this model; choose of {has}")
    return of_kind[layer]


def _place(name: str, position: int, side: Prompt) -> int:
    length = len(side.tokens)
    if not isinstance(position, int) or not -length <= position < length:
        raise UserError(
            f"{name}={position!r:.40}, but the text has {length} tokens; choose 0 to {length - 1}, or −1 for "
            "the last"
        )
    return position % length


class _Comparison(TorchFunctionMode):
    """Keep the queries and keys that torch is asked to compare, and compare none."""

    def __init__(self) -> None:
        super().__init__()
        self.found: tuple[Tensor, Tensor] | None = None
        self.scale = 1.0
        self.mask: Tensor | None = None
        self.is_causal = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run a function, but for the one that attends."""
        kwargs = kwargs or {}
        if func is not F.scaled_dot_product_attention:
            return func(*args, **kwargs)
        named = (kwargs[name] for name in ("query", "key", "value", "attn_mask") if name in kwargs)
        query, key, value, *others = (*args, *named)
        self.found = query, key
        self.scale = kwargs.get("scale") or query.shape[-1] ** -0.5
        self.mask = others[0] if others else None
        self.is_causal = bool(kwargs.get("is_causal"))
        return query.new_zeros(*query.shape[:-1], value.shape[-1])


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of one attention.

    Attributes:
        site: the attention.
        args: what it was given by position.
        kwargs: and by name.
        inputs: of these, what its queries [1, query, d_model] and its keys [1, key, d_model] are made of.
    """

    site: AttentionSite
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[Tensor, Tensor]

    def compare(self, queries: Tensor, keys: Tensor) -> _Comparison:
        """Call it once more with other vectors, [row, position, d_model] each."""

        def instead(given: Any) -> Any:
            if given is self.inputs[0]:
                return queries
            if given is self.inputs[1]:
                return keys
            return None if hasattr(given, "get_seq_length") else given  # a cache would grow

        with _Comparison() as comparison:
            self.site.attention(
                *map(instead, self.args), **{name: instead(given) for name, given in self.kwargs.items()}
            )
        if comparison.found is None:
            raise UserError(
                f"a {type(self.site.attention).__name__} does not compare queries and keys by torch's "
                "scaled_dot_product_attention, so its scores are not seen; give a model that does, such as "
                "Llama, GPT-2, BERT or one of ours"
            )
        return comparison


def _watch(model: nn.Module, prompt: Prompt, site: AttentionSite) -> _Call:
    """Run a model, and keep what one attention is called with."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def keep(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls.append((args, kwargs))

    with site.attention.register_forward_pre_hook(keep, with_kwargs=True):
        run_whole(model, prompt)
    args, kwargs = calls[0] if calls else ((), {})
    given = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
    vectors = [each for each in given if each.ndim == 3 and each.is_floating_point()]
    if not vectors or len(calls) != 1:
        raise UserError(
            f"a {type(site.attention).__name__} is not called once with vectors [batch, position, d_model], "
            "so what its heads compare is not seen"
        )
    return _Call(site, args, kwargs, (vectors[0], vectors[1] if site.kind == "cross" else vectors[0]))


class _Stack:
    """One stack of a model, and the stream between its blocks while the model reads a prompt.

    Attributes:
        blocks: of the stack.
        prompt: what the model reads.
        states: [block + 1, position, d_model].
    """

    def __init__(self, blocks: Blocks, prompt: Prompt) -> None:
        self.blocks, self.prompt = blocks, prompt
        self.states, _ = read_states(blocks, prompt)
        self._added: dict[int, list[tuple[Added, ...]]] = {}

    def added(self, place: int) -> list[tuple[Added, ...]]:
        """Return what each block added at a position."""
        if place not in self._added:
            self._added[place] = [*added_by_blocks(self.blocks, self.prompt, place, self.states)]
        return self._added[place]

    def watch(self, place: int) -> Watched:
        """Return what went into and came out of all modules of the model at a position of this stack."""
        seen = Watched(self.states.shape[1], place)
        with ExitStack() as hooks:
            for module in self.blocks.model.modules():
                seen.watch(module, hooks)
            run_whole(self.blocks.model, self.prompt)
        return seen


def _parts_of(stack: _Stack, place: int, site: AttentionSite, x: Tensor) -> tuple[tuple[str, ...], Tensor]:
    """Divide the vector x that an attention reads at a position: names, and parts [part, d_model] of the sum.

    The last part is the sum of all biases.
    """
    seen = stack.watch(place)
    names, parts = _parts_of_embedding(stack, place, seen)
    for layer, block in enumerate(stack.added(place)):
        for which, added in enumerate(block):
            if _is_at(stack.blocks, layer, which, site):
                return tuple(names), _as_read(parts, x, seen)
            kind = "cross head" if which else "head"
            names[-1:-1] = (
                [f"network {layer}"]
                if which == len(block) - 1
                else [f"{kind} {layer}·{head}" for head in range(len(added.parts))]
            )
            parts = torch.cat([parts[:-1], added.parts, parts[-1:] + added.bias])
            parts = parts if added.norm is None else _normed(added.norm, parts)
    return tuple(names), _as_read(parts, x, seen)


def _is_at(blocks: Blocks, number: int, which: int, site: AttentionSite) -> bool:
    """Return whether the first or second attention of a block is a site."""
    attentions = (blocks.sites[number], *blocks.cross[number : number + 1])
    return which < len(attentions) and attentions[which].name == site.name


def _normed(norm: FrozenNorm, parts: Tensor) -> Tensor:
    """Return what parts, the last of them the bias, become behind a norm."""
    normed = norm(parts)  # [part, d_model]
    normed[-1] += norm.bias
    return normed


def _as_read(parts: Tensor, x: Tensor, seen: Watched) -> Tensor:
    """Return the parts as an attention reads them: as they are, or behind the norm before it."""
    whole = parts.sum(0)  # [d_model]

    def is_whole(vector: Tensor) -> bool:
        return vector.shape == whole.shape and bool((exact(vector) - whole).norm() <= 1e-3 * whole.norm())

    if is_whole(x):
        return parts
    for norm, read in seen.inputs.items():
        if torch.equal(seen.outputs.get(norm, read[:0]), x) and is_whole(read):
            return _normed(FrozenNorm(norm, read), parts)
    raise UserError(
        "what this attention reads is neither the residual stream nor a norm of it, so its scores cannot be "
        "divided; give a model whose blocks norm before or after their parts"
    )


def _parts_of_embedding(stack: _Stack, place: int, seen: Watched) -> tuple[list[str], Tensor]:
    """Divide what enters the first block into the word, the position where one is added, and the bias."""
    start = stack.states[0, place]  # [d_model]
    inside = {id(module) for block in stack.blocks.modules for module in block.modules()}
    norms = [
        module
        for module, made in seen.outputs.items()
        if id(module) not in inside and isinstance(module, nn.LayerNorm) and torch.equal(made, start)
    ]
    frozen = FrozenNorm(norms[0], seen.inputs[norms[0]]) if norms else None
    whole = exact(seen.inputs[norms[0]] if norms else start)  # [d_model]
    names, rows = ["embedding"], [whole]
    word = _word(stack, place, seen)
    if word is not None and word.shape == whole.shape:
        scales = (1.0, len(whole) ** 0.5)
        is_alone = any((whole - each * word).norm() <= 1e-3 * whole.norm() for each in scales)
        is_scaled = getattr(getattr(stack.blocks.model, "config", None), "scale_embeddings", False)  # ours
        if not is_alone:
            names, rows = ["word", "position"], [scales[is_scaled] * word, whole - scales[is_scaled] * word]
    parts = torch.stack([*rows, torch.zeros_like(whole)])
    return [*names, "biases"], parts if frozen is None else _normed(frozen, parts)


def _word(stack: _Stack, place: int, seen: Watched) -> Tensor | None:
    """Return the row of the table of words at a position, [d_model], where one is read."""
    read = stack.prompt.side("source" if stack.blocks.sites[0].kind == "encoder" else "target").ids
    tables = [
        module
        for module, given in seen.inputs.items()
        if isinstance(module, nn.Embedding) and read is not None and given.tolist() == [read[0, place]]
    ]  # where the word has the number of its position, the table of positions too
    largest = max(tables, key=lambda table: table.num_embeddings, default=None)
    return None if largest is None else exact(seen.outputs[largest])


def _compare_parts(
    call: _Call, made: Sequence[Tensor], places: Sequence[int], head: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Compare each part of a query with each part of a key.

    Returns:
        the model's own score before the softmax, what the mask adds to it, and [query part, key part].
    """
    whole = call.compare(*call.inputs)
    query, key = (rows[0] for rows in _heads(whole, places, head))  # each [d_head]
    mask = _mask_at(whole, places, head)
    if not mask.isfinite() or mask <= torch.finfo(mask.dtype).min / 2:
        raise UserError(
            f"position {places[0]} may not attend to position {places[1]}, so the two have no score; choose "
            "a key that it may attend to"
        )
    queries, keys = (_project(call, each, places, head, side) for side, each in enumerate(made))
    score = (exact(query) @ exact(key) * whole.scale + mask).float()
    return score, exact(mask), queries @ keys.T * whole.scale


def _heads(comparison: _Comparison, places: Sequence[int], head: int) -> tuple[Tensor, Tensor]:
    """Return the query and the key of one head, [row, d_head] each."""
    assert comparison.found is not None
    query, key = comparison.found  # [row, head, position, d_head] each; of grouped heads, fewer keys
    group = query.shape[1] // key.shape[1]
    return query[:, head, places[0]], key[:, head // group, places[1]]


def _mask_at(comparison: _Comparison, places: Sequence[int], head: int) -> Tensor:
    """Return what the mask adds to a score: 0 or −∞, or the bias of a relative position."""
    query, key = places
    added = torch.tensor(-torch.inf if comparison.is_causal and key > query else 0.0)
    mask = comparison.mask
    if mask is None:
        return added
    at = mask[(0,) * (mask.ndim - 3)]  # [head or 1, query or 1, key]
    value = at[min(head, len(at) - 1), min(query, at.shape[1] - 1), key]
    return added + (torch.where(value, 0.0, -torch.inf) if mask.dtype == torch.bool else value.cpu())


def _project(call: _Call, parts: Tensor, places: Sequence[int], head: int, side: int) -> Tensor:
    """Return what an attention makes of each part of a query (side 0) or a key (side 1), [part, d_head].

    The model itself projects and turns them, each part at the place of the whole; the last has the biases.
    """
    whole = call.inputs[side]  # [1, position, d_model]
    rows = torch.cat([parts, torch.zeros_like(parts[:1])]).to(whole)  # [part + 1, d_model]
    found = []
    for some in rows.split(max(1, _MOST_NUMBERS // whole[0].numel())):
        vectors = whole.new_zeros(len(some), *whole.shape[1:])  # [part, position, d_model]
        vectors[:, places[side]] = some
        other = call.inputs[1 - side].expand(len(some), -1, -1)
        given = (vectors, vectors) if call.inputs[0] is call.inputs[1] else (vectors, other)
        comparison = call.compare(*(given if side == 0 else given[::-1]))
        found.append(exact(_heads(comparison, places, head)[side]))
    every = torch.cat(found)  # [part + 1, d_head]
    return torch.cat([every[:-2] - every[-1:], every[-2:-1]])


def _tokens_changed(
    stack: _Stack, place: int, site: AttentionSite, head: int
) -> tuple[tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]:
    """Return the tokens whose logits a head's output raises and lowers most; none where it is no such sum."""
    try:
        logits = _logits_of_head(stack, place, site, head)
    except UserError:
        return (), ()
    named = []
    for sign in (1, -1):
        most = (sign * logits).topk(min(_NAMED, len(logits)))
        names = token_names(stack.prompt.namer, most.indices.tolist())
        named.append(tuple(zip(names, (sign * most.values).tolist(), strict=True)))
    return named[0], named[1]


def _logits_of_head(stack: _Stack, place: int, site: AttentionSite, head: int) -> Tensor:
    """Return what a head adds to the logits at a position, [vocab], with all norms kept as they are."""
    blocks, prompt = stack.blocks, stack.prompt
    if find_blocks(blocks.model).modules != blocks.modules:
        raise UserError(f"the {site.kind} of {type(blocks.model).__name__} writes no tokens")
    vector = exact(stack.states[0, place])  # until the block of the head is reached
    for layer, block in enumerate(stack.added(place)):
        for which, added in enumerate(block):
            if _is_at(stack.blocks, layer, which, site):
                vector = added.parts[head]  # [d_model]
            if added.norm is not None:
                vector = added.norm(vector)
    module = blocks.modules[-1]
    if added.norm is None:  # a norm follows the blocks
        module = final_norm(blocks, prompt, place)
        vector = FrozenNorm(module, stack.states[-1, place])(vector)
    rows = torch.stack([vector, 2 * vector, torch.zeros_like(vector)]).to(stack.states)
    once, twice, nothing = exact(logits_of(blocks, prompt, module, rows))  # each [vocab]
    check_same(
        twice - nothing,
        2 * (once - nothing),
        "the logits are no linear function of what the last block leaves",
    )
    return once - nothing
