"""The sorting of attention calls by kind: of which layer, and of which sequences, each call was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.tracing.attention_calls import AttentionCall
from viz_transformer.tracing.labels import Labels
from viz_transformer.tracing.runs import one_map_each
from viz_transformer.tracing.selection import Selection, sentence_index


@dataclass(frozen=True, kw_only=True)
class SortedLayers:
    """The layers of each kind, each [batch, head, query, key].

    Attributes:
        layers: by kind; with labels of one sequence ``"self"``.
        numbers: by kind the number of each layer in the model, where they are not 0, 1, 2 …
        notes: what is not shown, and how to see it.
    """

    layers: dict[str, list[Any]]
    numbers: dict[str, list[int]]
    notes: tuple[str, ...]


def sort_layers(
    calls: Sequence[AttentionCall],
    labels: Labels,
    n_sentences: Sequence[int],
    batch_index: int | None,
    selection: Selection,
) -> SortedLayers:
    """Sort the attention calls of a model, which come in their order.

    With labels of one sequence, all calls are self-attention, whose kind stays open: ``"self"``.
    With those of two sequences of different lengths, the shape [query, key] tells the kind. Where
    the lengths are equal, the order must: encoder layers first, then self-attention and
    cross-attention in turn.

    Args:
        calls: what was recorded.
        labels: those that were given.
        n_sentences: how many sentences the model read; further numbers may be that, if its batch is
            another axis than the first.
        batch_index: which sentence.
        selection: of runs, groups and layers.

    Raises:
        UserError: if that leaves a call's kind open, or a run, or a group of which none is chosen.
    """
    source, target = labels.source, labels.target
    calls, run_notes = one_map_each(calls, labels, selection.run)
    is_pair = source is not None and target is not None
    if not is_pair and labels.only is not None and {True, False} <= {call.is_cross for call in calls}:
        raise UserError(
            "some layers look from one sequence at another, but labels of one sequence were "
            "given; give source_tokens=[...] and target_tokens=[...]"
        )
    numbered, length_notes = _fitting(calls, labels, is_pair, selection.layers)
    calls, notes = list(numbered.values()), [*run_notes, *length_notes]
    layers = [_with_batch(call, n_sentences, selection.group, notes) for call in calls]
    notes = list(dict.fromkeys(notes))
    if source is None or target is None:
        return SortedLayers(layers={"self": layers}, numbers={"self": list(numbered)}, notes=tuple(notes))

    lengths = {source.n_positions: "source", target.n_positions: "target"}
    if len(lengths) == 1:
        kinds = _kinds_by_order(calls, layers, batch_index)
    else:
        kinds = [_kind_by_shape(layer.shape[-2:], lengths) for layer in layers]
    by_kind: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for kind, layer in zip(kinds, layers, strict=True):
        by_kind[kind].append(layer)
    if not by_kind["cross"] and not (by_kind["encoder"] and by_kind["decoder"]):
        raise UserError(
            "source and target tokens were given, but all attention runs over one of the two; "
            "give tokens=[...] for a model that reads one sequence"
        )
    return SortedLayers(layers=by_kind, numbers={}, notes=tuple(notes))


def _fitting(
    calls: Sequence[AttentionCall], labels: Labels, is_pair: bool, chosen: Sequence[int] | None
) -> tuple[dict[int, AttentionCall], list[str]]:
    """Return the calls over the labelled positions by the numbers of their layers, and what is left out.

    Without any such call all are returned. A softmax over other things (a query of its own that gathers a
    picture's patches, a mixture of experts) is no layer: no module of that class attends over the labels.
    """
    lengths = labels.lengths
    modules: dict[str, set[str]] = {}
    for call in calls:
        modules.setdefault(call.by.sort, set()).add(call.by.name)
    seen: list[str] = []
    sorts: list[tuple[str, int]] = []
    for call in calls:  # a class that is the layer of a model attends at the same place in each
        place = seen.count(call.by.name) if len(modules[call.by.sort]) > 1 else 0
        sorts.append((call.by.sort, place))
        seen.append(call.by.name)
    fits = [
        lengths.issuperset(call.weights.shape[-2:]) or (is_pair and not call.is_inferred) for call in calls
    ]
    if not any(fits):
        fits = [True] * len(calls)
    of_layers = {sort for sort, is_fit in zip(sorts, fits, strict=True) if is_fit}
    counted = [i for i, sort in enumerate(sorts) if sort in of_layers]
    kept = {n: calls[i] for n, i in enumerate(counted) if fits[i] or (chosen is not None and n in chosen)}
    left_out: dict[int, list[int]] = {}
    for n, i in enumerate(counted):
        if n not in kept:
            left_out.setdefault(calls[i].weights.shape[-1], []).append(n)
    return kept, [
        f"layers {numbers} attend over {n_keys} positions and are left out; give labels of these, and "
        f"layers={numbers}"
        for n_keys, numbers in left_out.items()
    ]


def _kind_by_shape(shape: Sequence[int], lengths: dict[int, str]) -> str:
    query, key = shape
    axes = lengths.get(query), lengths.get(key)
    for kind in KINDS.values():
        if axes == (kind.query, kind.key):
            return kind.name
    wanted = ", ".join(f"{length} {side} tokens" for length, side in lengths.items())
    raise UserError(
        f"a layer's attention runs over {query} queries and {key} keys, which fits no pair "
        f"of the {wanted}; give one label per position, special tokens included"
    )


def _kinds_by_order(
    calls: Sequence[AttentionCall], layers: Sequence[Any], batch_index: int | None
) -> list[str]:
    """Read encoder* (decoder cross)* from the calls in their order.

    `multi_head_attention_forward` shows whether queries and keys are the same tensor. Of
    `scaled_dot_product_attention` only the weights tell: the first that do not look ahead are the
    decoder's, and after those a layer that looks ahead is cross-attention.
    """
    crosses: list[bool] = []
    in_decoder = False
    for call, layer in zip(calls, layers, strict=True):
        causal = layer.shape[-1] > 1 and not layer[sentence_index(len(layer), batch_index)].triu(1).any()
        in_decoder |= causal
        crosses.append(in_decoder and not causal if call.is_cross is None else call.is_cross)
    if True in crosses:
        n_encoder = crosses.index(True) - 1
        n_decoder, rest = divmod(len(crosses) - n_encoder, 2)
        if n_encoder >= 0 and not rest and crosses[n_encoder:] == [False, True] * n_decoder:
            return ["encoder"] * n_encoder + ["decoder", "cross"] * n_decoder
    raise UserError(
        "source and target have the same number of tokens, and the order of the attention layers does "
        "not tell which is which; give a source and a target of different lengths"
    )


def _with_batch(call: AttentionCall, n_sentences: Sequence[int], group: int | None, notes: list[str]) -> Any:
    """Give a call's weights the axes [batch, head, query, key], of one group if there are several.

    Heads that share their keys and values (Ainslie et al. 2023) are heads side by side. Another axis
    more, or a batch larger than the model's, are groups of positions that attend among themselves.
    """
    weights = call.weights
    if weights.ndim == 2:
        return weights[None, None]  # [query, key] -> [1, 1, query, key]
    if weights.ndim == 3:
        if n_sentences[0] == 1:
            return weights[None]  # [head, query, key] -> [1, head, query, key]
        if weights.shape[0] == n_sentences[0]:
            return weights[:, None]  # [batch, query, key] -> [batch, 1, query, key]
        raise UserError(
            f"a layer's weights have the shape {list(weights.shape)} for {n_sentences[0]} sentences, "
            "which does not tell heads from sentences; give the model one sentence at a time"
        )
    if weights.ndim > 4 and call.shares_values:
        weights = weights.flatten(1, -3)  # [batch, head, query, key]
    if weights.ndim > 4:
        groups = weights.flatten(1, -4)  # [batch, group, head, query, key]
    elif len(weights) in n_sentences or len(weights) % n_sentences[0]:
        return weights
    elif n_sentences[0] > 1:
        raise UserError(
            f"a layer attends inside {len(weights)} groups of {n_sentences[0]} sentences together, and it is "
            "open whose each is; give the model one sentence at a time"
        )
    else:
        groups = weights.unflatten(0, (n_sentences[0], -1))  # [batch, group, head, query, key]
    n_groups, n_keys = groups.shape[1], groups.shape[-1]
    if n_groups == 1:
        return groups[:, 0]
    if group is None or not 0 <= group < n_groups:
        raise UserError(
            f"a layer attends inside {n_groups} groups of {n_keys} positions (rows, windows, frames), and "
            f"a trace shows one; choose it: group=0 to {n_groups - 1}"
        )
    notes.append(f"layers attend inside {n_groups} groups of {n_keys} positions; this is group {group}")
    return groups[:, group]  # [batch, head, query, key]
