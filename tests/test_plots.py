"""Figures of a trace: what they draw is what it holds, as the explorer shows it."""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import fontManager

from tests.support.hand_made_traces import (
    HOSTILE,
    OUTPUT,
    SOURCE,
    TARGET,
    attention,
    hostile_trace,
    make_trace,
    softmax,
)
from tests.support.javascript import answers_in_node
from viz_transformer.analysis import output_rollout, rollout
from viz_transformer.analysis.words import between_words, word_axis
from viz_transformer.errors import UserError
from viz_transformer.plots import labels, plot_aggregate, plot_difference, plot_head, plot_heads, save_figure
from viz_transformer.plots.colour import STOPS, weight_colormap
from viz_transformer.plots.labels import label, visible
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

pytestmark = pytest.mark.usefixtures("no_window")

PIECES = ("[CLS]", "un", "##able", "##s", "dog", "[SEP]")
WORDS = (None, 0, 0, 0, 1, None)


def texts(labels) -> list[str]:
    return [text.get_text() for text in labels]


def drawn(figure) -> np.ndarray:
    return np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)


def test_a_head_shows_its_weights_and_words() -> None:
    trace = make_trace()
    ax = plot_head(trace, "cross", 1, 2)
    np.testing.assert_array_equal(ax.images[0].get_array(), trace.cross_attention[1, 2])
    assert ax.images[0].get_clim() == (0, 1)
    rows = [f"{read} → {written}" for read, written in zip(TARGET, OUTPUT, strict=True)]
    assert texts(ax.get_yticklabels()) == rows  # a query is named by what was read and what it writes
    assert texts(ax.get_xticklabels()) == list(SOURCE)
    assert ax.get_title("left") == "Cross-attention · layer 1 · head 2"
    numbers = [f"{weight:.2f}" for weight in trace.cross_attention[1, 2].ravel()]
    assert texts(ax.texts) == numbers


def test_all_heads_show_all_weights_and_the_figure_is_shown_once() -> None:
    trace, before = make_trace(), plt.get_fignums()
    figure = plot_heads(trace, "decoder")
    assert plt.get_fignums() == before
    ax, sheet = figure.axes[0], drawn(figure)
    size = (5 + 1) * np.arange(4)  # five cells, and a gap
    cells = [[sheet[y : y + 5, x : x + 5] for x in size] for y in size[:2]]
    np.testing.assert_array_equal(cells, trace.decoder_attention)
    assert np.isnan(sheet[5]).all()
    assert texts(ax.get_xticklabels()) == [*TARGET] * 4
    assert texts(ax.get_yticklabels()) == [*OUTPUT] * 2


def test_many_heads_and_tokens_are_drawn_too(tmp_path: Path) -> None:
    words = tuple(f"word{i}" for i in range(300))
    weights = np.zeros((12, 12, 300, 300), dtype=np.float32)
    weights[..., np.arange(300), np.arange(300)] = 1
    figure = plot_heads(ForwardTrace(source_tokens=words, encoder_attention=weights), "encoder")
    np.testing.assert_array_equal(drawn(figure)[:96, :96], np.eye(96))  # thin lines are kept
    trace = make_trace(words[:90], words[:90], None, n_layers=1, n_heads=9)
    ax = plot_head(trace, "cross", 0, 8)
    assert texts(ax.get_xticklabels()) == list(words[:90:3])  # thinned out, evenly
    ax.figure.savefig(tmp_path / "head.png")
    plot_heads(trace, "cross").savefig(tmp_path / "heads.png")


def test_hostile_tokens_are_drawn_as_text(tmp_path: Path) -> None:
    ax = plot_head(hostile_trace(), "cross", 0, 0)
    assert texts(ax.get_yticklabels()) == [f"{label(token)} → {label(token)}" for token in HOSTILE]
    assert not any(text.get_parse_math() for text in ax.get_xticklabels())
    ax.figure.savefig(tmp_path / "hostile.png")
    plot_heads(hostile_trace(), "cross").savefig(tmp_path / "hostile_all.png")


def test_the_installed_font_that_has_a_glyph_is_found_and_else_its_code_point_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cuneiform, which no usual font has; a font of one character stands for that which was installed."""
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist])
    monkeypatch.setattr(labels, "_needed", {})
    weights = np.eye(2)[None, None]  # [layer, head, query, key]
    trace = ForwardTrace(source_tokens=["𒀀", "猫𒀁"], encoder_attention=weights)
    assert label("𒀀") == "<U+12000>"
    builder = FontBuilder(1000)
    builder.setupGlyphOrder([".notdef", "a"])
    builder.setupCharacterMap({0x12000: "a"})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "a": TTGlyphPen(None).glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "a": (500, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Of One Sign", "styleName": "Regular"})
    builder.setupOS2(usWeightClass=400)
    builder.setupPost()
    builder.save(tmp_path / "sign.ttf")
    fontManager.addfont(tmp_path / "sign.ttf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that is missing
        ax = plot_head(trace, "encoder", 0, 0)
        ax.figure.savefig(tmp_path / "signs.png")
    first, second = texts(ax.get_xticklabels())
    assert first == "𒀀"
    assert "Of One Sign" in ax.get_xticklabels()[0].get_fontfamily()
    assert second.endswith("<U+12001>")


def test_nothing_of_a_token_is_invisible_and_nothing_turns_it() -> None:
    expected = {
        **{"": "∅", "a\nb": "a⏎b", "a\u2028b": "a⏎b", "\t": "⇥", "\x00": "<U+0000>", " ": "␣", "  ": "␣␣"},
        **{"a b": "a b", "plain": "plain", "שלום": "שלום", "é": "é", "\ud800": "<U+D800>"},
        **{"\u202e12.50": "<U+202E>12.50", "\xa0": "<U+00A0>", "a\u3000b": "a<U+3000>b"},
        **{"\u200d": "<U+200D>", "می\u200cروم": "می\u200cروم", "❤\ufe0f": "❤\ufe0f", "\ufe0f": "<U+FE0F>"},
        **{"\u3164": "<U+3164>", "so\xadft": "so<U+00AD>ft", "\u06dd12": "\u06dd12", " \u200b": " <U+200B>"},
        **{"Ġcat": "·cat", "▁": "·", "ĠĠĠ": "···", ".ĊĊ": ".⏎⏎", "ĊĠ": "⏎Ġ", "Ċensu": "Ċensu", "ĉ": "⇥"},
    }
    assert {token: visible(token) for token in expected} == expected
    known = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"]
    tokens = [*expected, *known, *(f"a{char}" for char in known)]
    run = "(tokens) => tokens.map((t) => [t, visible(t)]).filter(([t, shown]) => shown !== t)"
    shown = answers_in_node({"visible": "widgets/base/text.ts"}, run, tokens)
    assert dict(shown) == {token: visible(token) for token in tokens if visible(token) != token}


def test_the_page_and_the_figures_share_one_colour_scale() -> None:
    ramps = answers_in_node(
        {"colourRamp": "widgets/base/colour.ts"},
        "(scales) => scales.map((stops) => Array.from(colourRamp(stops)))",
        list(STOPS.values()),
    )
    for theme, ramp in zip(STOPS, ramps, strict=True):
        rgb = np.array(ramp, dtype=np.uint32).view(np.uint8).reshape(256, 4)[:, :3]
        twin = weight_colormap(theme)(np.linspace(0, 1, 256))[:, :3] * 255
        assert np.abs(rgb - twin).max() <= 1, theme


def test_a_figure_carries_its_alternative_text_into_the_file(tmp_path: Path) -> None:
    figure = plot_head(make_trace(), "cross", 1, 2).figure
    assert figure.alt_text.startswith("Heatmap of cross attention, layer 1, head 2: 5 queries")
    for ending in (".svg", ".png", ".pdf"):
        saved = save_figure(figure, tmp_path / f"figure{ending}").read_bytes()
        assert b"Heatmap of cross attention, layer 1" in saved, ending


def test_masked_cells_are_hatched_and_small_weights_are_left_blank() -> None:
    trace = make_trace()
    ax = plot_head(trace, "decoder", 0, 1)
    (hatched,) = [patch for patch in ax.patches if patch.get_gid() == "masked"]
    assert hatched.get_hatch()
    path = hatched.get_path()
    inside = [[path.contains_point((col, row)) for col in range(5)] for row in range(5)]
    np.testing.assert_array_equal(inside, np.triu(np.ones((5, 5)), 1))
    assert len(ax.texts) == 15
    assert "10 cells are hatched" in ax.figure.alt_text
    assert not plot_head(trace, "encoder", 0, 1).patches
    figure = plot_head(trace, "cross", 1, 2, threshold=0.25).figure
    weights = trace.cross_attention[1, 2]
    np.testing.assert_array_equal(drawn(figure), np.where(weights < 0.25, np.nan, weights))
    assert "below 0.25 are left out" in figure.alt_text


def sharper(trace: ForwardTrace) -> ForwardTrace:
    """The same words but one, other weights."""
    return replace(
        trace,
        source_tokens=("the", "red", *SOURCE[2:]),
        encoder_attention=softmax(3 * trace.encoder_attention),
        cross_attention=softmax(3 * trace.cross_attention),
    )


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


def test_a_title_is_seen_whole_however_few_tokens_there_are() -> None:
    for n_queries, n_keys in ((1, 1), (2, 2), (3, 3), (4, 4), (8, 2), (2, 8), (50, 1)):
        trace = ForwardTrace(
            source_tokens=[f"key {at}" for at in range(n_keys)],
            target_tokens=[f"query {at}" for at in range(n_queries)],
            cross_attention=attention(1, 12, n_queries, n_keys),
        )
        square = ForwardTrace(
            source_tokens=trace.source_tokens, encoder_attention=attention(1, 12, n_keys, n_keys)
        )
        nine = [(0, head) for head in range(9)]
        for ax, said in (
            (plot_head(trace, "cross", 0, 0), "Cross-attention layer 0 · head 0"),
            (plot_aggregate(trace, "cross", how="max"), "maximum of all 12 heads of layer 0"),
            (
                plot_aggregate(trace, "cross", nine),
                "mean of 9 heads: 0·0, 0·1, 0·2, 0·3, 0·4, 0·5 and 3 more",
            ),
            (explore(square, head=11).figure().axes[0], "Encoder self-attention layer 0 · head 11"),
        ):
            FigureCanvasAgg(ax.figure).draw()
            box, whole = ax._left_title.get_window_extent(), ax.figure.bbox
            case = (n_queries, n_keys, said)
            assert box.x0 >= 0, case
            assert box.x1 <= whole.x1, case
            assert box.y1 <= whole.y1, case
            letters = "".join(said.split())
            assert letters in "".join(ax.get_title("left").replace("attention · ", "attention").split()), case
            plt.close(ax.figure)


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


def test_pieces_of_words_are_merged_as_the_page_merges_them() -> None:
    weights = attention(1, 1, 6, 6)[0, 0]
    for hide, merge in ((False, True), (True, True), (True, False), (False, False)):
        axis = word_axis(PIECES, WORDS, hide_special=hide, merge_words=merge)
        names, merged = answers_in_node(
            dict.fromkeys(["axisOf", "gather"], "widgets/explorer/displayed_head.ts"),
            """({ names, special, words, hide, merge, weights }) => {
                const axis = axisOf(names, special, words, { hideSpecial: hide, mergeWords: merge });
                return [axis.names, Array.from(gather(Float32Array.from(weights), 6, axis, axis))];
            }""",
            {
                "names": PIECES,
                "special": [True, *[False] * 4, True],
                "words": WORDS,
                "hide": hide,
                "merge": merge,
                "weights": weights.ravel().tolist(),
            },
        )
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


def test_a_figure_that_cannot_be_drawn_is_refused() -> None:
    trace = make_trace()
    only = ForwardTrace(source_tokens=("a",), encoder_attention=[[[[1.0]]]])
    for draw, message in (
        (lambda: plot_head(trace, "cross", 2, 0), "layer=2, but the cross attention of this trace has 2"),
        (lambda: plot_head(trace, "cross", 0, -1), r"head=-1.*choose 0 to 3"),
        (lambda: plot_heads(trace, "self"), "unknown attention kind 'self'"),
        (lambda: plot_head(only, "cross", 0, 0), r"holds no cross attention; it holds \['encoder'\]"),
        (lambda: plot_aggregate(trace, "cross", how="sum"), "how='sum'; choose 'mean'"),
        (lambda: plot_aggregate(trace, "cross", [[2, 0]]), "layer=2, but the cross"),
        (lambda: plot_difference(trace, make_trace(n_heads=2), "cross", 0, 0), "traces of equal shapes"),
    ):
        with pytest.raises(UserError, match=message):
            draw()
