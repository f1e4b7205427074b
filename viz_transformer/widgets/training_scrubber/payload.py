"""The training scrubber's payload: loss curves, translations, and the heads of sentences as bytes.

Arrays are little-endian bytes in C order. A small training is sent whole; of a large one the first
sentence is sent, and the others when they are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.analysis.combine import masked_cells
from viz_transformer.analysis.measures import entropy_share_over_training
from viz_transformer.errors import UserError
from viz_transformer.trace import TrainingTrace, attention_of
from viz_transformer.widgets.base.view import sendable

#: Up to this many bytes, as float16, the weights of all sentences are sent with the view.
WHOLE_BYTES = 2 * 1024 * 1024
#: A larger sentence is slow to send and to hold, and is refused.
MAX_SENTENCE_BYTES = 50 * 1000 * 1000


def sentence_bytes(runs: tuple[TrainingTrace, ...], sentence: int) -> int:
    """Return how many bytes the weights of a sentence take as float16, in all runs together."""
    total = 0
    for run in runs:
        trace = run.moments[0].traces[sentence]
        total += 2 * len(run.moments) * sum(attention_of(trace, kind).size for kind in trace.kinds)
    return total


def check_runs(trace: TrainingTrace, other: TrainingTrace | None) -> tuple[TrainingTrace, ...]:
    """Return one run or two, which a view can show.

    Raises:
        UserError: if one is no TrainingTrace, holds no attention, or does not fit the other.
    """
    runs = (trace,) if other is None else (trace, other)
    for run in runs:
        if not isinstance(run, TrainingTrace):
            raise UserError(
                f"watch_training shows a TrainingTrace, not {type(run).__name__}; give "
                "viz_transformer.recipes.load_training('six-pairs-0'), or TrainingTrace.load(path)"
            )
    if len({run.sources for run in runs}) > 1:
        raise UserError(
            f"the runs were watched on {_sentence_list(runs[0])} and {_sentence_list(runs[-1])}; to be "
            "shown side by side they must be watched on the same sentences in the same order"
        )
    for run in runs:
        heads = {_head_counts(run, sentence) for sentence in range(len(run.sources))}
        if len(heads) > 1:
            raise UserError(
                f"the sentences of {run.name!r:.40} differ in their kinds, layers or heads; trace "
                "all of them with one model"
            )
    if not kinds_of(runs):
        raise UserError(
            "there is no kind of attention that all sentences hold; trace the sentences with their attention"
        )
    largest = max(sentence_bytes(runs, sentence) for sentence in range(len(trace.sources)))
    if largest > MAX_SENTENCE_BYTES:
        raise UserError(
            f"a sentence takes {largest / 1e6:.0f} MB, and a view holds up to "
            f"{MAX_SENTENCE_BYTES / 1e6:.0f}; record fewer moments or shorter sentences"
        )
    return runs


def kinds_of(runs: tuple[TrainingTrace, ...]) -> tuple[str, ...]:
    """Return the kinds of attention that all runs hold."""
    first, *others = (run.moments[0].traces[0].kinds for run in runs)
    return tuple(kind for kind in first if all(kind in each for each in others))


def training_payload(runs: tuple[TrainingTrace, ...], sentence: int) -> dict[str, Any]:
    """Return what the page reads first: everything, or all but the other sentences' heads."""
    return {
        "runs": [_run_payload(run) for run in runs],
        "kinds": list(kinds_of(runs)),
        "sentences": {str(each): sentence_payload(runs, each) for each in sentences_sent(runs, sentence)},
    }


def sentences_sent(runs: tuple[TrainingTrace, ...], sentence: int) -> list[int]:
    """Return the sentences whose heads are sent with the view."""
    every = range(len(runs[0].sources))
    if sum(sentence_bytes(runs, each) for each in every) <= WHOLE_BYTES:
        return list(every)
    return [sentence]


def sentence_payload(runs: tuple[TrainingTrace, ...], sentence: int) -> dict[str, Any]:
    """Return the heads of a sentence, run by run and kind by kind.

    Weights are float16 ``[moment, layer, head, query, key]``, off by 0.00025 at most; entropies
    are float32 ``[moment, layer, head]``, shares of the largest possible; `masked` has one byte
    a cell ``[query, key]``, 1 where no head gives any weight at any moment.
    """
    return {"runs": [_attention_payload(run, sentence, kinds_of(runs)) for run in runs]}


def _run_payload(run: TrainingTrace) -> dict[str, Any]:
    losses = np.array([moment.losses for moment in run.moments], dtype="<f4")
    return {
        "name": sendable([run.name])[0],
        "task": run.task,
        "sources": sendable(run.sources),
        "references": sendable(run.references),
        "moments": [int(moment.step) for moment in run.moments],
        "translations": [sendable(moment.translations) for moment in run.moments],
        "momentLosses": losses.tobytes(),  # [moment, sentence]
        "steps": run.steps.astype("<f8").tobytes(),  # [record]
        "losses": run.losses.astype("<f4").tobytes(),  # [record]
    }


def _attention_payload(run: TrainingTrace, sentence: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    traces = [moment.traces[sentence] for moment in run.moments]
    return {
        kind: {
            "kind": kind,
            "queries": sendable(traces[0].query_tokens(kind)),
            "keys": sendable(traces[0].key_tokens(kind)),
            "shape": list(attention_of(traces[0], kind).shape),
            "masked": np.logical_and.reduce([masked_cells(trace, kind) for trace in traces])
            .astype(np.uint8)
            .tobytes(),
            "entropies": entropy_share_over_training(run, sentence, kind).astype("<f4").tobytes(),
            "weights": np.stack([attention_of(trace, kind) for trace in traces]).astype("<f2").tobytes(),
        }
        for kind in kinds
    }


def _head_counts(run: TrainingTrace, sentence: int) -> tuple[Any, ...]:
    trace = run.moments[0].traces[sentence]
    return tuple((kind, *attention_of(trace, kind).shape[:2]) for kind in trace.kinds)


def _sentence_list(run: TrainingTrace) -> str:
    return f"{len(run.sources)} sentences, {run.sources[0]!r:.40} first"
