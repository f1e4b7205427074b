"""From sentence pairs to padded batches of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer.corpus import SentencePair
from viz_transformer.vocabulary import Vocabulary

#: How many batches are drawn together and sorted by length, so that little is padding.
_BATCHES_PER_POOL = 32


@dataclass(frozen=True)
class Batch:
    """Padded ids: `source` [batch, source] and `target` [batch, target], int64.

    A source ends in ``<eos>``; a target starts with ``<sos>`` and ends in ``<eos>``.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> NDArray[np.int64]:
    """Return the rows as one array [row, longest], padded on the right."""
    padded = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


def batches(
    pairs: Sequence[SentencePair], vocabulary: Vocabulary, batch_size: int, seed: int
) -> Iterator[Batch]:
    """Yield batches without end, every pair once an epoch, in an order fixed by the seed."""
    rng = np.random.default_rng(seed)
    encoded = [
        (vocabulary.source_ids(" ".join(pair.source)), vocabulary.target_ids(" ".join(pair.target)))
        for pair in pairs
    ]
    lengths = np.array([len(source) + len(target) for source, target in encoded])
    while True:
        order = rng.permutation(len(encoded))
        chunks: list[NDArray[np.int64]] = []
        for start in range(0, len(order), batch_size * _BATCHES_PER_POOL):
            pool = order[start : start + batch_size * _BATCHES_PER_POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            chunks += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
        for index in rng.permutation(len(chunks)):
            sources, targets = zip(*(encoded[pair] for pair in chunks[index]), strict=True)
            yield Batch(pad(sources, vocabulary.pad_id), pad(targets, vocabulary.pad_id))
