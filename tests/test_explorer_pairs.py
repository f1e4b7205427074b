"""Pairs of sentences in the explorer, and sound on a time axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.hand_made_traces import attention, make_trace
from viz_transformer.analysis import sentence_segments
from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.explorer import explore

TOKENS = ("[CLS]", "it", "rains", "[SEP]", "take", "an", "umbrella", "[SEP]")
SEGMENTS = [0, 0, 0, 0, 1, 1, 1, 1]


def pair_trace(tokens: tuple[str, ...] = TOKENS) -> ForwardTrace:
    weights = attention(2, 3, len(tokens), len(tokens))
    return ForwardTrace(source_tokens=tokens, encoder_attention=weights)


@pytest.mark.parametrize(
    ("tokens", "segments"),
    [
        (TOKENS, SEGMENTS),  # as BERT's token_type_ids
        (("<s>", "yes", "</s>", "</s>", "no", "</s>"), [0, 0, 0, 0, 1, 1]),  # RoBERTa
        (("yes", "<sep>", "no", "<sep>", "<cls>"), [0, 0, 1, 1, 1]),  # XLNet
        (("[CLS]", "yes", "[SEP]"), []),
        (("yes", "no"), []),
        (("[SEP]", "yes"), []),
        ((), []),
    ],
)
def test_a_pair_is_found_by_its_separators(tokens: tuple[str, ...], segments: list[int]) -> None:
    assert sentence_segments(tokens) == segments


@pytest.mark.parametrize(
    ("pair", "rows", "cols"),
    [
        ("AA", slice(0, 4), slice(0, 4)),
        ("AB", slice(0, 4), slice(4, 8)),
        ("BA", slice(4, 8), slice(0, 4)),
        ("BB", slice(4, 8), slice(4, 8)),
    ],
)
def test_the_twin_shows_the_sentences_that_are_chosen(pair: str, rows: slice, cols: slice) -> None:
    trace = pair_trace()
    axes = explore(trace, layer=1, head=2, pair=pair).figure().axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, trace.encoder_attention[1, 2][rows, cols], atol=1e-7)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(TOKENS[cols])


def test_a_page_of_a_large_trace_carries_the_thumbnails_of_each_pair() -> None:
    tokens = (*(f"a{i}" for i in range(60)), "[SEP]", *(f"b{i}" for i in range(80)))
    trace = pair_trace(tokens)
    view = explore(trace)
    asked = [each for each in view.questions() if "overview" in each]
    assert [each["overview"] for each in asked] == [["encoder", pair] for pair in ("AA", "AB", "BA", "BB")]
    reply = view.answer(asked[1])
    expected = np.stack([strongest(layer[:, :61, 61:], 32) for layer in trace.encoder_attention])
    values = np.frombuffer(reply["values"], np.uint8).reshape(expected.shape)
    np.testing.assert_array_equal(values, np.rint(255 * expected))
    assert (reply["rows"], reply["cols"]) == (32, 32)


def test_segments_can_be_given_and_go_with_their_trace() -> None:
    trace = pair_trace(("a", "b", "c", "d"))
    assert explore(trace).segments == []
    given = np.array([[0, 0, 1, 1]])  # as a tokenizer returns them
    view = explore(trace, segments=given, pair="BA")
    assert (view.segments, view.pair) == ([0, 0, 1, 1], "BA")
    view.trace = pair_trace(("a", "b"))
    assert (view.segments, view.pair) == ([], "all")
    view.trace = pair_trace()
    assert view.segments == SEGMENTS
    decoder = ForwardTrace(target_tokens=TOKENS, decoder_attention=attention(1, 1, 8, 8, causal=True))
    assert explore(decoder).segments == []  # a decoder's </s> ends a text
    assert explore(decoder, segments=SEGMENTS, pair="BA").pair == "BA"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": [0, 1]}, "does not fit the 8 tokens; give 0 for each token of sentence A"),
        ({"segments": [0, 1, 2, 0, 0, 0, 0, 0]}, "give 0 for each token of sentence A"),
        ({"segments": "AB"}, "give 0 for each token of sentence A"),
        ({"pair": "A→B"}, "choose one of"),
        ({"seconds_per_frame": 0}, "give the seconds of a source position, 0.02 for Whisper"),
        ({"seconds_per_frame": float("nan")}, "give the seconds of a source position"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as told:
        explore(pair_trace(), **options)
    assert "\n" not in str(told.value)


def test_one_sentence_has_no_pair_to_choose() -> None:
    view = explore(make_trace())
    with pytest.raises(SelectionError, match="holds no pair of sentences; give segments="):
        view.pair = "AB"
    assert view.pair == "all"


def test_the_twin_names_source_positions_by_their_time() -> None:
    view = explore(make_trace(), kind="cross", seconds_per_frame=0.5)
    axes = view.figure().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["0.00 s", "0.50 s", "1.00 s"]
    assert "0.50 s" not in [label.get_text() for label in axes.get_yticklabels()]
    assert " s 0." in view.alt_text() or " s +" in view.alt_text()
