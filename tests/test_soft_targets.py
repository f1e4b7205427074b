"""Batches of sentences with all their translations."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from viz_transformer.corpus import draw, english_spanish, translation_tokens, vocabulary_of
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.soft_targets import chosen_sentences, soft_target_batches
from viz_transformer.training import token_loss

PAIRS = english_spanish(n_train=20_000).train  # with every word of the language
VOCABULARY = vocabulary_of(PAIRS)


def test_a_batch_has_every_translation_with_its_probability() -> None:
    sentences = [pair.source for pair in PAIRS[:10]]
    (batch,) = islice(soft_target_batches(sentences, VOCABULARY, 10, seed=0), 1)
    assert batch.weights is not None
    special = (VOCABULARY.pad_id, VOCABULARY.sos_id, VOCABULARY.eos_id)
    found: Counter[tuple[tuple[str, ...], ...]] = Counter()
    for *rows, weight in zip(batch.source, batch.target, batch.weights, strict=True):
        assert rows[1][0] == VOCABULARY.sos_id
        sides = (VOCABULARY.tokens_of(i for i in row if i not in special) for row in rows)
        found[tuple(sides)] += float(weight)
    expected: Counter[tuple[tuple[str, ...], ...]] = Counter()
    for words in sentences:
        for tokens, share in translation_tokens(as_text(words)).items():
            expected[words, tokens] += share
    assert dict(found) == pytest.approx(dict(expected), abs=1e-6)


def test_its_loss_is_the_mean_over_drawn_translations() -> None:
    """Each translation by its probability: what endlessly many draws would give."""
    (batch,) = islice(soft_target_batches([("the", "teacher", "sleeps")], VOCABULARY, 1, seed=0), 1)
    labels = torch.from_numpy(batch.labels)  # [translation, position]
    logits = torch.randn(*labels.shape, len(VOCABULARY), generator=torch.Generator().manual_seed(0))
    weights = torch.from_numpy(batch.weights)
    loss, _ = token_loss(logits, labels, VOCABULARY.pad_id, weights=weights)
    each = [
        token_loss(logits[i : i + 1], labels[i : i + 1], VOCABULARY.pad_id)[0] for i in range(len(labels))
    ]
    assert loss.item() == pytest.approx(float(torch.stack(each) @ weights), abs=1e-5)


def test_every_sentence_comes_once_an_epoch() -> None:
    sentences = [pair.source for pair in PAIRS[:30]]
    epoch = list(islice(soft_target_batches(sentences, VOCABULARY, 7, seed=1), 5))
    total = sum(float(batch.weights.sum()) for batch in epoch)
    assert total == pytest.approx(30, abs=1e-4)
    again = list(islice(soft_target_batches(sentences, VOCABULARY, 7, seed=1), 5))
    for one, other in zip(epoch, again, strict=True):
        np.testing.assert_array_equal(one.target, other.target)


def test_half_of_the_choice_is_as_it_comes_and_half_is_rare() -> None:
    chosen = chosen_sentences(1000, seed=0)
    assert len(chosen) == 1000
    usual, rare = chosen[:500], chosen[500:]
    assert usual == [pair.source for pair in islice((p for p in draw(0) if not p.held_out), 500)]
    assert len(set(rare)) == 500 > len(set(usual))
    assert np.mean([len(words) for words in rare]) > 1.2 * np.mean([len(words) for words in usual])
    assert sum("fish" in words for words in rare) > 2 * sum("fish" in words for words in usual)
    allowed = {pair.source for pair in islice(draw(0), 9000) if not pair.held_out}
    assert set(chosen) <= allowed
    assert chosen == chosen_sentences(1000, seed=0)
