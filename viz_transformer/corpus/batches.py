"""Padded batches of token ids, made from sentence pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import STEPS, at_most
from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Subwords, Tokeniser, join_tokens

#: How many batches are drawn together and sorted by length, so that little is padding.
_BATCHES_PER_POOL = 32

#: The ids of a pair, source and target.
_Ids = tuple[Sequence[int], Sequence[int]]

#: The indices of the pairs in each batch.
_BatchIndices = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Batch:
    """Padded ids: `source` [batch, source] and `target` [batch, target], int64.

    A source ends in ``<eos>``; a target starts with ``<sos>`` and ends in ``<eos>``. `weights` [batch] is
    how much each pair counts in the loss; None if they all count the same.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None

    @property
    def inputs(self) -> tuple[NDArray[np.int64], ...]:
        """What the model reads: the source, and the target without its last id."""
        return self.source, self.target[:, :-1]

    @property
    def labels(self) -> NDArray[np.int64]:
        """What the model should predict at each position, the next id of the target [batch, target - 1]."""
        return self.target[:, 1:]


@dataclass(frozen=True)
class TextBatch:
    """Padded ids of texts, and what must be predicted at each position, int64 [batch, position].

    Attributes:
        ids: what the model reads.
        labels: what the model should predict; padding where no prediction counts.
        weights: how much each text counts in the loss, as in `Batch`.
    """

    ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None

    @property
    def inputs(self) -> tuple[NDArray[np.int64], ...]:
        """What the model reads."""
        return (self.ids,)


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

    Sentences of similar length are batched together, so that little is padding.

    Args:
        pairs: the sentences, as words or as text.
        vocabulary: turns them into ids.
        batch_size: sentences per batch.
        seed: fixes the order.
        batch_tokens: the most padded tokens per batch, in place of `batch_size`.
        piece_dropout: probability of skipping a merge of pieces (BPE-dropout), drawn again every epoch.
        start: batches to skip, because a training that is resumed has seen them.

    Raises:
        UserError: if pieces are left out of a vocabulary that has none.
    """
    at_most("start", start, STEPS)
    order = np.random.default_rng(seed)
    number = 0
    for ids in _epochs(pairs, vocabulary, piece_dropout, seed):
        for indices in _batch_indices(ids, batch_size, batch_tokens, order):
            if number >= start:
                sources, targets = zip(*(ids[index] for index in indices), strict=True)
                yield Batch(pad(sources, vocabulary.pad_id), pad(targets, vocabulary.pad_id))
            number += 1


def _epochs(
    pairs: Sequence[SentencePair | TextPair],
    vocabulary: Tokeniser,
    piece_dropout: float,
    seed: int,
) -> Iterator[Sequence[_Ids]]:
    """Yield the ids of all pairs for every epoch."""
    rng = Random()
    random_vocabulary = with_piece_dropout(vocabulary, piece_dropout, rng)
    usual = [_encoded(pair, vocabulary) for pair in pairs]
    if random_vocabulary is None:
        yield from itertools.repeat(usual)
        return
    longest = max(len(ids) for both in usual for ids in both)
    for epoch in itertools.count():
        rng.seed(f"{seed} {epoch}")
        drawn = (_encoded(pair, random_vocabulary) for pair in pairs)
        yield [  # no sentence may become longer than the longest, which the model can just read
            new if max(map(len, new)) <= longest else old for new, old in zip(drawn, usual, strict=True)
        ]


def with_piece_dropout(vocabulary: Tokeniser, piece_dropout: float, rng: Random) -> Tokeniser | None:
    """Return the vocabulary that splits words at random (BPE-dropout); None for a dropout of 0.

    Raises:
        UserError: if there is a dropout and the vocabulary has no pieces.
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
    return vocabulary.source_ids(as_text(pair.source)), vocabulary.target_ids(as_text(pair.target))


def as_text(side: str | Sequence[str]) -> str:
    """Return one side of a pair as text."""
    return side if isinstance(side, str) else join_tokens(side)


def _batch_indices(
    ids: Sequence[_Ids],
    batch_size: int,
    batch_tokens: int | None,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield the indices of the pairs in every batch of an epoch."""
    source, target = np.array([[len(side) for side in both] for both in ids]).T  # each [pair]
    order = rng.permutation(len(ids))
    if batch_tokens is None:
        indices = group_by_length(order, source + target, batch_size)
    else:
        # By source length, then by target length, rising and falling in turn: neighbours are
        # similar in both.
        alternating = np.where(source % 2, -target, target)
        by_length = np.lexsort((alternating[order], source[order]))
        indices = _by_tokens(order[by_length], np.maximum(source, target), batch_tokens)
    for number in rng.permutation(len(indices)):
        yield indices[number]


def group_by_length(order: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> _BatchIndices:
    """Split an epoch into batches of `size` pairs, sorted by length within a pool of batches."""
    indices: _BatchIndices = []
    for start in range(0, len(order), size * _BATCHES_PER_POOL):
        pool = order[start : start + size * _BATCHES_PER_POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        indices += [pool[at : at + size] for at in range(0, len(pool), size)]
    return indices


def _by_tokens(order: NDArray[np.int64], lengths: NDArray[np.int64], batch_tokens: int) -> _BatchIndices:
    """Split an epoch into batches of at most `batch_tokens`; a longer pair is a batch by itself."""
    indices: _BatchIndices = []
    first, longest = 0, 0
    for at, pair in enumerate(order):
        longest = max(longest, int(lengths[pair]))
        if at > first and longest * (at + 1 - first) > batch_tokens:
            indices.append(order[first:at])
            first, longest = at, int(lengths[pair])
    return [*indices, order[first:]]
