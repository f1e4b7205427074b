"""From sentence pairs to padded batches of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.files import TextPair
from viz_transformer.vocabulary import Tokeniser

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
    pairs: Sequence[SentencePair | TextPair],
    vocabulary: Tokeniser,
    batch_size: int,
    seed: int,
    *,
    batch_tokens: int | None = None,
    start: int = 0,
) -> Iterator[Batch]:
    """Yield batches without end, every pair once an epoch, in an order fixed by the seed.

    Sentences of like length stand together, so that little is padding.

    Args:
        pairs: the sentences, as words or as text.
        vocabulary: turns them into ids.
        batch_size: sentences a batch.
        seed: fixes the order.
        batch_tokens: padded tokens a batch at the most, in place of `batch_size`.
        start: batches that are left out at the beginning: those of a training that goes on.
    """
    encoded = [
        (vocabulary.source_ids(text(one.source)), vocabulary.target_ids(text(one.target)))
        for one in pairs
    ]
    for number, chunk in enumerate(_order(encoded, batch_size, seed, batch_tokens)):
        if number < start:
            continue
        sources, targets = zip(*(encoded[pair] for pair in chunk), strict=True)
        yield Batch(pad(sources, vocabulary.pad_id), pad(targets, vocabulary.pad_id))


def text(side: str | Sequence[str]) -> str:
    """Return one side of a pair as text."""
    return side if isinstance(side, str) else " ".join(side)


def _order(
    encoded: Sequence[tuple[Sequence[int], Sequence[int]]],
    batch_size: int,
    seed: int,
    batch_tokens: int | None,
) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of the pairs of every batch, epoch after epoch."""
    rng = np.random.default_rng(seed)
    lengths = np.array([len(source) + len(target) for source, target in encoded])
    longest = np.array([max(len(source), len(target)) for source, target in encoded])
    size = batch_size if batch_tokens is None else max(1, batch_tokens // int(longest.mean()))
    while True:
        order = rng.permutation(len(encoded))
        chunks: list[NDArray[np.int64]] = []
        for start in range(0, len(order), size * _BATCHES_PER_POOL):
            pool = order[start : start + size * _BATCHES_PER_POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            if batch_tokens is None:
                chunks += [pool[at : at + size] for at in range(0, len(pool), size)]
            else:
                chunks += _filled(pool, longest, batch_tokens)
        for index in rng.permutation(len(chunks)):
            yield chunks[index]


def _filled(
    pool: NDArray[np.int64], longest: NDArray[np.int64], batch_tokens: int
) -> list[NDArray[np.int64]]:
    """Cut a pool into batches of at most so many padded tokens; a longer sentence stands alone."""
    chunks: list[NDArray[np.int64]] = []
    first, most = 0, 0
    for at, pair in enumerate(pool):
        most = max(most, int(longest[pair]))
        if at > first and most * (at + 1 - first) > batch_tokens:
            chunks.append(pool[first:at])
            first, most = at, int(longest[pair])
    return [*chunks, pool[first:]]
