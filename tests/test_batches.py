"""Batches of pairs, of texts and of all translations: each once an epoch, padded, as the seed decides."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from tests.support.spanish_models import TEXTS
from viz_transformer.corpus import draw, translation_tokens
from viz_transformer.corpus.batches import TextBatch, as_text, batches, pad
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.soft_targets import chosen_sentences, soft_target_batches
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.errors import UserError
from viz_transformer.recipes import spanish_vocabulary
from viz_transformer.training import token_loss
from viz_transformer.translator import load_translator
from viz_transformer.vocabulary import Vocabulary

ALL = [*TEXTS, ["el"] * 14]
WORDS = spanish_vocabulary(ALL, mask=True)
PAD, EOS, MASK = WORDS.pad_id, WORDS.eos_id, WORDS.mask_id


@pytest.fixture(scope="module")
def pairs():
    return list(islice(draw(0), 1000))


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return load_translator().vocabulary  # every word of the language


def test_an_epoch_holds_every_pair_once_padded_on_the_right(pairs, vocabulary: Vocabulary) -> None:
    np.testing.assert_array_equal(pad([[5, 6, 7], [8]], 0), [[5, 6, 7], [8, 0, 0]])
    stream = batches(pairs, vocabulary, batch_size=64, seed=0)
    read = [tuple(row[row != vocabulary.pad_id]) for batch in islice(stream, 16) for row in batch.source]
    expected = [tuple(vocabulary.source_ids(" ".join(pair.source))) for pair in pairs]
    assert sorted(read) == sorted(expected)


def test_batches_of_tokens_hold_every_pair_once_and_little_padding() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers((3, 0), (40, 9), (2000, 2)).tolist()
    lengths = [(n, n + more) for n, more in drawn]
    pairs = [TextPair(" ".join(["a"] * n), " ".join(["b"] * m)) for n, m in lengths]
    vocabulary = Vocabulary(["a"], ["b"])
    stream = batches(pairs, vocabulary, 1, seed=0, batch_tokens=600)
    read: list[tuple[int, int]] = []
    padded, real = 0, 0
    while len(read) < len(pairs):
        batch = next(stream)
        assert max(batch.source.size, batch.target.size) <= 600
        n_source = (batch.source != vocabulary.pad_id).sum(1)
        n_target = (batch.target != vocabulary.pad_id).sum(1)
        read += zip((n_source - 1).tolist(), (n_target - 2).tolist(), strict=True)
        padded += batch.source.size + batch.target.size
        real += int(n_source.sum() + n_target.sum())
    assert sorted(read) == sorted(lengths)
    assert 1 - real / padded < 0.06


# Single texts


def epoch(kind, seed: int = 0, size: int = 4) -> list[TextBatch]:
    return list(islice(kind(ALL, WORDS, size, seed), -(-len(ALL) // size)))


def texts_of(rows: list[list[int]]) -> list[list[str]]:
    """The words of each row, sorted, without special tokens."""
    return sorted(WORDS.decode(row).split() for row in rows)


def test_a_language_model_is_to_predict_the_text_shifted_by_one() -> None:
    rows = []
    for batch in epoch(next_word_batches):
        assert (batch.ids[:, 0] == WORDS.sos_id).all()
        for read, wanted in zip(batch.ids, batch.labels, strict=True):
            n_words = (wanted != PAD).sum() - 1
            assert wanted[n_words] == EOS
            assert read[1 : n_words + 1].tolist() == wanted[:n_words].tolist()
        rows += batch.labels.tolist()
    assert texts_of(rows) == sorted(ALL)


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
    places = set()
    for batch in islice(masked_word_batches(TEXTS, WORDS, len(TEXTS), 0), 20):
        places |= set((batch.ids == MASK).nonzero()[1].tolist())
    assert places == {0, 1, 2, 3}  # every word in its turn
    with pytest.raises(UserError, match="<mask>"):
        next(masked_word_batches(TEXTS, spanish_vocabulary(TEXTS), 4, 0))


@pytest.mark.parametrize("kind", [next_word_batches, masked_word_batches])
def test_the_seed_decides_the_order_of_texts(kind) -> None:
    first, again, other = ([batch.ids.tolist() for batch in epoch(kind, seed)] for seed in (0, 0, 1))
    assert first == again != other


# Sentences with all their translations


def test_a_batch_has_every_translation_with_its_probability(pairs, vocabulary: Vocabulary) -> None:
    sentences = [pair.source for pair in pairs[:30]]
    special = (vocabulary.pad_id, vocabulary.sos_id, vocabulary.eos_id)
    found, expected = Counter(), Counter()
    drawn = list(islice(soft_target_batches(sentences, vocabulary, 7, seed=1), 5))  # an epoch
    for batch in drawn:
        for *rows, weight in zip(batch.source, batch.target, batch.weights, strict=True):
            assert rows[1][0] == vocabulary.sos_id
            sides = (vocabulary.tokens_of(i for i in row if i not in special) for row in rows)
            found[tuple(sides)] += float(weight)
    for words in sentences:
        for tokens, share in translation_tokens(as_text(words)).items():
            expected[words, tokens] += share
    assert dict(found) == pytest.approx(dict(expected), abs=1e-6)
    again = islice(soft_target_batches(sentences, vocabulary, 7, seed=1), 5)
    for one, other in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(one.target, other.target)


def test_its_loss_is_the_mean_over_translations_by_their_probability(vocabulary: Vocabulary) -> None:
    (batch,) = islice(soft_target_batches([("the", "teacher", "sleeps")], vocabulary, 1, seed=0), 1)
    labels = torch.from_numpy(batch.labels)  # [translation, position]
    logits = torch.randn(*labels.shape, len(vocabulary), generator=torch.Generator().manual_seed(0))
    weights = torch.from_numpy(batch.weights)
    loss, _ = token_loss(logits, labels, vocabulary.pad_id, weights=weights)
    each = [
        token_loss(one[None], label[None], vocabulary.pad_id)[0]
        for one, label in zip(logits, labels, strict=True)
    ]
    assert loss.item() == pytest.approx(float(torch.stack(each) @ weights), abs=1e-5)


def test_half_of_the_chosen_sentences_are_as_they_come_and_half_are_rare() -> None:
    chosen = chosen_sentences(500, seed=0)
    usual, rare = chosen[:250], chosen[250:]
    assert usual == [pair.source for pair in islice((p for p in draw(0) if not p.held_out), 250)]
    assert len(set(rare)) == 250 > len(set(usual))
    assert np.mean([len(words) for words in rare]) > 1.2 * np.mean([len(words) for words in usual])
    assert sum("fish" in words for words in rare) > 2 * sum("fish" in words for words in usual)
    allowed = {pair.source for pair in islice(draw(0), 9000) if not pair.held_out}
    assert set(chosen) <= allowed
    assert chosen == chosen_sentences(500, seed=0)
