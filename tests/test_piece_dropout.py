"""Words cut another way each time: the same text in smaller pieces, and batches that repeat."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_subwords import HOSTILE, TEXTS
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Subwords
from viz_transformer.vocabulary.pieces import normalised

PAIRS = [TextPair(one, other) for one, other in zip(TEXTS[::2], TEXTS[1::2], strict=True)]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(TEXTS, 600)


def some(subwords: Subwords, n: int, start: int = 0, p: float = 0.1) -> list[Batch]:
    stream = batches(PAIRS, subwords, 8, seed=3, piece_dropout=p, start=start)
    return list(itertools.islice(stream, n))


@pytest.mark.parametrize("text", [*TEXTS[:100], *HOSTILE])
def test_where_nothing_is_left_out_the_pieces_are_the_usual_ones(
    subwords: Subwords, text: str
) -> None:
    assert subwords.loosened(0.0, Random(0)).encode(text) == subwords.encode(text)


@given(text=st.text(min_size=1).filter(normalised), p=st.floats(0, 0.99), seed=st.integers())
def test_whatever_is_left_out_the_text_comes_back(
    subwords: Subwords, text: str, p: float, seed: int
) -> None:
    loose = subwords.loosened(p, Random(seed))
    assert subwords.decode(loose.encode(text)) == normalised(text)


def test_by_hand(subwords: Subwords) -> None:
    """Two merges, a with b, then ab with c: the first is made with 1 - p, the second likewise."""
    two = Subwords(["a", "b", "c"], [("a", "b"), ("ab", "c")])
    loose = two.loosened(0.25, Random(0))
    cuts = [tuple(two.tokens[index] for index in loose.encode("abc")) for _ in range(4000)]
    assert set(cuts) == {("▁", "abc"), ("▁", "ab", "c"), ("▁", "a", "b", "c")}
    assert cuts.count(("▁", "a", "b", "c")) / 4000 == pytest.approx(0.25, abs=0.03)
    assert cuts.count(("▁", "abc")) / 4000 == pytest.approx(0.75 * 0.75, abs=0.03)


def test_the_vocabulary_itself_goes_on_as_before(subwords: Subwords) -> None:
    before = subwords.encode(TEXTS[0])
    loose = subwords.loosened(0.9, Random(0))
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
    texts = [[subwords.decode(row) for row in batch.source] for batch in one]
    assert texts == [[subwords.decode(row) for row in batch.source] for batch in plain]
    longest = max(max(batch.source.shape[1], batch.target.shape[1]) for batch in plain)
    assert sum(batch.source.size for batch in one) > sum(batch.source.size for batch in plain)
    assert max(batch.source.shape[1] for batch in one) <= longest
    n_epoch = -(-len(PAIRS) // 8)
    seen = {TEXTS[0]: set()}
    for batch in some(subwords, 3 * n_epoch):
        for row in batch.source:
            if (said := subwords.decode(row)) in seen:
                seen[said].add(tuple(row[row != subwords.pad_id]))
    assert len(seen[TEXTS[0]]) > 1


def test_whole_words_have_no_pieces_to_leave_out() -> None:
    with pytest.raises(UserError, match="needs pieces of words"):
        next(batches(SIX_PAIRS, vocabulary_of(SIX_PAIRS), 6, 0, piece_dropout=0.1))
