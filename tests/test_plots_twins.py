"""What the explorer shows, on paper: combined heads, differences, masks, merged words."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from tests.support.hand_made_traces import OUTPUT, SOURCE, TARGET, attention, make_trace, softmax
from tests.support.javascript import module_url
from tools.ensure import find_node
from viz_transformer.analysis import output_rollout, rollout
from viz_transformer.analysis.words import between_words, word_axis
from viz_transformer.errors import UserError
from viz_transformer.plots import plot_aggregate, plot_difference, plot_head
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

PIECES = ("[CLS]", "un", "##able", "##s", "dog", "[SEP]")
WORDS = (None, 0, 0, 0, 1, None)


pytestmark = pytest.mark.usefixtures("no_window")


def drawn(figure) -> np.ndarray:
    return np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)


def texts(labels) -> list[str]:
    return [text.get_text() for text in labels]


def sharper(trace: ForwardTrace) -> ForwardTrace:
    """The same words, other weights."""
    return ForwardTrace(
        source_tokens=("the", "red", *SOURCE[2:]),
        target_tokens=TARGET,
        output_tokens=OUTPUT,
        encoder_attention=softmax(3 * trace.encoder_attention),
        decoder_attention=trace.decoder_attention,
        cross_attention=softmax(3 * trace.cross_attention),
    )


def test_masked_cells_are_hatched_and_carry_no_number() -> None:
    ax = plot_head(make_trace(), "decoder", 0, 1)
    (hatched,) = [patch for patch in ax.patches if patch.get_gid() == "masked"]
    assert hatched.get_hatch()
    path = hatched.get_path()
    inside = [[path.contains_point((col, row)) for col in range(5)] for row in range(5)]
    np.testing.assert_array_equal(inside, np.triu(np.ones((5, 5)), 1))
    assert len(ax.texts) == 15
    assert "10 cells are hatched" in ax.figure.alt_text
    assert not plot_head(make_trace(), "encoder", 0, 1).patches


def test_weights_below_the_threshold_are_blank_and_it_says_so() -> None:
    trace = make_trace()
    ax = plot_head(trace, "cross", 1, 2, threshold=0.25)
    weights = trace.cross_attention[1, 2]
    expected = np.where(weights < 0.25, np.nan, weights)
    np.testing.assert_array_equal(drawn(ax.figure), expected)
    assert "below 0.25 are left out" in ax.figure.alt_text


def test_several_heads_are_drawn_as_one() -> None:
    trace = make_trace()
    pairs = [[0, 1], [1, 3]]
    both = np.stack([trace.encoder_attention[layer, head] for layer, head in pairs])
    mean = plot_aggregate(trace, "encoder", pairs)
    np.testing.assert_allclose(drawn(mean.figure), both.mean(axis=0), rtol=1e-6)
    assert "mean of 2 heads: 0·1, 1·3" in mean.get_title("left")
    largest = plot_aggregate(trace, "encoder", how="max", layer=0)
    np.testing.assert_array_equal(drawn(largest.figure), trace.encoder_attention[0].max(axis=0))
    assert "maximum of all 4 heads of layer 0" in largest.get_title("left")
    rolled = plot_aggregate(trace, "decoder", how="rollout")
    np.testing.assert_allclose(drawn(rolled.figure), rollout(trace, "decoder")[-1], atol=1e-6)
    crossed = plot_aggregate(trace, "cross", how="rollout", layer=0)
    np.testing.assert_allclose(drawn(crossed.figure), output_rollout(trace).source[0], atol=1e-6)


def test_a_difference_has_its_own_scale_and_both_words() -> None:
    trace = make_trace()
    other = sharper(trace)
    ax = plot_difference(trace, other, "encoder", 1, 0)
    difference = trace.encoder_attention - other.encoder_attention
    np.testing.assert_array_equal(drawn(ax.figure), difference[1, 0])
    low, high = ax.images[0].get_clim()
    assert low == -high
    assert np.abs(difference).max() <= high < np.abs(difference).max() + 0.01
    assert texts(ax.get_xticklabels())[:2] == ["the", "black|red"]
    assert "difference" in ax.figure.alt_text
    near = replace(other, encoder_attention=trace.encoder_attention - np.float32(3e-6) * difference)
    small = plot_difference(trace, near, "encoder", 1, 0)
    (bar,) = [each for each in small.figure.axes if each is not small]
    assert all("× 10⁻⁷" in each or each == "0" for each in texts(bar.get_yticklabels()))
    assert "cells: × 10⁻⁷" in bar.get_ylabel()
    assert any(re.fullmatch("[+−][1-9]\\.\\d", text.get_text()) for text in small.texts)
    assert "× 10⁻⁷" in small.figure.alt_text
    hidden = plot_difference(trace, other, "encoder", 1, 0, hide_special=True)
    assert texts(hidden.get_xticklabels()) == ["the", "black|red", "cat", "sleeps"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda trace: plot_aggregate(trace, "cross", how="sum"), "how='sum'; choose 'mean'"),
        (lambda trace: plot_aggregate(trace, "cross", [[2, 0]]), "layer=2, but the cross"),
        (lambda trace: plot_aggregate(trace, "cross", layer=5), "layer=5, but the cross"),
        (
            lambda trace: plot_difference(trace, make_trace(n_heads=2), "cross", 0, 0),
            "compare traces of equal shapes",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(draw, message: str) -> None:
    with pytest.raises(UserError, match=message):
        draw(make_trace())


def test_pieces_of_words_are_merged_as_the_page_merges_them() -> None:
    weights = attention(1, 1, 6, 6)[0, 0]
    for hide, merge in ((False, True), (True, True), (True, False), (False, False)):
        axis = word_axis(PIECES, WORDS, hide_special=hide, merge_words=merge)
        code = (
            f"const axes = await import({json.dumps(module_url('widgets/explorer/displayed_head.js'))});"
            f"const special = {json.dumps([True, *[False] * 4, True])};"
            f"const axis = axes.axisOf({json.dumps(PIECES)}, special, {json.dumps(WORDS)},"
            f" {{hideSpecial: {json.dumps(hide)}, mergeWords: {json.dumps(merge)}}});"
            f"const weights = Float32Array.from({json.dumps(weights.ravel().tolist())});"
            "const merged = Array.from(axes.gather(weights, 6, axis, axis));"
            "console.log(JSON.stringify([axis.names, merged]));"
        )
        done = subprocess.run(
            [find_node(), "--input-type=module", "-e", code], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        names, merged = json.loads(done.stdout)
        assert list(axis.names) == names
        np.testing.assert_allclose(between_words(weights, axis, axis).ravel(), merged, rtol=1e-5, atol=1e-7)
    whole = word_axis(PIECES, WORDS)
    assert whole.names == ("[CLS]", "unables", "dog", "[SEP]")
    np.testing.assert_allclose(between_words(weights, whole, whole).sum(axis=-1), 1, rtol=1e-6)


def test_the_explorers_figure_is_of_its_state_now() -> None:
    trace = ForwardTrace(source_tokens=PIECES, source_words=WORDS, encoder_attention=attention(2, 3, 6, 6))
    view = explore(trace, layer=1, head=2)
    np.testing.assert_array_equal(drawn(view.figure()), trace.encoder_attention[1, 2])
    view.merge_words = view.hide_special = True
    assert texts(view.figure().axes[0].get_yticklabels()) == ["unables", "dog"]
    view.merge_words = view.hide_special = False
    view.selected, view.aggregate = [[0, 0], [1, 1]], "max"
    expected = np.maximum(trace.encoder_attention[0, 0], trace.encoder_attention[1, 1])
    np.testing.assert_array_equal(drawn(view.figure()), expected)
    view.threshold = 0.5
    assert "below 0.5" in view.alt_text()
    other = ForwardTrace(source_tokens=PIECES, encoder_attention=trace.encoder_attention[::-1])
    view.aggregate, view.threshold, view.compare = "head", 0.0, other
    changed = trace.encoder_attention[1, 2] - trace.encoder_attention[0, 2]
    np.testing.assert_array_equal(drawn(view.figure()), changed)
    assert "difference" in view.alt_text()
