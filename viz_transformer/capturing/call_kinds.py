"""The sorting of attention calls by kind: of which layer, and of which sequences, each call was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from viz_transformer.capturing.arguments import Labels, Selection, sentence_index
from viz_transformer.capturing.arrays import join_steps
from viz_transformer.capturing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS


def sort_layers(
    calls: Sequence[AttentionCall],
    labels: Labels,
    n_sentences: Sequence[int],
    batch_index: int | None,
    selection: Selection,
) -> tuple[dict[str, list[Any]], dict[str, list[int]], tuple[str, ...]]:
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

    Returns:
        The layers of each kind, each [batch, head, query, key]; by kind their numbers in the model, where
        these are not 0, 1, 2 …; and notes on what is not shown, and how to see it.

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
        return {"self": layers}, {"self": list(numbered)}, tuple(notes)

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
    return by_kind, {}, tuple(notes)


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


def one_map_each(
    calls: Sequence[AttentionCall], labels: Labels, run: int | None
) -> tuple[list[AttentionCall], list[str]]:
    """Return one call for each place that attends, and a line if a run was chosen.

    Where a model writes token by token, its runs are steps, and become the rows of one map. Otherwise they
    are different texts or pictures, or a layer that is repeated, and one run is taken.

    Args:
        calls: in their order.
        labels: those that were given.
        run: which run; None takes the first whose positions the labels name.

    Raises:
        UserError: if there is no such run.
    """
    places: dict[tuple[str, int], list[AttentionCall]] = {}
    counts: Counter[Any] = Counter()
    for call in calls:
        places.setdefault((call.by.name, counts[call.by]), []).append(call)
        counts[call.by] += 1  # a module may attend several times in one run
    most = max(map(len, places.values()), default=1)
    if run is not None and not 0 <= run < most:
        times = "once; leave run= out" if most == 1 else f"at most {most} times; choose run=0 to {most - 1}"
        raise UserError(f"run={run}, but each module that attends runs {times}")
    kept: list[AttentionCall] = []
    chosen: dict[tuple[int, int], str] = {}
    for (name, _), of_place in places.items():
        joined = None if run is not None else _joined(of_place, labels)
        if joined is None:
            number = _first_fitting(of_place, labels) if run is None else min(run, len(of_place) - 1)
            joined = of_place[number]
            if len(of_place) > 1:
                chosen.setdefault((len(of_place), number), name)
        kept.append(joined)
    return _joined_in_one_run(kept, labels), [
        f"{name} runs {n} times in one forward; this is run {number}, and run=0 to {n - 1} shows each"
        for (n, number), name in chosen.items()
    ]


def _first_fitting(runs: Sequence[AttentionCall], labels: Labels) -> int:
    fits = [labels.lengths.issuperset(call.weights.shape[-2:]) for call in runs]
    return fits.index(True) if True in fits else 0


def _joined(runs: Sequence[AttentionCall], labels: Labels) -> AttentionCall | None:
    """Return the runs of one module as the rows of one map, if they are the steps of writing a text.

    With a cache each step adds a row that is one key longer, or looks once more at the whole source. Steps
    that read everything again are runs like any others: the last has all rows.
    """
    if len(runs) == 1:
        return runs[0]
    steps = [[call.weights] for call in runs]
    queries, keys = zip(*(call.weights.shape[-2:] for call in runs), strict=True)
    if keys == tuple(accumulate(queries)):
        return replace(runs[0], weights=join_steps(steps, "self")[0])
    if len(set(keys)) == 1 and labels.target is not None and sum(queries) == labels.target.n_positions:
        return replace(runs[0], weights=join_steps(steps, "cross")[0])
    return None


def _joined_in_one_run(calls: Sequence[AttentionCall], labels: Labels) -> list[AttentionCall]:
    """Join the steps of a model that writes token by token in its own forward, without modules for layers.

    Each step runs through every layer, and reads some positions more than the last, with a cache of the keys
    or all from the beginning, whose weights are then the same; or looks once more at the whole source.
    """
    if len({call.by for call in calls}) != 1 or len(calls) == 1:
        return list(calls)
    steps = [list(step) for _, step in groupby(calls, key=lambda call: tuple(call.weights.shape[-2:]))]
    shapes = [step[0].weights.shape[-2:] for step in steps]  # each [query, key]
    grows = all(_continues(before[0].weights, after[0].weights) for before, after in pairwise(steps))
    if len(steps) > 1 and len({len(step) for step in steps}) == 1 and grows:
        joined = join_steps([[call.weights for call in step] for step in steps], "self")
        return [replace(call, weights=weights) for call, weights in zip(steps[0], joined, strict=True)]
    if len(steps) == 1 and labels.target is not None and shapes[0][0] < labels.target.n_positions:
        n_layers, rest = divmod(len(calls) * shapes[0][0], labels.target.n_positions)
        if n_layers and not rest:
            of_layers = [[call.weights for call in calls[i::n_layers]] for i in range(n_layers)]
            joined = join_steps([list(step) for step in zip(*of_layers, strict=True)], "cross")
            return [replace(calls[i], weights=weights) for i, weights in enumerate(joined)]
    return list(calls)


def _continues(before: Tensor, after: Tensor) -> bool:
    """Return whether weights [..., query, key] are those of the step after one of the same layer."""
    n_before, (n_queries, n_keys) = before.shape[-1], after.shape[-2:]
    if n_queries == n_keys > n_before == before.shape[-2]:
        return torch.allclose(after[..., :n_before, :n_before], before, atol=1e-4)
    return n_keys > n_before and n_queries == n_keys - n_before


class HeadWatch:
    """Modules that may be single heads: those of a list of equals that attend once when they run.

    So attention is written where it is explained, with a class for one head and a `ModuleList` of them.
    Without more, each would be taken for a layer.
    """

    def __init__(self, recorder: AttentionRecorder) -> None:
        self._recorder = recorder
        self._seen: list[tuple[tuple[Any, ...], AttentionCall]] = []  # a place and its attention
        self._alive: dict[str, list[Tensor]] = {}  # what a list read last: its memory is not given away
        self._begun: list[tuple[int, tuple[Any, ...]]] = []

    def hooks(self, name: str, siblings: nn.Module) -> Iterator[RemovableHandle]:
        """Watch the modules of a list, if they are equals."""
        if isinstance(siblings, nn.ModuleList) and len(siblings) > 1 and len(set(map(type, siblings))) == 1:
            for module in siblings:
                yield module.register_forward_pre_hook(partial(self._begin, name), with_kwargs=True)
                yield module.register_forward_hook(self._end)

    def _begin(self, name: str, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        read = [
            each
            for each in (*given, *named.values())
            if isinstance(each, Tensor) and each.layout == torch.strided
        ]
        self._alive[name] = read
        # The place is the list, and what it read: where its numbers are, the same for slices of it; a
        # change in place is a new version.
        memory = [
            (each.untyped_storage().data_ptr(), 0 if each.is_inference() else each._version) for each in read
        ]
        self._begun.append((len(self._recorder.calls), (name, *memory)))

    def _end(self, *_: Any) -> None:
        start, place = self._begun.pop()
        calls = self._recorder.calls[start:]
        if len(calls) == 1:
            self._seen.append((place, calls[0]))

    def joined(self) -> list[AttentionCall]:
        """Return all calls, those of the heads of each layer as one."""
        joined: dict[int, AttentionCall | None] = {}
        for _, of_layer in groupby(self._seen, key=lambda head: head[0]):
            layer = [call for _, call in of_layer]
            if len(layer) > 1 and len({call.weights.shape for call in layer}) == 1:
                # [batch, head, query, key]; a head by itself may have no axis for heads
                join = torch.cat if layer[0].weights.ndim > 3 else torch.stack
                weights = join([call.weights for call in layer], dim=-3)
                joined |= {**dict.fromkeys(map(id, layer)), id(layer[0]): replace(layer[0], weights=weights)}
        calls = (joined.get(id(call), call) for call in self._recorder.calls)
        return [call for call in calls if call is not None]
