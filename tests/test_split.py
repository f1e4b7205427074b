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
def test_every_pair_lands_once_and_the_order_does_not_matter(
    pairs: list[TextPair], n_validation: int, n_test: int, rng: Random
) -> None:
    try:
        parts = split(pairs, n_validation, n_test)
    except UserError:
        assert len({normal(pair) for pair in pairs}) <= n_validation + n_test
        return
    assert sorted((pair.source, pair.target) for part in parts for pair in part) == sorted(
        (pair.source, pair.target) for pair in pairs
    )
    assert len(parts.validation) >= n_validation
    assert len(parts.test) >= n_test
    sources = [{normal(pair) for pair in part} for part in parts]
    assert sum(map(len, sources)) == len(set.union(*sources))
    rng.shuffle(pairs)
    assert split(pairs, n_validation, n_test) == parts
    refuse_leaks(parts.train, {"validation": parts.validation, "test": parts.test})


def test_a_sentence_stays_on_its_side_with_more_pairs_and_with_two_translations() -> None:
    few, many = split(PAIRS[:20], 5, 5), split(PAIRS, 5, 5)
    assert set(many.validation) & set(PAIRS[:20]) <= set(few.validation)
    twice = [pair for each in PAIRS for pair in (each, TextPair(each.source.upper() + " ", "x"))]
    assert [len(part) for part in split(twice, 5, 5)] == [88, 6, 6]


def test_sizes_that_do_not_fit_are_refused() -> None:
    for sizes in ((30, 20), (50, 0), (0, 60)):
        with pytest.raises(UserError, match="50 pairs with 50 different sentences are too few"):
            split(PAIRS, *sizes)
    with pytest.raises(UserError, match="must be 0 or more"):
        split(PAIRS, -1, 3)


def test_leaks_are_counted_refused_and_dropped() -> None:
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
    texts = ("a a a", "b"), ("a", "b b b"), ("a a", "b b"), ("a a", "b b b b")
    pairs = [TextPair(*each) for each in texts]
    vocabulary = Vocabulary(["a"], ["b"])
    # a a a <eos>, and <sos> b b b
    assert too_long(pairs, vocabulary, 3) == [(0, 4), (1, 4), (3, 5)]
    assert too_long(pairs, vocabulary, 5) == []
