"""The labs with a language model and a masked-word model, and what they refuse of them."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.refusals import assert_refused
from tests.support.spanish_models import small_language_model, small_masked_model
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.recipes import Recorder
from viz_transformer.text_model import TextModel
from viz_transformer.trace import compute_head
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
    steps = vt.labs.attention_steps(model, text, layer=1)
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
        assert changed["output"] == [*answer.split(), "<eos>"]
        np.testing.assert_allclose(changed["log_probs"], model.log_probs(answer, off), atol=1e-6)
    else:
        assert changed["output"] == ["negro"]
        assert changed["log_probs"] == pytest.approx([np.log(model.fill(text, off)["negro"])])
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


def test_what_does_not_suit_is_refused_in_one_line(translator) -> None:
    language, masked = small_language_model(), small_masked_model()
    both = {"one": translator, "other": language}
    assert_refused(
        [
            (lambda: vt.beam_stepper(masked, TEXT), "a masked-word model does not suit a beam stepper"),
            (lambda: vt.translation_lab(language, TEXT), "a language model does not suit a translation lab"),
            (lambda: vt.position_lab(masked, TEXT), "a masked-word model does not suit a position lab"),
            (
                lambda: vt.head_lab(3, TEXT),
                "3 is no translator or language model or masked-word model; give a translator",
            ),
            (lambda: vt.beam_stepper(both, "the cat sleeps"), "of different kinds"),
        ]
    )


@each_model
def test_the_training_scrubber_says_what_the_model_does(asked, task: str) -> None:
    model, text, answer, kind = asked
    recorder = Recorder(model.model, model.vocabulary, [TextPair(text, answer)], "seed 0", [0])
    recorder.record_moment(0)
    view = vt.watch_training(recorder.trace())
    assert (view.trace.task, view.kind) == (task, kind)
    (run,) = view.data["runs"]
    assert (run["task"], run["translations"]) == (task, [[answer]])
    said = "continued" if task == "continue" else "filled"
    assert f"is {said} as “\u2068{answer}\u2069”: the watched text" in view.alt_text()
