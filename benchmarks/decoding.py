"""Beam search in one batch with a cache, against a loop that runs each hypothesis alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.table import Goal, Table
from viz_transformer.decoding import beam_search, default_max_length, length_norm
from viz_transformer.model import Transformer
from viz_transformer.translator import load_translator
from viz_transformer.vocabulary import Vocabulary

SENTENCES = (
    "the black cat sleeps",
    "the animal did not cross the street because it was too tired",
    "the animal did not cross the street because it was too wide",
)
BEAM_WIDTH, LENGTH_PENALTY = 4, 0.6
REPEATS = 15
WANTED_RATIO = 2


@torch.no_grad()
def plain_loop(model: Transformer, source: list[int], vocabulary: Vocabulary) -> list[int]:
    """Search as beam_search does, but run each hypothesis by itself and whole at every step."""
    source_ids = torch.tensor([source])
    source_mask = model.padding_mask(source_ids)
    memory = model.encode(source_ids)
    live = [([vocabulary.sos_id], 0.0)]
    finished: list[tuple[float, list[int]]] = []
    for _ in range(default_max_length(model, [source])):
        continued = []
        for ids, log_prob in live:
            logits = model.decode(torch.tensor([ids]), memory, source_mask)
            log_probs = logits[0, -1].log_softmax(-1)
            log_probs[[vocabulary.pad_id, vocabulary.sos_id]] = -torch.inf
            best = log_probs.topk(BEAM_WIDTH)
            continued += [
                ([*ids, token], log_prob + more)
                for token, more in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ]
        continued.sort(key=lambda path: path[1], reverse=True)
        live = []
        for ids, log_prob in continued[: BEAM_WIDTH - len(finished)]:
            if ids[-1] == vocabulary.eos_id:
                finished.append((log_prob / length_norm(len(ids) - 1, LENGTH_PENALTY), ids[1:-1]))
            else:
                live.append((ids, log_prob))
        if not live:
            break
    return max(finished)[1]


def median_ms(call: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Time two calls by turns, so that a busy moment strikes both; return both medians."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for function, durations in zip((call, other), times, strict=True):
            start = time.perf_counter()
            function()
            durations.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1])


def run() -> Table:
    """Decode each of the lesson's sentences by itself, both ways."""
    torch.set_num_threads(1)
    translator = load_translator()
    model, vocabulary = translator.model, translator.vocabulary
    rows, ratios = [], []
    for sentence in SENTENCES:
        source = vocabulary.source_ids(sentence)

        def ours(source: list[int] = source) -> list[int]:
            (trace,) = beam_search(
                model, [source], vocabulary, beam_width=BEAM_WIDTH, length_penalty=LENGTH_PENALTY
            )
            return list(trace.hypotheses[0].ids)

        def loop(source: list[int] = source) -> list[int]:
            return plain_loop(model, source, vocabulary)

        if ours() != loop():
            raise RuntimeError(f"the two searches disagree on {sentence!r}")
        ours_ms, loop_ms = median_ms(ours, loop)
        ratios.append(loop_ms / ours_ms)
        cells = f"{ours_ms:.1f} ms", f"{loop_ms:.1f} ms", f"{ratios[-1]:.1f}×"
        rows.append((vocabulary.decode(source), *cells))
    return Table(
        title="Beam search",
        text=f"One sentence at a time, beam width {BEAM_WIDTH}, the bundled translator, one "
        f"thread; medians of {REPEATS} runs by turns. The plain loop keeps no cache and runs each "
        "hypothesis by itself, whole, at every step; both find the same translations. "
        "`beam_search` also records every candidate of every step.",
        columns=("sentence", "beam_search", "plain loop", "faster by"),
        rows=tuple(rows),
        goals=(
            Goal(
                text=f"at least {WANTED_RATIO}× on each of the lesson's sentences",
                reached=f"{min(ratios):.1f}× at the least",
                met=min(ratios) >= WANTED_RATIO,
            ),
        ),
        versions=(("torch", torch.__version__),),
    )
