"""Padded batches of single texts: to be continued word by word, or with words masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from viz_transformer.corpus.batches import TextBatch, group_by_length, pad
from viz_transformer.vocabulary import MASK, Vocabulary

#: The share of a text's words that is masked (Devlin et al. 2019, section 3.1), one word at least.
MASKED_SHARE = 0.15

#: The words of a text.
_Words = Sequence[str]


def next_word_batches(
    texts: Sequence[_Words], vocabulary: Vocabulary, batch_size: int, seed: int
) -> Iterator[TextBatch]:
    """Yield batches for a language model without end, every text once an epoch.

    The model reads ``<sos>`` and the words; the labels are the words and ``<eos>``.

    Args:
        texts: their words.
        vocabulary: turns the words into ids.
        batch_size: texts per batch.
        seed: fixes the order.

    Raises:
        UserError: if a word is not in the vocabulary.
    """
    ids = [[vocabulary.sos_id, *vocabulary.ids_of(words), vocabulary.eos_id] for words in texts]
    for indices in _epochs(ids, batch_size, np.random.default_rng(seed)):
        rows = pad([ids[index] for index in indices], vocabulary.pad_id)  # [batch, position]
        yield TextBatch(rows[:, :-1], rows[:, 1:])


def masked_word_batches(
    texts: Sequence[_Words],
    vocabulary: Vocabulary,
    batch_size: int,
    seed: int,
    share: float = MASKED_SHARE,
) -> Iterator[TextBatch]:
    """Yield batches for a masked language model without end, every text once an epoch.

    The model reads the words and ``<eos>``, some of the words masked, drawn again every epoch; the
    labels are the masked words. Unlike BERT's, a word to find is always behind ``<mask>``, never
    another word or itself.

    Args:
        texts: their words.
        vocabulary: turns the words into ids; it has a ``<mask>``.
        batch_size: texts per batch.
        seed: fixes the order and the masks.
        share: the share of a text's words that is masked, rounded, one word at least.

    Raises:
        UserError: if a word is not in the vocabulary, or it has no ``<mask>``.

    Source: Devlin et al. 2019, section 3.1.
    """
    mask_id = vocabulary.ids_of([MASK])[0]
    rng = np.random.default_rng(seed)
    ids = [[*vocabulary.ids_of(words), vocabulary.eos_id] for words in texts]
    for indices in _epochs(ids, batch_size, rng):
        rows = pad([ids[index] for index in indices], vocabulary.pad_id)  # [batch, position]
        lengths = np.array([len(ids[index]) - 1 for index in indices])  # words of each text
        n_masked = np.maximum(1, np.round(share * lengths))
        draws = rng.random(rows.shape)
        draws[np.arange(rows.shape[1]) >= lengths[:, None]] = 2.0  # <eos> and padding are not masked
        masked = draws.argsort(axis=1).argsort(axis=1) < n_masked[:, None]  # the lowest draws
        yield TextBatch(np.where(masked, mask_id, rows), np.where(masked, rows, vocabulary.pad_id))


def _epochs(ids: Sequence[Sequence[int]], batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the indices of every batch without end, texts of similar length together."""
    lengths = np.array([len(each) for each in ids])
    while True:
        groups = group_by_length(rng.permutation(len(ids)), lengths, batch_size)
        for number in rng.permutation(len(groups)):
            yield groups[number]
