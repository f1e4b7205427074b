"""From sentence pairs to padded batches of ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Subwords, Tokeniser

#: How many batches are drawn together and sorted by length, so that little is padding.
_BATCHES_PER_POOL = 32

#: The ids of a pair, source and target.
_Ids = tuple[Sequence[int], Sequence[int]]

#: The numbers of the pairs of each batch.
_Chunks = list[NDArray[np.int64]]


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
    piece_dropout: float = 0.0,
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
        piece_dropout: probability of leaving out a merge of pieces, drawn anew every epoch.
        start: batches that are left out at the beginning: those of a training that goes on.

    Raises:
        UserError: if pieces are to be left out of a vocabulary that has none.
    """
    order = np.random.default_rng(seed)
    number = 0
    for cut in _cuts(pairs, vocabulary, piece_dropout, seed):
        for chunk in _chunks(cut, batch_size, batch_tokens, order):
            if number >= start:
                sources, targets = zip(*(cut[pair] for pair in chunk), strict=True)
                yield Batch(pad(sources, vocabulary.pad_id), pad(targets, vocabulary.pad_id))
            number += 1


def _cuts(
    pairs: Sequence[SentencePair | TextPair],
    vocabulary: Tokeniser,
    piece_dropout: float,
    seed: int,
) -> Iterator[Sequence[_Ids]]:
    """Yield the ids of all pairs for every epoch."""
    rng = Random()
    loose = loosened(vocabulary, piece_dropout, rng)
    usual = [_encoded(pair, vocabulary) for pair in pairs]
    if loose is None:
        yield from itertools.repeat(usual)
        return
    most = max(len(ids) for both in usual for ids in both)
    for epoch in itertools.count():
        rng.seed(f"{seed} {epoch}")
        drawn = (_encoded(pair, loose) for pair in pairs)
        yield [  # no sentence becomes longer than the longest: the model's reach is given
            new if max(map(len, new)) <= most else old for new, old in zip(drawn, usual, strict=True)
        ]


def loosened(vocabulary: Tokeniser, piece_dropout: float, rng: Random) -> Tokeniser | None:
    """Return the vocabulary that cuts words another way each time; None where none is wanted.

    Raises:
        UserError: if one is wanted of a vocabulary that has no pieces.
    """
    if not piece_dropout:
        return None
    if not isinstance(vocabulary, Subwords):
        raise UserError(
            f"piece_dropout={piece_dropout:g} needs pieces of words, and this vocabulary holds "
            "whole ones; give 0, or learn pieces"
        )
    return vocabulary.with_dropout(piece_dropout, rng)


def _encoded(pair: SentencePair | TextPair, vocabulary: Tokeniser) -> _Ids:
    return vocabulary.source_ids(text(pair.source)), vocabulary.target_ids(text(pair.target))


def text(side: str | Sequence[str]) -> str:
    """Return one side of a pair as text."""
    return side if isinstance(side, str) else " ".join(side)


def _chunks(
    cut: Sequence[_Ids],
    batch_size: int,
    batch_tokens: int | None,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of the pairs of every batch of an epoch."""
    source, target = np.array([[len(ids) for ids in both] for both in cut]).T
    order = rng.permutation(len(cut))
    if batch_tokens is None:
        chunks = _counted(order, source + target, batch_size)
    else:
        # By source, then by target there and back: neighbours are alike in both.
        there_and_back = np.where(source % 2, -target, target)
        by_length = np.lexsort((there_and_back[order], source[order]))
        chunks = _filled(order[by_length], np.maximum(source, target), batch_tokens)
    for index in rng.permutation(len(chunks)):
        yield chunks[index]


def _counted(order: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> _Chunks:
    """Cut an epoch into batches of so many pairs, sorted by length a pool at a time."""
    chunks: _Chunks = []
    for start in range(0, len(order), size * _BATCHES_PER_POOL):
        pool = order[start : start + size * _BATCHES_PER_POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        chunks += [pool[at : at + size] for at in range(0, len(pool), size)]
    return chunks


def _filled(order: NDArray[np.int64], longest: NDArray[np.int64], batch_tokens: int) -> _Chunks:
    """Cut an epoch into batches of at most so many padded tokens; a longer pair stands alone."""
    chunks: _Chunks = []
    first, most = 0, 0
    for at, pair in enumerate(order):
        most = max(most, int(longest[pair]))
        if at > first and most * (at + 1 - first) > batch_tokens:
            chunks.append(order[first:at])
            first, most = at, int(longest[pair])
    return [*chunks, order[first:]]
