"""Batches of single texts: what is read, what is to be predicted, and that the seed decides."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from tests.support.spanish_models import TEXTS
from viz_transformer.corpus.batches import TextBatch
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.errors import UserError
from viz_transformer.recipes import spanish_vocabulary

LONG = ["el"] * 14
ALL = [*TEXTS, LONG]
VOCABULARY = spanish_vocabulary(ALL, mask=True)
PAD, EOS, MASK = VOCABULARY.pad_id, VOCABULARY.eos_id, VOCABULARY.mask_id


def epoch(kind, seed: int = 0, size: int = 4) -> list[TextBatch]:
    return list(islice(kind(ALL, VOCABULARY, size, seed), -(-len(ALL) // size)))


def texts_of(rows: list[list[int]]) -> list[list[str]]:
    """The words of each row, sorted, without special tokens."""
    return sorted(VOCABULARY.decode(row).split() for row in rows)


def test_a_language_model_is_to_predict_the_text_shifted_by_one() -> None:
    batches = epoch(next_word_batches)
    for batch in batches:
        assert (batch.ids[:, 0] == VOCABULARY.sos_id).all()
        for read, wanted in zip(batch.ids, batch.labels, strict=True):
            n_words = (wanted != PAD).sum() - 1
            assert wanted[n_words] == EOS
            assert read[1 : n_words + 1].tolist() == wanted[:n_words].tolist()
    rows = [row.tolist() for batch in batches for row in batch.labels]
    assert texts_of(rows) == sorted(ALL)  # every text once an epoch


def test_a_masked_word_model_is_to_predict_the_words_behind_the_masks() -> None:
    rows = []
    for batch in epoch(masked_word_batches):
        masked = batch.ids == MASK
        assert ((batch.labels != PAD) == masked).all()
        whole = np.where(masked, batch.labels, batch.ids)
        assert not np.isin(batch.labels, [EOS, MASK]).any()
        n_words = (whole != PAD).sum(1) - 1
        assert masked.sum(1).tolist() == [2 if each == 14 else 1 for each in n_words]  # 15% of 14
        rows += whole.tolist()
    assert texts_of(rows) == sorted(ALL)


def test_every_word_of_a_text_is_masked_in_its_turn() -> None:
    places = set()
    for batch in islice(masked_word_batches(TEXTS, VOCABULARY, len(TEXTS), 0), 20):
        places |= set((batch.ids == MASK).nonzero()[1].tolist())
    assert places == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", [next_word_batches, masked_word_batches])
def test_the_seed_decides(kind) -> None:
    def ids(seed: int) -> list[list[list[int]]]:
        return [batch.ids.tolist() for batch in epoch(kind, seed)]

    assert ids(0) == ids(0)
    assert ids(0) != ids(1)


def test_masks_need_a_mask_in_the_vocabulary() -> None:
    with pytest.raises(UserError, match="<mask>"):
        next(masked_word_batches(TEXTS, spanish_vocabulary(TEXTS), 4, 0))
