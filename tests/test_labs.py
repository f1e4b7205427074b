"""The translation lab, predictions and the trace switch, driven from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.labs import TranslationLab
from viz_transformer.trace import ForwardTrace


@pytest.fixture
def lab(translator) -> TranslationLab:
    return vt.translation_lab(translator, "the black cat sleeps")


def type_in(lab: TranslationLab, text: str) -> dict[str, Any]:
    """Do what the page does with a typed text, answered by the kernel; returns the reply."""
    reply = lab.answer({"text": text})
    if "problem" not in reply:
        shown = {"sentence": text, "translated": reply["translation"]["text"], "drawn": text}
        lab.explorer.set_state({"data": {"version": f"page {text}", "traces": [reply["trace"]]}})
        lab.set_state(shown)
    return reply


def test_a_sentence_set_in_a_cell_changes_translation_and_picture(lab: TranslationLab) -> None:
    assert lab.translation.text == "el gato negro duerme"
    lab.explorer.head = 2
    lab.sentence = "the white cow does not sleep"
    assert lab.translation.text == lab.translated == "la vaca blanca no duerme"
    assert lab.explorer.trace is lab.trace
    assert lab.trace.source_tokens[:3] == ("the", "white", "cow")
    assert lab.explorer.head == 2
    picture = lab.explorer.trace
    with pytest.raises(vt.UserError, match="dragon"):
        lab.sentence = "the dragon"
    assert (lab.sentence, lab.explorer.trace) == ("the white cow does not sleep", picture)


def test_a_sentence_typed_in_the_page_does_the_same_and_sends_no_trace_back(
    lab: TranslationLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.explorer.query = 4
    sent: list[str] = []
    monkeypatch.setattr(lab.explorer, "send_state", lambda key=None: sent.extend(key or []))
    translated: list[str] = []
    translate = lab._translator.translate
    monkeypatch.setattr(lab._translator, "translate", lambda text: translated.append(text) or translate(text))
    type_in(lab, "The dog runs.")
    assert (lab.sentence, lab.translation.text) == ("The dog runs.", "el perro corre")
    assert (lab.explorer.trace is lab.trace, lab.trace.source_tokens[1]) == (True, "dog")
    assert lab.explorer.data["version"] == "page The dog runs."
    assert set(sent) <= {"query"}, "a pin that no longer fits, and nothing else"
    assert translated == ["The dog runs."], "translated once"
    lab.sentence = "the cow sleeps"
    assert "data" in sent


def test_a_sentence_that_the_page_did_not_draw_is_sent(lab: TranslationLab) -> None:
    """A trace too large for a reply comes from the explorer, in parts."""
    lab.set_state({"sentence": "the cow sleeps"})
    assert lab.explorer.trace is lab.trace
    assert lab.translated == "la vaca duerme"
    assert lab.explorer.data["traces"][0]["sourceTokens"][1] == "cow"


def test_what_cannot_be_translated_is_explained_with_suggestions(lab: TranslationLab) -> None:
    picture = lab.explorer.trace
    reply = type_in(lab, "The dragon didn't sleep.")
    assert "unknown English word 'dragon'" in reply["problem"]
    assert ["dog", "the dog did not sleep"] in reply["suggestions"]
    reply = type_in(lab, "The dog runs. the cow sleeps!")
    assert "translate them one at a time" in reply["problem"]
    assert reply["suggestions"] == [[each, each] for each in ("The dog runs.", "the cow sleeps!")]
    for text in ("", "   ", "cat " * 80, "el gato negro duerme"):
        reply = type_in(lab, text)
        assert (bool(reply["problem"]), reply["suggestions"]) == (True, []), text
    assert lab.explorer.trace is picture
    assert lab.translation.text == "el gato negro duerme"
    suggested = dict(type_in(lab, "the dragon sleeps")["suggestions"])["dog"]
    assert "problem" not in type_in(lab, suggested)
    assert (lab.sentence, lab.translation.text) == ("the dog sleeps", "el perro duerme")


def test_a_prediction_is_made_once_and_shows_the_picture_afterwards() -> None:
    trace = ForwardTrace(
        source_tokens=("the", "<b>cat</b>", "sleeps"),
        target_tokens=("<sos>",),
        output_tokens=("gato",),
        cross_attention=np.array([0.1, 0.7, 0.2]).reshape(1, 1, 1, 3),
    )
    place = {"kind": "cross", "layer": 0, "head": 0, "query": "gato"}
    guess = vt.prediction(trace, "Where?", **place, afterwards="So <there>.")
    assert (guess.choice, guess.revealed) == (None, {})
    guess.choice = 2
    assert guess.revealed == {"view": guess.explorer}
    assert guess.explorer.query == 0
    assert guess.score == pytest.approx(0.2 / 0.7)
    guess.choice = 1
    assert guess.choice == 2
    right = vt.prediction(trace, "Where?", **place)
    right.choice = 1
    assert right.score == 1


def test_a_switch_keeps_the_selection(translator) -> None:
    traces = {
        "tired": translator.trace("the dog did not cross the street because it was too tired"),
        "wide": translator.trace("the dog did not cross the street because it was too wide"),
    }
    switch = vt.trace_switch(traces, kind="encoder")
    switch.explorer.layer, switch.explorer.head = 1, 3
    before = switch.explorer.data
    switch.set_state({"shown": "wide"})  # a click in the page, which has drawn it
    assert switch.explorer.trace is traces["wide"]
    assert switch.explorer.data is before
    assert (switch.explorer.kind, switch.explorer.layer, switch.explorer.head) == ("encoder", 1, 3)
    switch.shown = "tired"
    assert switch.explorer.trace is traces["tired"]
    assert switch.explorer.data["traces"][0]["sourceTokens"][-2] == "tired"
    with pytest.raises(vt.UserError, match="no trace"):
        vt.trace_switch({})
