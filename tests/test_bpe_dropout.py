"""Words cut another way each time: the same text in smaller pieces, and batches that repeat."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.texts import HOSTILE, TEXTS
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Subwords
from viz_transformer.vocabulary.bpe import normalised

PAIRS = [TextPair(one, other) for one, other in zip(TEXTS[::2], TEXTS[1::2], strict=True)]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(TEXTS, 600)


def some(subwords: Subwords, n: int, start: int = 0, p: float = 0.1) -> list[Batch]:
    stream = batches(PAIRS, subwords, 8, seed=3, piece_dropout=p, start=start)
    return list(itertools.islice(stream, n))


@pytest.mark.parametrize("text", [*TEXTS[:100], *HOSTILE])
def test_where_nothing_is_left_out_the_pieces_are_the_usual_ones(subwords: Subwords, text: str) -> None:
    assert subwords.with_dropout(0.0, Random(0)).encode(text) == subwords.encode(text)


@given(text=st.text(min_size=1).filter(normalised), p=st.floats(0, 0.99), seed=st.integers())
def test_whatever_is_left_out_the_text_comes_back(subwords: Subwords, text: str, p: float, seed: int) -> None:
    loose = subwords.with_dropout(p, Random(seed))
    assert subwords.decode(loose.encode(text)) == normalised(text)


def test_by_hand(subwords: Subwords) -> None:
    """Two merges, a with b, then ab with c: the first is made with 1 - p, the second likewise."""
    two = Subwords(["a", "b", "c"], [("a", "b"), ("ab", "c")])
    loose = two.with_dropout(0.25, Random(0))
    cuts = [tuple(two.tokens[index] for index in loose.encode("abc")) for _ in range(4000)]
    assert set(cuts) == {("▁", "abc"), ("▁", "ab", "c"), ("▁", "a", "b", "c")}
    assert cuts.count(("▁", "a", "b", "c")) / 4000 == pytest.approx(0.25, abs=0.03)
    assert cuts.count(("▁", "abc")) / 4000 == pytest.approx(0.75 * 0.75, abs=0.03)


def test_the_vocabulary_itself_goes_on_as_before(subwords: Subwords) -> None:
    before = subwords.encode(TEXTS[0])
    loose = subwords.with_dropout(0.9, Random(0))
    assert loose == subwords
    assert len(loose.encode(TEXTS[0])) > len(before)
    assert subwords.encode(TEXTS[0]) == before


def test_batches_are_drawn_anew_and_a_training_may_go_on_at_any(subwords: Subwords) -> None:
    one, other = some(subwords, 90), some(subwords, 90)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first.source, second.source)
        np.testing.assert_array_equal(first.target, second.target)
    for first, second in zip(one[70:], some(subwords, 20, start=70), strict=True):
        np.testing.assert_array_equal(first.source, second.source)
    plain = some(subwords, 90, p=0.0)
    longest = max(max(batch.source.shape[1], batch.target.shape[1]) for batch in plain)
    assert max(batch.source.shape[1] for batch in one) <= longest
    assert {batch.source.shape[1] for batch in one} != {batch.source.shape[1] for batch in plain}


def test_every_epoch_has_every_sentence_once_each_time_in_other_pieces(subwords: Subwords) -> None:
    n_epoch = -(-len(PAIRS) // 8)
    drawn = some(subwords, 3 * n_epoch)
    cuts = set()
    for epoch in range(3):
        rows = [row for one in drawn[epoch * n_epoch :][:n_epoch] for row in one.source]
        said = sorted(subwords.decode(row) for row in rows)
        assert said == sorted(subwords.decode(subwords.encode(pair.source)) for pair in PAIRS)
        cuts |= {tuple(row[row != subwords.pad_id]) for row in rows if subwords.decode(row) == TEXTS[0]}
    assert len(cuts) > 1


def test_smaller_pieces_make_smaller_batches_not_longer_ones(subwords: Subwords) -> None:
    """A batch holds as many tokens as it may, and little of it is padding."""
    n_tokens, n_real, n_pairs = {}, {}, {}
    for p in (0.0, 0.2):
        stream = batches(PAIRS, subwords, 8, seed=3, batch_tokens=400, piece_dropout=p)
        drawn = list(itertools.islice(stream, 40))
        sizes = [array.size for one in drawn for array in (one.source, one.target)]
        assert max(sizes) <= 400
        n_tokens[p] = sum(sizes)
        n_real[p] = sum(int((a != subwords.pad_id).sum()) for one in drawn for a in (one.source, one.target))
        n_pairs[p] = sum(len(one.source) for one in drawn)
    assert n_pairs[0.2] < n_pairs[0.0]
    assert n_real[0.2] / n_tokens[0.2] > 0.9 * n_real[0.0] / n_tokens[0.0]


def test_whole_words_have_no_pieces_to_leave_out() -> None:
    with pytest.raises(UserError, match="needs pieces of words"):
        next(batches(SIX_PAIRS, vocabulary_of(SIX_PAIRS), 6, 0, piece_dropout=0.1))
