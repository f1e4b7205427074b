"""Questions to a trace: words, breadth, distance, lengths of values, agreement, effects of heads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hand_made_traces import attention, make_trace
from viz_transformer import analysis
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace

NAN = float("nan")
SURE, UNSURE = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]], [[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]]


def encoder(weights: np.ndarray) -> ForwardTrace:
    """A trace of encoder attention ``[query, key]``, or of more dimensions, alone."""
    weights = weights.reshape((1,) * (4 - weights.ndim) + weights.shape)
    return ForwardTrace(source_tokens=("w",) * weights.shape[-1], encoder_attention=weights)


def decoder(weights: np.ndarray) -> ForwardTrace:
    """A trace of decoder attention ``[query, key]`` alone."""
    return ForwardTrace(target_tokens=("w",) * weights.shape[-1], decoder_attention=weights[None, None])


def cross_trace(*heads: list[list[float]]) -> ForwardTrace:
    """One layer of cross-attention over two words and <eos>; each head's rows are given."""
    return ForwardTrace(
        source_tokens=("the", "cat", "<eos>"),
        target_tokens=("<sos>", "el"),
        output_tokens=("el", "gato"),
        cross_attention=np.array([heads]),
    )


TWICE = ForwardTrace(
    source_tokens=("the", "cat", "the"),
    target_tokens=("<sos>", "el"),
    output_tokens=("el", "gato"),
    cross_attention=np.arange(2 * 2 * 2 * 3).reshape(2, 2, 2, 3) / 24,
)


def test_weights_between_two_words_are_those_of_every_head() -> None:
    found = analysis.weights_between(TWICE, "cross", "gato", "cat")
    np.testing.assert_array_equal(found, TWICE.cross_attention[:, :, 1, 1])
    np.testing.assert_array_equal(analysis.weights_between(TWICE, "cross", 1, 1), found)


def test_entropy_of_known_rows() -> None:
    rows = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.25, 0.25, 0]]
    np.testing.assert_allclose(analysis.entropy_bits(rows), [0, 1, 2, 1.5], atol=1e-12)
    trace = make_trace()
    for kind in trace.kinds:
        expected = analysis.entropy_bits(trace.attention(kind)).mean(axis=-1)
        np.testing.assert_allclose(analysis.head_entropy_bits(trace, kind), expected)


def test_the_share_of_the_entropy_counts_the_keys_that_can_be_reached() -> None:
    causal = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]  # even over itself and the past
    for trace, kind, expected in (
        (decoder(causal), "decoder", 1),
        (decoder(np.full((6, 6), 1 / 6)), "decoder", 1),  # without a mask every key can be reached
        (decoder(np.eye(6)), "decoder", 0),
        (encoder(np.ones((1, 1))), "encoder", NAN),  # a query without a choice
    ):
        np.testing.assert_allclose(analysis.head_entropy_share(trace, kind), [[expected]])
    # The same numbers in an encoder are narrow: there every query could reach all six.
    assert analysis.head_entropy_share(encoder(causal), "encoder") < 0.8


def test_rows_of_zeros_do_not_count() -> None:
    weights = np.full((4, 4), 0.25)
    weights[2:] = 0
    np.testing.assert_allclose(analysis.head_entropy_bits(encoder(weights), "encoder"), [[2.0]])
    np.testing.assert_allclose(analysis.head_entropy_share(encoder(weights), "encoder"), [[1.0]])
    assert np.isnan(analysis.head_entropy_bits(encoder(np.zeros((2, 2))), "encoder")).all()


def test_distance_is_measured_in_positions() -> None:
    previous = np.eye(5, k=-1)
    previous[0, 0] = 1
    np.testing.assert_allclose(analysis.mean_distance(previous), [0, 1, 1, 1, 1])
    np.testing.assert_allclose(analysis.mean_distance([[0.5, 0.5, 0], [0, 0, 1], [0.5, 0, 0.5]]), [0.5, 1, 1])
    both = np.stack([previous, np.eye(5)])
    np.testing.assert_allclose(analysis.head_mean_distance(encoder(both), "encoder"), [[0.8, 0.0]])


def test_norm_weighted_attention_is_the_length_of_the_added_vectors() -> None:
    rng = np.random.default_rng(0)
    weights, values = attention(2, 3, 4, 5), rng.normal(size=(2, 3, 5, 7))
    # [layer, head, query, key, d_model]: each key's value on its way to each query
    added = weights[..., None] * values[:, :, None]
    found = analysis.norm_weighted(weights, np.linalg.norm(values, axis=-1))
    np.testing.assert_allclose(found, np.linalg.norm(added, axis=-1), rtol=1e-6)


def test_agreement_of_known_rows() -> None:
    trace = make_trace()
    for kind in trace.kinds:
        itself = analysis.agreement(trace, trace, kind)
        np.testing.assert_array_equal([itself.similarity, itself.same_argmax], np.ones((2, 2, 4)))
    unit, silent = np.eye(3), np.diag([1.0, 0, 1])
    for here, there, similarity, same in (
        (unit, np.roll(unit, 1, axis=1), 0, 0),
        (unit, silent, 2 / 3, 2 / 3),  # a query that attends in one trace alone is a disagreement
        # (1, 0) and (½, ½): H(¾, ¼) − ½·0 − ½·1 = 0.3113 bits.
        (np.array([[1.0, 0], [1, 0]]), np.full((2, 2), 0.5), 1 - 0.311278**0.5, 1),
    ):
        found = analysis.agreement(encoder(here), encoder(there), "encoder")
        np.testing.assert_allclose(found.similarity, [[similarity]], atol=1e-6)
        np.testing.assert_allclose(found.same_argmax, [[same]])
    # A decoder's first query has one key to look at, so it does not count.
    first = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    found = analysis.agreement(decoder(unit), decoder(first), "decoder")
    np.testing.assert_array_equal(found.same_argmax, [[0.0]])


@given(seed=st.integers(0, 99), n=st.integers(2, 7))
def test_agreement_is_symmetric_and_between_0_and_1(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (encoder(rng.dirichlet(np.full(n, 0.3), size=(2, 2, n))) for _ in range(2))
    found, back = analysis.agreement(a, b, "encoder"), analysis.agreement(b, a, "encoder")
    np.testing.assert_allclose(found.similarity, back.similarity, atol=1e-9)
    np.testing.assert_array_equal(found.same_argmax, back.same_argmax)
    for share in (found.similarity, found.same_argmax):
        assert ((share >= 0) & (share <= 1)).all()


def test_confidence_is_the_mean_of_the_largest_weights_without_eos() -> None:
    trace = cross_trace(
        [[0.7, 0.2, 0.1], [0.1, 0.9, 0.0]],
        [[0.1, 0.2, 0.7], [0.0, 0.0, 1.0]],  # it looks at the end, where there is nothing
    )
    assert analysis.head_confidence(trace, "cross") == pytest.approx(np.array([[0.8, 0.1]]))
    whole = analysis.head_confidence(trace, "cross", leave_out=())
    assert whole == pytest.approx(np.array([[0.8, 0.85]]))
    weights = np.array([[[[0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]]]])
    asked_from_eos = ForwardTrace(source_tokens=("a", "b", "<eos>"), encoder_attention=weights)
    assert analysis.head_confidence(asked_from_eos, "encoder") == pytest.approx(np.array([[0.7]]))


def test_a_query_without_a_choice_does_not_count_in_confidence() -> None:
    weights = np.array([[1.0, 0.0], [0.4, 0.6]])
    assert analysis.head_confidence(decoder(weights), "decoder") == pytest.approx(np.array([[0.6]]))
    assert np.isnan(analysis.head_confidence(decoder(np.ones((1, 1))), "decoder")).all()


def test_rank_correlation_is_spearmans() -> None:
    for a, b, expected in (
        ([1, 2, 3], [10, 200, 3000], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        # Without ties: 1 − 6 Σd² / (n (n² − 1)).
        ([3, 1, 4, 2, 5], [2, 1, 5, 4, 3], 1 - 6 * 10 / (5 * 24)),
        # Equal numbers share their ranks, here 1, 2.5, 2.5, 4: Pearson's correlation of the ranks.
        ([0, 5, 5, 9], [1, 2, 3, 4], np.corrcoef([1, 2.5, 2.5, 4], [1, 2, 3, 4])[0, 1]),
        ([1, 1, 1], [1, 2, 3], NAN),
        ([1], [2], NAN),
        ([], [], NAN),
    ):
        assert analysis.rank_correlation(a, b) == pytest.approx(expected, nan_ok=True), (a, b)


def test_effects_are_ranked_by_their_size_and_by_confidence() -> None:
    trace = cross_trace(SURE, UNSURE, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    effects = analysis.head_effects(trace, {"cross": [[0.01, -0.5, 0.2]]})
    assert [(each.head, each.rank, each.confidence_rank) for each in effects] == [
        (1, 1, 2),
        (2, 2, 3),
        (0, 3, 1),
    ]
    assert [each.loss_change for each in effects] == [-0.5, 0.2, 0.01]
    assert analysis.effect_correlation(effects) == pytest.approx(-0.5)


def test_every_head_of_every_kind_has_its_effect() -> None:
    trace = make_trace()
    effects = analysis.head_effects(trace, {kind: np.zeros((2, 4)) for kind in trace.kinds})
    assert sorted(each.rank for each in effects) == list(range(1, 25))
    assert {(each.kind, each.layer, each.head) for each in effects} == {
        (kind, layer, head) for kind in trace.kinds for layer in range(2) for head in range(4)
    }
    for each in effects:
        assert each.confidence == analysis.head_confidence(trace, each.kind)[each.layer, each.head]


def test_the_words_are_those_of_the_numbers() -> None:
    two = cross_trace(SURE, UNSURE)
    no_choice = ForwardTrace(target_tokens=("<sos>",), decoder_attention=np.ones((1, 2, 1, 1)))
    for trace, changes, expected, absent in (
        (
            two,
            {"cross": [[0.0001, 0.25]]},
            (
                "sharpest attention, cross layer 0 head 0 (confidence 0.90), changes the loss by less",
                "most, cross layer 0 head 1, changes the loss by +0.250 nats per token",
                "number 2 of 2 by its confidence",
                "1 of the 2 heads change it by less than 0.001",
                "effect: −1.00",
            ),
            (),
        ),
        (
            two,
            {"cross": [[-0.5, 0.25]]},
            (
                "is also the one that matters most: switched off, it changes the loss by −0.500",
                "effect: 1.00",
            ),
            ("less than 0.001",),
        ),
        (  # heads without confidence are not called the surest
            no_choice,
            {"decoder": [[0.1, 0.2]]},
            ("decoder layer 0 head 1, changes the loss by +0.200",),
            ("surely", "nan"),
        ),
    ):
        said = analysis.effects_in_words(analysis.head_effects(trace, changes))
        assert [part for part in expected if part not in said] == [], said
        assert [part for part in absent if part in said] == [], said


def test_questions_without_an_answer_are_refused() -> None:
    one_head, five_keys = encoder(np.ones((1, 1))), attention(2, 3, 4, 5)
    no_loss = "one finite number for each head"
    measures = (analysis.head_entropy_bits, analysis.head_entropy_share, analysis.head_mean_distance)
    for ask, *asked, message in (
        (analysis.weights_between, TWICE, "cross", "gato", "dog", "'dog' is not in 'the cat the'"),
        (analysis.weights_between, TWICE, "cross", "gato", "the", r"'the' is at positions \[0, 2\]"),
        (analysis.weights_between, TWICE, "encoder", "el", "cat", r"no encoder .* holds \['cross'\]"),
        (analysis.word_index, ("a", "b"), 3, "3 is not in"),
        (analysis.mean_distance, np.full((2, 3), 1 / 3), "2 queries and 3 keys"),
        (analysis.head_mean_distance, make_trace(), "cross", "choose 'encoder' or 'decoder'"),
        # These would broadcast, to the same norms in all heads.
        (analysis.norm_weighted, five_keys, np.ones(5), r"shape \[5\].*ask for \[2, 3, 5\]"),
        (analysis.norm_weighted, five_keys, -np.ones((2, 3, 5)), "a length is 0 or more"),
        (analysis.entropy_bits, np.ones(3), r"shape \[3\]"),
        (analysis.entropy_bits, np.ones((2, 0)), r"shape \[2, 0\]"),
        (analysis.entropy_bits, [[-0.5, 1.5]], "from -0.5 to 1.5"),
        (analysis.entropy_bits, [[0.9, 0.9]], "a row sums to 1"),
        (analysis.entropy_bits, [[NAN, 1.0]], "are not attention weights"),
        (analysis.agreement, make_trace(), make_trace(n_layers=1), "encoder", r"\[2, 4, 5, 5\] and \[1, 4"),
        (analysis.rank_correlation, [1, 2], [1, 2, 3], "give the same number of each"),
        (analysis.rank_correlation, [1, NAN], [1, 2], "give the same number of each"),
        (analysis.head_effects, cross_trace(SURE, UNSURE), {}, no_loss),
        (analysis.head_effects, cross_trace(SURE, UNSURE), {"cross": [[0.1]]}, no_loss),
        (analysis.head_effects, cross_trace(SURE, UNSURE), {"cross": [[0.1, NAN]]}, no_loss),
        *((ask, one_head, "decoder", r"no decoder attention; it holds \['encoder'\]") for ask in measures),
        *((ask, one_head, "corss", "unknown attention kind 'corss'") for ask in measures),
    ):
        with pytest.raises(UserError, match=message):
            ask(*asked)
