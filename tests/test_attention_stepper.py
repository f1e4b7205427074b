"""The attention stepper: its state, what it sends, its live model, and JavaScript's numbers."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.attention_steps import barred_steps, in_javascript, random_steps
from tests.support.hand_made_traces import HOSTILE
from tests.support.refusals import assert_refused
from viz_transformer.labs import attention_steps
from viz_transformer.trace import compute_head
from viz_transformer.widgets.attention_stepper.payload import layer_payload
from viz_transformer.widgets.attention_stepper.view import AttentionStepper

TEXT = "the black cat sleeps"


@pytest.fixture
def view(translator) -> AttentionStepper:
    return vt.attention_stepper(translator, TEXT, kind="decoder", layer=1, head=2, query="negro")


def test_the_first_choices(view: AttentionStepper, translator) -> None:
    assert (view.kind, view.layer, view.head, view.query, view.step) == ("decoder", 1, 2, 2, 0)
    assert (view.scale, view.mask, view.temperature) == (True, True, 1)
    assert (view.key, view.column) == (None, None)
    assert view.live
    assert view.steps.query_tokens[view.query] == "negro"
    kinds = ("encoder", "decoder", "cross")
    assert view.places == [[kind, layer] for kind in kinds for layer in (0, 1)]
    assert vt.attention_stepper(translator, TEXT).kind == "cross"
    assert not vt.thinking_machines().live


def test_it_opens_at_the_step_that_is_named(translator) -> None:
    """The first message to the page says which: a second one may come after the page has drawn."""
    for view in (
        vt.attention_stepper(translator, TEXT, step="concat"),
        vt.thinking_machines(step="weights"),
        vt.thinking_machines(step=6),
    ):
        assert view.get_state()["step"] == view.step > 0
    assert vt.thinking_machines(step="weights").step == vt.thinking_machines().steps.steps.index("weights")
    assert_refused(
        [
            (lambda: vt.thinking_machines(step="concat"), "step='concat' is none of this layer's steps: x, "),
            (lambda: vt.attention_stepper(translator, TEXT, step=30), "step=30"),
            (lambda: AttentionStepper([1, 2]), "shows AttentionSteps, not list"),
        ]
    )


def test_the_switches_of_interventions_are_those_of_the_view(translator) -> None:
    changed = vt.Interventions(scale=False, temperature=2)
    view = vt.attention_stepper(translator, TEXT, kind="encoder", interventions=changed)
    assert (view.scale, view.temperature) == (False, 2.0)
    theirs = translator.trace(TEXT, interventions=changed).encoder_attention
    assert np.allclose(view.worked().weights, theirs[0, 0, 1], atol=1e-5)


def test_another_sentence_or_layer_can_be_set(view: AttentionStepper, translator) -> None:
    view.query = 4
    view.text = "the dog runs"
    assert view.steps.query_tokens == ("el", "perro", "corre", "<eos>")
    assert view.query == 3
    view.kind = "cross"
    view.layer = 0
    assert (view.data["text"], view.data["kind"], view.data["layer"]) == (
        "the dog runs",
        "cross",
        0,
    )
    trace = translator.trace("the dog runs")
    assert np.allclose(view.worked().weights, trace.cross_attention[0, 2, 3], atol=1e-5)


def test_the_page_asks_and_then_sets_all_three(view: AttentionStepper) -> None:
    """As the page does: one question, and one message with the answer's place."""
    asked = {"text": "the dog runs", "kind": "cross", "layer": 0}
    reply = view.answer(asked)
    assert reply == layer_payload(view._fetch(**asked), "the dog runs")
    assert view.text == TEXT  # an answer changes nothing
    view.set_state({**asked, "query": 1})
    assert (view.text, view.kind, view.layer, view.query) == ("the dog runs", "cross", 0, 1)
    assert view.data == reply
    with pytest.raises(vt.UserError, match="dragon"):
        view.answer({"text": "the dragon", "kind": "cross", "layer": 0})


def test_a_page_carries_the_other_layers(view: AttentionStepper) -> None:
    questions = view.questions()
    assert len(questions) == 5
    assert {"text": TEXT, "kind": "cross", "layer": 0} in questions
    assert view.answer(questions[0])["kind"] == "encoder"
    assert vt.thinking_machines().questions() == []


def test_what_is_sent_is_what_python_has() -> None:
    steps = barred_steps()
    sent = layer_payload(steps, "words")
    for name in ("x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"):
        array = getattr(steps, name)
        assert np.array_equal(np.frombuffer(sent[name], "<f4").reshape(array.shape), array)
    assert np.array_equal(np.frombuffer(sent["mask"], np.uint8).reshape(3, 4) == 1, steps.mask)
    plain = layer_payload(random_steps(4, 4, kind="encoder", bias=False))
    assert [plain[name] for name in ("memory", "b_q", "b_o", "mask", "reads")] == [None] * 5


def test_the_figure_and_its_words_are_of_the_state(view: AttentionStepper) -> None:
    view.mask, view.temperature = False, 2.0
    figure = view.figure()
    images = [ax.images[0].get_array() for ax in figure.axes]
    assert len(images) == len(view.steps.steps)
    weights = images[view.steps.steps.index("weights")]
    assert np.allclose(weights[0], view.worked().weights)
    assert figure.alt_text == view.alt_text()
    best = view.steps.key_tokens[int(view.worked().weights.argmax())]
    assert f"Its largest weights: {best}" in view.alt_text()
    nothing = AttentionStepper(barred_steps(), traits={"query": 1})
    assert "attend to nothing" in nothing.alt_text()
    nothing.figure()


def test_hostile_words_are_drawn_and_sent() -> None:
    n = len(HOSTILE)
    steps = random_steps(n, n, kind="encoder", query_tokens=HOSTILE, key_tokens=HOSTILE)
    view = AttentionStepper(steps, text=HOSTILE[0])
    json.dumps([view.data["queries"], view.text]).encode("utf-8")
    figure = view.figure()
    figure.canvas.draw()


def test_the_page_computes_what_numpy_does(translator) -> None:
    kinds = ("encoder", "decoder", "cross")
    layers = {kind: attention_steps(translator, TEXT, kind=kind, layer=1) for kind in kinds}
    layers |= {"by hand": vt.thinking_machines().steps, "barred": barred_steps()}
    trace = translator.trace(TEXT)
    switches = [(True, True, 1), (False, True, 0.3), (True, False, 4.0)]
    for case, steps in layers.items():
        chosen = [
            {"head": head, "query": query, "scale": scale, "mask": mask, "temperature": temperature}
            for head, query, (scale, mask, temperature) in itertools.product(
                range(steps.n_heads), range(len(steps.query_tokens)), switches
            )
        ]
        for each, (theirs, _) in zip(chosen, in_javascript(steps, chosen), strict=True):
            ours = compute_head(steps, **each)
            assert {*theirs} == {*steps.steps, "exponentials"}
            for name, values in theirs.items():
                got = [float(str(value).replace("Infinity", "inf")) for value in values]
                assert np.allclose(got, getattr(ours, name).ravel(), atol=1e-5), (case, name)
            if case in kinds and each["scale"] and each["mask"]:
                own = trace.attention(case)[1, each["head"], each["query"]]
                assert np.allclose(theirs["weights"], own, atol=1e-5), case
