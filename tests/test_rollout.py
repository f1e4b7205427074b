"""Rollout, and cross-attention held to gold links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_transformer as vt
from tests.support.hand_made_traces import attention, make_trace
from tests.support.refusals import assert_refused
from viz_transformer import plots
from viz_transformer.analysis import (
    alignment_error_rate,
    alignment_links,
    head_alignment_error_rate,
    output_rollout,
    rollout,
    without_first_token,
)
from viz_transformer.corpus import english_spanish
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore


def test_rollout_by_hand() -> None:
    trace = make_trace()
    first, second = trace.encoder_attention.astype(np.float64).mean(axis=1)  # [source, source]
    unit = np.eye(5)
    wanted = (0.5 * unit + 0.5 * second) @ (0.5 * unit + 0.5 * first)
    found = rollout(trace, "encoder")
    np.testing.assert_allclose(found[0], 0.5 * unit + 0.5 * first, atol=1e-6)
    np.testing.assert_allclose(found[1], wanted, atol=1e-6)
    mostly_itself = 0.9 * unit + 0.1 * first
    np.testing.assert_allclose(rollout(trace, "encoder", 0.9)[0], mostly_itself, atol=1e-6)
    weights = np.full((2, 1, 3, 3), 1 / 3)
    weights[:, :, 1] = 0  # a query that attends to nothing stays itself
    trace = ForwardTrace(source_tokens=("a", "b", "c"), encoder_attention=weights)
    np.testing.assert_allclose(rollout(trace, "encoder")[-1][1], [0, 1, 0])
    found = rollout(make_trace(n_layers=3), "decoder")
    assert not np.triu(found, 1).any()
    np.testing.assert_allclose(found.sum(axis=-1), 1)


def test_what_a_first_token_leaves_is_scaled_to_one() -> None:
    found = without_first_token(rollout(make_trace(), "encoder"))  # [layer, position, input position]
    whole = rollout(make_trace(), "encoder")
    np.testing.assert_allclose(found[..., 1:] * (1 - whole[..., :1]), whole[..., 1:])
    assert not found[..., 0].any()


def test_output_rollout_by_hand() -> None:
    trace = make_trace(n_layers=1)
    encoder, decoder, cross = (
        trace.attention(kind)[0].astype(np.float64).mean(axis=0) for kind in trace.kinds
    )
    unit = np.eye(5)
    memory = 0.5 * unit + 0.5 * encoder
    found = output_rollout(trace)
    np.testing.assert_allclose(found.source[0], 0.5 * cross @ memory, atol=1e-6)
    np.testing.assert_allclose(found.target[0], 0.5 * (0.5 * unit + 0.5 * decoder), atol=1e-6)
    # The encoder swaps its two words: what looks at one is made of the other.
    swap = np.array([[0.0, 1], [1, 0]])[None, None]
    trace = ForwardTrace(
        source_tokens=("a", "b"),
        target_tokens=("x", "y"),
        encoder_attention=swap,
        decoder_attention=np.eye(2)[None, None],
        cross_attention=np.eye(2)[None, None],
    )
    np.testing.assert_allclose(output_rollout(trace, residual=0).source[0], swap[0, 0])


@given(n_source=st.integers(1, 5), n_target=st.integers(1, 5), residual=st.floats(0, 0.9))
def test_output_rollout_shares_out_the_whole(n_source: int, n_target: int, residual: float) -> None:
    target = tuple("t" * n_target)
    trace = make_trace(tuple("s" * n_source), target, target, n_layers=3)
    found = output_rollout(trace, residual)
    assert found.source.shape == (3, n_target, n_source)
    assert found.target.shape == (3, n_target, n_target)
    np.testing.assert_allclose(found.source.sum(-1) + found.target.sum(-1), 1)
    # Cross-attention brings in the source at the same rate in every layer.
    np.testing.assert_allclose(
        found.target.sum(-1), residual ** np.array([[1], [2], [3]]) * np.ones(n_target), atol=1e-6
    )


def test_traces_that_cannot_be_rolled_out_are_refused() -> None:
    trace = make_trace()
    no_decoder = replace(trace, decoder_attention=None)
    one_layer = replace(trace, decoder_attention=trace.decoder_attention[:1])
    residuals = (1, -0.1, float("nan"))
    assert_refused(
        [
            (lambda: rollout(trace, "cross"), "call output_rollout"),
            *((lambda share=share: rollout(trace, "encoder", share), "residual=") for share in residuals),
            (lambda: output_rollout(no_decoder), "no decoder attention"),
            (lambda: output_rollout(one_layer), "1 layers of decoder attention and 2 of cross"),
        ]
    )


def test_a_part_of_a_model_has_no_rollout() -> None:
    whole = make_trace()
    n_layers = len(whole.encoder_attention)
    first = replace(whole, encoder_attention=whole.encoder_attention[:1])
    np.testing.assert_array_equal(rollout(first, "encoder"), rollout(whole, "encoder")[:1])
    skipping = replace(first, encoder_layers=(n_layers - 1,))
    half = replace(whole, heads=tuple(range(whole.encoder_attention.shape[1])))  # as capture(heads=) says
    reasons = r"the encoder layers \[\d\] alone; capture it without layers=", "without heads="
    for part, reason in zip((skipping, half), reasons, strict=True):
        cases = [lambda part=part: rollout(part, "encoder"), lambda part=part: output_rollout(part)]
        for kind in ("encoder", "cross"):
            cases += [
                lambda part=part, kind=kind: explore(part, kind=kind, aggregate="rollout"),
                lambda part=part, kind=kind: plots.plot_aggregate(part, kind, how="rollout"),
            ]
        assert_refused((case, reason) for case in cases)
        assert set(explore(part).data["lackingPart"].values())
    assert rollout(skipping, "decoder").shape == rollout(whole, "decoder").shape
    assert "lackingPart" not in explore(whole).data


def test_error_rate_by_hand() -> None:
    sure, possible = [(0, 0), (1, 2)], [(2, 1)]
    assert alignment_error_rate([sure], [sure]) == 0
    assert alignment_error_rate([[*sure, *possible]], [sure], [possible]) == 0
    assert alignment_error_rate([[(5, 5)]], [sure]) == 1
    # A = 3, S = 2, one of A is sure and one more possible: 1 − (1 + 2) / 5.
    found = [(0, 0), (2, 1), (3, 3)]
    assert alignment_error_rate([found], [sure], [possible]) == pytest.approx(0.4)
    # Sentences are counted together, not averaged: 1 − (3 + 4) / (5 + 4), with sure ones right.
    assert alignment_error_rate([found, sure], [sure, sure], [possible, []]) == pytest.approx(1 - 7 / 9)


def test_a_head_links_each_word_to_the_one_it_looks_at_most() -> None:
    cross = np.eye(5)[[0, 2, 1, 4, 3]][None, None]  # duerme looks at <eos>, <eos> at sleeps
    trace = replace(make_trace(n_layers=1), cross_attention=cross)
    assert alignment_links(trace, 0, 0) == {(0, 0), (1, 2), (2, 1)}
    gold = [(0, 0), (1, 2), (2, 1), (3, 3)]
    rates = head_alignment_error_rate([trace], [gold])
    np.testing.assert_allclose(rates, [[1 - 6 / 7]])
    silent = replace(trace, cross_attention=np.zeros((1, 1, 5, 5)))
    assert alignment_links(silent, 0, 0) == frozenset()


def test_links_that_do_not_fit_are_refused() -> None:
    trace, gold = make_trace(), [[(0, 0)]]
    other = make_trace(n_layers=1)
    no_cross = replace(trace, cross_attention=None)
    for ask, *asked, message in (
        (alignment_error_rate, [[]], [[], []], "found links for 1 sentences, sure links for 2"),
        (alignment_error_rate, [(0, 0)], [(0, 0)], "are not links"),  # forgot the list around the sentence
        (alignment_error_rate, [[(0.5, 1)]], gold, "are not links"),
        (alignment_error_rate, [[(0, -1)]], gold, "negative"),
        (alignment_error_rate, [[]], [[]], "there is no error rate"),
        (head_alignment_error_rate, [trace], [[(0, 5)]], r"\(0, 5\) lies outside .* 5 target and 5 source"),
        (head_alignment_error_rate, [trace, other], gold * 2, r"\[\(1, 4\), \(2, 4\)\].*same model"),
        (head_alignment_error_rate, [], [], "at least one trace"),
        (alignment_links, trace, 2, 0, "no layer 2, head 0"),
        (alignment_links, no_cross, 0, 0, "no cross attention"),
    ):
        with pytest.raises(UserError, match=message):
            ask(*asked)


@pytest.mark.usefixtures("shapes_unchecked")
def test_the_bundled_translators_last_layer_aligns_held_out_sentences() -> None:
    """0.08, 0.13, 0.31, 0.11 in layer 1, where head 2 links articles to nouns; 0.47 to 0.86 in 0."""
    pairs = english_spanish(n_train=0, n_held_out=60).held_out
    translator = vt.load_translator()
    traces = [translator.trace(" ".join(pair.source), target=pair.target) for pair in pairs]
    rates = head_alignment_error_rate(traces, [pair.links for pair in pairs])
    assert rates.shape == (2, 4)
    assert rates[1, 0] < 0.15
    assert (rates[1, [0, 1, 3]] < 0.2).all()
    assert rates[1].max() < 0.4 < rates[0].min()
    # A head that looks anywhere is far from this: the links are no gift of the sentences' form.
    blind = [replace(trace, cross_attention=attention(*trace.cross_attention.shape)) for trace in traces]
    assert head_alignment_error_rate(blind, [pair.links for pair in pairs]).min() > 0.7
