"""Labs, driven from Python; tests/ui does the same with a mouse and a keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.labs import TranslationLab
from viz_transformer.labs.predictions import KeyPrediction
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


def test_a_sentence_set_changes_translation_and_picture(lab: TranslationLab) -> None:
    assert lab.translation.text == "el gato negro duerme"
    lab.explorer.head = 2
    lab.sentence = "the white cow does not sleep"
    assert lab.translation.text == "la vaca blanca no duerme"
    assert lab.explorer.trace is lab.trace
    assert lab.trace.source_tokens[:3] == ("the", "white", "cow")
    assert lab.translated == "la vaca blanca no duerme"
    assert lab.explorer.head == 2


def test_a_sentence_typed_does_the_same(lab: TranslationLab) -> None:
    type_in(lab, "The dog runs.")
    assert lab.sentence == "The dog runs."
    assert lab.translation.text == "el perro corre"
    assert lab.explorer.trace is lab.trace


def test_python_follows_the_page_and_sends_no_trace_back(lab: TranslationLab, monkeypatch) -> None:
    lab.explorer.query = 4
    sent: list[str] = []
    monkeypatch.setattr(lab.explorer, "send_state", lambda key=None: sent.extend(key or []))
    type_in(lab, "it runs")
    assert (lab.explorer.trace is lab.trace, lab.trace.source_tokens[0]) == (True, "it")
    assert lab.explorer.data["version"] == "page it runs"
    assert set(sent) <= {"query"}, "a pin that no longer fits, and nothing else"
    lab.sentence = "the cow sleeps"
    assert "data" in sent


def test_a_sentence_that_the_page_did_not_draw_is_sent(lab: TranslationLab) -> None:
    """A trace too large for a reply comes from the explorer, in parts."""
    lab.set_state({"sentence": "the cow sleeps"})
    assert lab.explorer.trace is lab.trace
    assert lab.translated == "la vaca duerme"
    assert lab.explorer.data["traces"][0]["sourceTokens"][1] == "cow"


def test_a_typed_sentence_is_translated_once(lab: TranslationLab, monkeypatch) -> None:
    translated = []
    translate = lab._translator.translate
    monkeypatch.setattr(lab._translator, "translate", lambda text: translated.append(text) or translate(text))
    type_in(lab, "the cow sleeps")
    assert translated == ["the cow sleeps"]


def test_an_unknown_word_is_explained_and_the_old_picture_kept(lab: TranslationLab) -> None:
    picture = lab.explorer.trace
    reply = type_in(lab, "the dragon sleeps")
    assert "unknown English word 'dragon'" in reply["problem"]
    assert lab.explorer.trace is picture
    assert lab.translation.text == "el gato negro duerme"
    assert ["dog", "the dog sleeps"] in reply["suggestions"]


def test_a_suggestion_takes_the_unknown_words_place(lab: TranslationLab) -> None:
    suggestions = dict(type_in(lab, "the dragon sleeps")["suggestions"])
    assert "problem" not in type_in(lab, suggestions["dog"])
    assert lab.sentence == "the dog sleeps"
    assert lab.translation.text == "el perro duerme"


def test_several_sentences_are_offered_one_at_a_time(lab: TranslationLab) -> None:
    picture = lab.explorer.trace
    reply = type_in(lab, "The dog runs. the cow sleeps!")
    assert "translate them one at a time" in reply["problem"]
    assert lab.explorer.trace is picture
    assert reply["suggestions"] == [[each, each] for each in ("The dog runs.", "the cow sleeps!")]
    type_in(lab, "the cow sleeps!")
    assert lab.translation.text == "la vaca duerme"


def test_a_suggestion_leaves_the_other_words_as_they_are_typed(lab: TranslationLab) -> None:
    suggestions = dict(type_in(lab, "The dragon didn't sleep.")["suggestions"])
    assert suggestions["dog"] == "the dog did not sleep"


@pytest.mark.parametrize("text", ["", "   ", "cat " * 80, "el gato negro duerme"])
def test_other_bad_text_is_explained_without_suggestions(lab: TranslationLab, text: str) -> None:
    reply = type_in(lab, text)
    assert reply["problem"]
    assert reply["suggestions"] == []
    assert lab.sentence == "the black cat sleeps"


def test_set_from_python_a_bad_sentence_raises_and_changes_nothing(lab: TranslationLab) -> None:
    picture = lab.explorer.trace
    with pytest.raises(vt.UserError, match="dragon"):
        lab.sentence = "the dragon"
    assert lab.sentence == "the black cat sleeps"
    assert lab.explorer.trace is picture


TRACE = ForwardTrace(
    source_tokens=("the", "<b>cat</b>", "sleeps"),
    target_tokens=("<sos>",),
    output_tokens=("gato",),
    cross_attention=np.array([0.1, 0.7, 0.2]).reshape(1, 1, 1, 3),
)


def asked() -> KeyPrediction:
    return vt.prediction(
        TRACE, "Where?", kind="cross", layer=0, head=0, query="gato", afterwards="So <there>."
    )


def test_the_picture_comes_after_the_answer() -> None:
    guess = asked()
    assert guess.choice is None
    assert guess.revealed == {}
    guess.choice = 2
    assert guess.revealed == {"view": guess.explorer}
    assert guess.explorer.query == 0
    assert guess.score == pytest.approx(0.2 / 0.7)
    guess.choice = 1  # a prediction is made once
    assert guess.choice == 2


def test_a_right_prediction_scores_one() -> None:
    guess = asked()
    guess.choice = 1
    assert guess.score == 1


def test_a_choice_that_is_no_word_is_refused() -> None:
    guess = asked()
    with pytest.raises(vt.UserError, match="7 is not in"):
        guess.choice = 7
    assert guess.choice is None


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
    with pytest.raises(vt.UserError, match="'old' is not one of"):
        switch.shown = "old"
    with pytest.raises(vt.UserError, match="no trace"):
        vt.trace_switch({})
