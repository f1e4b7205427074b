"""Trainings made by hand: heads that sharpen, a loss that falls, translations that come right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.support.hand_made_traces import HOSTILE, softmax
from viz_transformer.trace import ForwardTrace, Snapshot, TrainingTrace

PAIRS = (
    ("the black cat sleeps", "el gato negro duerme"),
    ("the cow is tired", "la vaca está cansada"),
    ("a dog", "un perro"),
)
STEPS = (0, 1, 3, 8, 20, 50, 120, 300)


def make_training(
    name: str = "seed 0",
    pairs: Sequence[tuple[str, str]] = PAIRS,
    steps: Sequence[int] = STEPS,
    n_layers: int = 2,
    n_heads: int = 4,
    seed: int = 0,
    sharpest: float = 6.0,
) -> TrainingTrace:
    """A training whose weights go from uniform towards `sharpest` times seeded random scores.

    At each moment it has learned as many of a translation's words as its place among the moments.
    """
    curve = np.arange(1, steps[-1] + 1)
    losses = 3.2 * np.exp(-curve / (steps[-1] / 5)) + 0.02
    return TrainingTrace(
        name=name,
        sources=tuple(source for source, _ in pairs),
        references=tuple(target for _, target in pairs),
        moments=tuple(
            Snapshot(
                step=step,
                translations=tuple(_learned(target, share) for _, target in pairs),
                losses=tuple(3.0 - 2.9 * share + 0.01 * i for i in range(len(pairs))),
                traces=tuple(
                    _trace(pair, (n_layers, n_heads), seed + i, sharpest * share)
                    for i, pair in enumerate(pairs)
                ),
            )
            for share, step in zip(np.linspace(0, 1, len(steps)), steps, strict=True)
        ),
        steps=curve,
        losses=losses,
        accuracies=1 - losses / 4,
    )


def hostile_training() -> TrainingTrace:
    """A training whose every text is hostile."""
    texts = HOSTILE[:-1]
    pairs = [("\u2003".join(texts), "\u2003".join(reversed(texts))), ("", "\ud800")]
    return make_training(HOSTILE[0], pairs, steps=(0, 5, 9), n_layers=1, n_heads=2)


def validated(trace: TrainingTrace) -> TrainingTrace:
    """The same training with a validation loss that falls from 3 and ends above its lowest, at 1.5."""
    losses = np.linspace(3, 1, len(trace.moments))
    losses[-1] = 1.5
    moments = zip(trace.moments, losses, strict=True)
    return replace(trace, moments=tuple(replace(one, validation_loss=float(loss)) for one, loss in moments))


def _learned(target: str, share: float) -> str:
    words = target.split(" ")
    known = round(share * len(words))
    return " ".join([*words[:known], *[words[0]] * (len(words) - known)])


def _trace(pair: tuple[str, str], sizes: tuple[int, int], seed: int, sharpness: float) -> ForwardTrace:
    read, said = (tuple(text.split("\u2003" if "\u2003" in text else " ")) for text in pair)
    source, output, target = (*read, "<eos>"), (*said, "<eos>"), ("<sos>", *said)
    rng = np.random.default_rng(seed)

    def weights(queries: int, keys: int, causal: bool = False) -> np.ndarray:
        # Each head has a sharpness of its own, so that they do not all look alike.
        own = rng.uniform(0.1, 1, size=(*sizes, 1, 1))
        scores = rng.normal(size=(*sizes, queries, keys)) * own * sharpness
        if causal:
            scores[..., np.triu(np.ones((queries, keys), dtype=bool), 1)] = -np.inf
        return softmax(scores)

    return ForwardTrace(
        source_tokens=source,
        target_tokens=target,
        output_tokens=output,
        encoder_attention=weights(len(source), len(source)),
        decoder_attention=weights(len(target), len(target), causal=True),
        cross_attention=weights(len(target), len(source)),
    )
