"""A split by a fixed rule, and leaks between its parts."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.split import refuse_leaks, split, too_long, without_leaks
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Vocabulary

PAIRS = [TextPair(f"Sentence {number}", f"Satz {number}") for number in range(50)]


def normal(pair: TextPair) -> str:
    return " ".join(pair.source.casefold().split())


@given(
    st.lists(st.builds(TextPair, st.text("aAb ", min_size=1), st.text("xy", min_size=1))),
    st.integers(0, 3),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_every_pair_lands_once_whatever_the_order(
    pairs: list[TextPair], n_validation: int, n_test: int, rng: Random
) -> None:
    try:
        parts = split(pairs, n_validation, n_test)
    except UserError:
        assert len({normal(pair) for pair in pairs}) <= n_validation + n_test
        return
    key = [(pair.source, pair.target) for pair in pairs]
    assert sorted((pair.source, pair.target) for part in parts for pair in part) == sorted(key)
    assert len(parts.validation) >= n_validation
    assert len(parts.test) >= n_test
    sources = [{normal(pair) for pair in part} for part in parts]
    assert sum(map(len, sources)) == len(set.union(*sources))
    rng.shuffle(pairs)
    assert split(pairs, n_validation, n_test) == parts
    refuse_leaks(parts.train, {"validation": parts.validation, "test": parts.test})


def test_a_corpus_that_grows_moves_no_sentence_from_training_to_validation() -> None:
    few, many = split(PAIRS[:20], 5, 5), split(PAIRS, 5, 5)
    kept = set(PAIRS[:20])
    assert set(many.validation) & kept <= set(few.validation)


def test_the_same_sentence_with_two_translations_stays_on_one_side() -> None:
    pairs = [pair for each in PAIRS for pair in (each, TextPair(each.source.upper() + " ", "x"))]
    parts = split(pairs, 5, 5)
    assert [len(part) for part in parts] == [88, 6, 6]


@pytest.mark.parametrize("sizes", [(30, 20), (50, 0), (0, 60)])
def test_too_few_pairs_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(UserError, match="50 pairs with 50 different sentences are too few"):
        split(PAIRS, *sizes)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(UserError, match="must be 0 or more"):
        split(PAIRS, -1, 3)


def test_leaks_are_counted_and_refused() -> None:
    held_out = {
        "validation": [TextPair(text, "x") for text in ("sentence  3", "SENTENCE 4", "new")],
        "test": [TextPair("Sentence 5", "Satz 5")],
        "other": [TextPair("c", "d")],
    }
    with pytest.raises(
        UserError,
        match=r"^2 of 3 validation sentences and 1 of 1 test sentences also stand in training, "
        "such as 'sentence  3'; drop them from training with --drop-leaks",
    ):
        refuse_leaks(PAIRS, held_out)
    kept, n_dropped = without_leaks(PAIRS, held_out)
    assert n_dropped == 3
    assert kept == [pair for pair in PAIRS if pair.source[9:] not in ("3", "4", "5")]
    refuse_leaks(kept, held_out)
    assert without_leaks(kept, held_out) == (kept, 0)


def test_pairs_over_the_limit_are_named_by_index_and_length() -> None:
    vocabulary = Vocabulary(["a"], ["b"])
    pairs = [
        TextPair("a a a", "b"),  # a a a <eos>
        TextPair("a", "b b b"),  # <sos> b b b
        TextPair("a a", "b b"),
        TextPair("a a", "b b b b"),
    ]
    assert too_long(pairs, vocabulary, 3) == [(0, 4), (1, 4), (3, 5)]
    assert too_long(pairs, vocabulary, 5) == []
