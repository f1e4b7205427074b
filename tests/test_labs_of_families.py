"""The labs of every family of models, and the translation lab, predictions and the trace switch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.refusals import assert_refused
from tests.support.spanish_models import small_language_model, small_masked_model
from viz_transformer import TranslationLab
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.recipes import Recorder
from viz_transformer.text_model import TextModel
from viz_transformer.trace import ForwardTrace, compute_head
from viz_transformer.widgets.mask_lab.composition import compose
from viz_transformer.widgets.mask_lab.requests import mask_request

TEXT = "el gato negro duerme"
SENTENCES = (TEXT, "la gata duerme")
#: Each model, what it is asked, its answer, and the attention that it has.
MODELS = {
    "continue": (small_language_model, "el gato", TEXT, "decoder"),
    "fill": (small_masked_model, "el gato [?] duerme", TEXT, "encoder"),
}
each_model = pytest.mark.parametrize("task", MODELS)


@pytest.fixture
def asked(task: str) -> tuple[TextModel, str, str, str]:
    make, *rest = MODELS[task]
    return (make(), *rest)


@each_model
def test_the_attention_stepper_computes_the_trace_s_weights(asked) -> None:
    model, text, _, kind = asked
    assert vt.attention_stepper(model, text, layer=1, head=1).kind == kind
    steps = vt.attention_steps(model, text, layer=1)
    weights = model.trace(text).attention(kind)[1]  # [head, query, key]
    for head, query in np.ndindex(weights.shape[:2]):
        np.testing.assert_allclose(compute_head(steps, head, query).weights, weights[head, query], atol=1e-6)
    with pytest.raises(UserError, match=f"has no 'cross' attention; it has \\['{kind}'\\]"):
        vt.attention_stepper(model, text, kind="cross")


@each_model
def test_the_head_lab_measures_what_each_head_does_for_the_answer(asked, task: str) -> None:
    model, text, answer, kind = asked
    lab = vt.head_lab(model, text)
    assert lab.task == task
    done = "continued" if task == "continue" else "filled"
    assert lab.alt_text().startswith(f"“{text}” is {done} as “{answer}”")
    unchanged = lab.answer({"sentence": text, "changes": []})
    assert unchanged["translation"] == answer.split()
    changes = {"kind": kind, "layer": 1, "head": 0, "factor": 0.0}
    changed = lab.answer({"sentence": text, "changes": [changes]})
    off = Interventions(heads=[HeadChange(**changes)])
    if task == "continue":
        output, log_probs = [*answer.split(), "<eos>"], model.log_probs(answer, off)
    else:
        output, log_probs = ["negro"], [np.log(model.fill(text, off)["negro"])]
    assert changed["output"] == output
    np.testing.assert_allclose(changed["log_probs"], log_probs, atol=1e-6)
    assert {effect.kind for effect in lab.effects()} == {kind}
    (effect,) = (each for each in lab.effects() if (each.layer, each.head) == (1, 0))
    lost = np.mean(unchanged["log_probs"]) - np.mean(changed["log_probs"])
    assert effect.loss_change == pytest.approx(lost, abs=1e-6)
    wrong, told = ("el gato duerme", "has no gap") if task == "fill" else ("el gatto", "unknown Spanish word")
    with pytest.raises(UserError, match=told):
        lab.sentence = wrong
    assert lab.sentence == text


@each_model
def test_the_mask_lab_has_the_masks_that_the_model_has(asked) -> None:
    model, _, _, kind = asked
    lab = vt.mask_lab(model, SENTENCES)
    assert (lab.kinds, lab.kind) == ([kind], kind)
    assert lab.causal == (kind == "decoder")
    assert {request["kind"] for request in lab.questions()} == {kind}
    with pytest.raises(UserError, match="kind='cross' is none of"):
        lab.kind = "cross"
    measured = lab.measure()
    allowed = measured["allowed"].transpose(0, 2, 1)  # [batch, edited, query]
    assert (measured["changes"][~allowed & lab.batch.real[:, None]] < 1e-4).all()
    assert (measured["changes"][allowed] > 1e-4).any()
    assert measured["longer"][lab.batch.real].max() < 1e-4

    reply = lab.answer(mask_request(lab.words, lab.state, "formulas"))
    ours = reply["libraries"][0]
    weights = np.frombuffer(ours["weights"], "<f4").reshape(ours["shapes"][0])  # of the first head
    assert compose(lab.words, lab.state).mask.shape[2:] == weights.shape[1:]
    np.testing.assert_allclose(weights[0], model.trace(TEXT).attention(kind)[0, 0], atol=1e-5)

    lab.causal, lab.padding = False, kind == "decoder"
    measured = lab.measure()
    barred = ~measured["allowed"].transpose(0, 2, 1) & lab.batch.real[:, None]
    assert measured["changes"][barred].max() > 1e-3, "what a missing mask lets through"


def test_the_beam_stepper_follows_a_language_model() -> None:
    model = small_language_model()
    view = vt.beam_stepper(model, "el gato", beam_width=2)
    assert (view.task, view.sentence) == ("continue", "el gato")
    assert {one.tokens[0] for one in view.search.hypotheses} == {"negro", "blanco"}
    assert view.search.steps[0].decoder_attention is not None
    view.method = "sample"
    assert view.search.hypotheses[0].tokens == model.sample("el gato").hypotheses[0].tokens
    view.sentence = ""
    assert view.search.prompt_tokens == ("<sos>",)
    with pytest.raises(UserError, match="unknown Spanish word 'gatto'"):
        view.sentence = "el gatto"


def test_unsuitable_models_are_refused_in_one_line(translator) -> None:
    language, masked = small_language_model(), small_masked_model()
    both = {"one": translator, "other": language}
    assert_refused(
        [
            (lambda: vt.beam_stepper(masked, TEXT), "a masked language model does not suit a beam stepper"),
            (lambda: vt.translation_lab(language, TEXT), "a language model does not suit a translation lab"),
            (lambda: vt.position_lab(masked, TEXT), "a masked language model does not suit a position lab"),
            (
                lambda: vt.head_lab(3, TEXT),
                "3 is no translator or language model or masked language model; give a translator",
            ),
            (lambda: vt.beam_stepper(both, "the cat sleeps"), "of different kinds"),
        ]
    )


@each_model
def test_the_training_scrubber_shows_the_model_s_outputs(asked, task: str) -> None:
    model, text, answer, kind = asked
    recorder = Recorder(model.model, model.vocabulary, [TextPair(text, answer)], "seed 0", [0])
    recorder.record_moment(0)
    view = vt.watch_training(recorder.trace())
    assert (view.trace.task, view.kind) == (task, kind)
    (run,) = view.data["runs"]
    assert (run["task"], run["translations"]) == (task, [[answer]])
    said = "continued" if task == "continue" else "filled"
    assert f"is {said} as “\u2068{answer}\u2069”: the watched text" in view.alt_text()


# --- The translation lab, predictions and the trace switch ----------------------------------------


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
    # A trace too large for a reply is not drawn by the page, and comes from the explorer, in parts.
    lab.set_state({"sentence": "the cow sleeps"})
    assert lab.explorer.trace is lab.trace
    assert lab.translated == "la vaca duerme"
    assert lab.explorer.data["traces"][0]["sourceTokens"][1] == "cow"
    assert "data" in sent


def test_unknown_words_are_explained_with_suggestions(lab: TranslationLab) -> None:
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
    street = "the dog did not cross the street because it was too"
    traces = {word: translator.trace(f"{street} {word}") for word in ("tired", "wide")}
    switch = vt.trace_switch(traces, kind="encoder")
    switch.explorer.layer, switch.explorer.head = 1, 3
    before = switch.explorer.data
    switch.set_state({"shown": "wide"})  # a click in the page, which has drawn it
    assert switch.trace is switch.explorer.trace is traces["wide"]
    assert switch.explorer.data is before
    assert (switch.explorer.kind, switch.explorer.layer, switch.explorer.head) == ("encoder", 1, 3)
    switch.shown = "tired"
    assert switch.explorer.trace is traces["tired"]
    assert switch.explorer.data["traces"][0]["sourceTokens"][-2] == "tired"
    with pytest.raises(UserError, match="no trace"):
        vt.trace_switch({})

    switch = vt.trace_switch(traces, kind="encoder", difference=True)
    assert switch.labels == ["tired", "wide", "difference"]
    switch.set_state({"shown": "difference"})
    shown = switch.explorer
    assert (shown.trace, shown.compare) == (traces["wide"], traces["tired"])
    assert shown.data["traces"][0]["sourceTokens"][-2] == "tired"  # the page has drawn it
    switch.shown = "tired"
    assert shown.compare is None
    switch.shown = "difference"
    assert [each["sourceTokens"][-2] for each in shown.data["traces"]] == ["wide", "tired"]
    with pytest.raises(UserError, match="two traces"):
        vt.trace_switch({"tired": traces["tired"]}, difference=True)
    with pytest.raises(UserError, match="equally many tokens"):
        vt.trace_switch({"a": traces["tired"], "b": translator.trace("the dog sleeps")}, difference=True)
