"""One map of each place in a model that attends, also where its module runs several times in one forward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from typing import Any

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.tracing.attention_calls import AttentionCall
from viz_transformer.tracing.joined_steps import join_steps
from viz_transformer.tracing.labels import Labels


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
