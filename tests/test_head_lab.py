"""The head lab, driven from Python; tests/ui does the same with a mouse and a keyboard."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import viz_transformer as vt
from tests.support.hand_made_traces import hostile_trace, make_trace
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.labs import interventions_of
from viz_transformer.model import HeadChange, Interventions, Transformer
from viz_transformer.plots import plot_head_effects, plot_log_probs
from viz_transformer.widgets.head_lab.view import HeadLab

SENTENCE = "the teacher lost his book"
GENDER = {"kind": "encoder", "layer": 1, "head": 1}


@pytest.fixture(scope="module")
def made(translator) -> HeadLab:
    return vt.head_lab(translator)


@pytest.fixture
def lab(made: HeadLab) -> HeadLab:
    """The lab as it was made; with shapes checked, each making takes a second."""
    made.sentence, made.factors, made.query = SENTENCE, [], None
    made.kind, made.layer, made.head = "cross", 1, 2
    return made


def asked(lab: HeadLab, *factors: dict) -> dict:
    return lab.answer({"sentence": lab.sentence, "changes": list(factors)})


def plain_log_probs(translator, model: Transformer, sentence: str, translation: str) -> np.ndarray:
    """What the plain model gives for the words, without any of the lab's machinery."""
    source = torch.tensor([translator.vocabulary.source_ids(sentence)])
    ids = translator.vocabulary.target_ids(translation)
    with torch.no_grad():
        logits = model(source, torch.tensor([ids[:-1]]))
    return F.log_softmax(logits, dim=-1)[0, range(len(ids) - 1), ids[1:]].numpy()


def without_head(translator, kind: str, layer: int, head: int) -> Transformer:
    """A copy of the model whose W_O reads nothing of one head: the same as a factor of 0."""
    model = copy.deepcopy(translator.model)
    part = {
        "encoder": lambda: model.encoder.layers[layer].self_attention,
        "decoder": lambda: model.decoder.layers[layer].self_attention,
        "cross": lambda: model.decoder.layers[layer].cross_attention,
    }[kind]()
    d_head = model.config.d_model // model.config.n_heads
    with torch.no_grad():
        part.w_o.weight[:, head * d_head : (head + 1) * d_head] = 0
    return model


def test_the_numbers_are_those_of_the_plain_model(lab: HeadLab, translator) -> None:
    reply = asked(lab)
    assert reply["translation"] == translator.translate(SENTENCE).text.split()
    assert reply["output"] == [*reply["translation"], "<eos>"]
    expected = plain_log_probs(translator, translator.model, SENTENCE, " ".join(reply["translation"]))
    assert reply["log_probs"] == pytest.approx(expected, abs=1e-5)


def test_a_head_switched_off_is_a_head_that_w_o_does_not_read(lab: HeadLab, translator) -> None:
    unchanged = asked(lab)
    words = " ".join(unchanged["translation"])
    for kind, layer, head in (("encoder", 1, 1), ("decoder", 0, 1), ("cross", 1, 2)):
        reply = asked(lab, {"kind": kind, "layer": layer, "head": head, "factor": 0.0})
        model = without_head(translator, kind, layer, head)
        expected = plain_log_probs(translator, model, SENTENCE, words)
        assert reply["log_probs"] == pytest.approx(expected, abs=1e-5), kind
        assert reply["output"] == unchanged["output"]


def test_factors_of_one_change_exactly_nothing(lab: HeadLab) -> None:
    every = [{**place, "factor": 1.0} for place in lab._heads()]
    assert asked(lab, *every) == asked(lab)
    lab.factors = every
    assert lab.factors == []


def test_without_its_head_the_gender_is_lost(lab: HeadLab, translator) -> None:
    assert asked(lab)["translation"][:2] == ["el", "profesor"]
    lab.factors = [{**GENDER, "factor": 0}]
    reply = asked(lab, *lab.factors)
    assert reply["translation"][:2] == ["la", "maestra"]
    given = translator.translate(SENTENCE, interventions=interventions_of(lab))
    assert list(given.tokens) == reply["translation"]
    assert interventions_of(lab) == Interventions(heads=[HeadChange(**GENDER, factor=0)])
    lost = np.subtract(reply["log_probs"], asked(lab)["log_probs"])
    assert lost[reply["output"].index("el")] < -0.4  # from certain to about one half


def test_each_head_alone_is_what_it_is_when_asked_for_alone(lab: HeadLab) -> None:
    reply = lab.answer({"sentence": SENTENCE, "each": 0.0})
    unchanged = asked(lab)
    assert reply["log_probs"] == unchanged["log_probs"]
    assert reply["kinds"] == unchanged["kinds"]
    effects = {(each.kind, each.layer, each.head): each for each in lab.effects()}
    assert len(effects) == len(lab._heads()) == 24
    for each in reply["each"]:
        log_probs = np.frombuffer(each["log_probs"], "<f8").reshape(each["shape"])
        for layer, head in ((0, 0), (1, 2)):
            place = {"kind": each["kind"], "layer": layer, "head": head}
            alone = asked(lab, {**place, "factor": 0.0})["log_probs"]
            assert log_probs[layer, head].tolist() == alone
            lost = np.mean(unchanged["log_probs"]) - np.mean(alone)
            assert effects[each["kind"], layer, head].loss_change == pytest.approx(lost, abs=1e-12)
    sizes = [abs(effect.loss_change) for effect in lab.effects()]
    assert sizes == sorted(sizes, reverse=True)


def test_the_page_makes_of_a_reply_what_python_does(made: HeadLab) -> None:
    cases = [
        (made, [SENTENCE, "the cat sleeps", "my friend Maria does not sleep"]),
        (vt.head_lab(vt.load_language_model(), engine="kernel"), ["la vaca no", "el"]),
        (vt.head_lab(vt.load_masked_model(), engine="kernel"), ["el gato [?] duerme", "[?] duerme"]),
    ]
    told = iter(
        answers_in_node(
            {"effectsInWords, headEffects": "widgets/head_lab/head_effects.js"},
            "(replies) => replies.map(headEffects).map((each) => [each, effectsInWords(each)])",
            [view.answer({"sentence": text, "each": 0.0}) for view, texts in cases for text in texts],
        )
    )
    for view, texts in cases:
        for text in texts:
            view.sentence = text
            ours = view.effects()
            heads, words = next(told)
            assert words == vt.analysis.effects_in_words(ours)
            for theirs, effect in zip(heads, ours, strict=True):
                place = [theirs[name] for name in ("kind", "layer", "head", "rank", "confidenceRank")]
                assert place == [effect.kind, effect.layer, effect.head, effect.rank, effect.confidence_rank]
                assert theirs["lossChange"] == pytest.approx(effect.loss_change, abs=1e-12)
                confidence = np.nan if theirs["confidence"] is None else theirs["confidence"]
                assert confidence == pytest.approx(effect.confidence, abs=1e-12, nan_ok=True)


def test_the_head_that_matters_most_is_chosen_first(translator) -> None:
    lab = vt.head_lab(translator, "my friend Maria sleeps")
    most = lab.effects()[0]
    chosen = {"kind": lab.kind, "layer": lab.layer, "head": lab.head}
    assert chosen == {"kind": most.kind, "layer": most.layer, "head": most.head} == GENDER


def test_the_weights_sent_are_the_traces(lab: HeadLab, translator) -> None:
    reply = asked(lab, {**GENDER, "factor": 0.0})
    changes = Interventions(heads=[HeadChange(**GENDER, factor=0)])
    target = translator.translate(SENTENCE).tokens
    trace = translator.trace(SENTENCE, target, changes)
    assert [kind["kind"] for kind in reply["kinds"]] == ["encoder", "decoder", "cross"]
    for kind in reply["kinds"]:
        weights = np.frombuffer(kind["weights"], kind["dtype"])
        expected = trace.attention(kind["kind"])
        assert kind["shape"] == list(expected.shape)
        assert np.array_equal(weights.reshape(expected.shape), expected)
        assert kind["queries"] == list(trace.query_tokens(kind["kind"]))
        read = trace.source_tokens if kind["kind"] == "encoder" else trace.target_tokens
        assert kind["reads"] == list(read)
        assert kind["keys"] == list(trace.key_tokens(kind["kind"]))


def test_a_sentence_that_cannot_be_read_gets_no_answer(lab: HeadLab) -> None:
    texts = {"the dragon sleeps": "dragon", "": "no word", "cat " * 80: "80 words"}
    asks = [({"sentence": text, "changes": []}, said) for text, said in texts.items()]
    assert_refused((lambda ask=ask: lab.answer(ask), said) for ask, said in asks)


def test_a_shorter_sentence_lets_go_of_a_word_that_it_has_not(lab: HeadLab) -> None:
    lab.query = 5
    lab.sentence = "the cow sleeps"
    assert lab.query is None
    lab.query = np.int64(2)
    lab.sentence = "the cat sleeps"
    assert lab.query == 2


def test_factors_are_kept_in_one_order(lab: HeadLab) -> None:
    first, second = {**GENDER, "factor": 0.0}, {**GENDER, "kind": "cross", "factor": 2.0}
    lab.factors = [second, first]
    assert lab.factors == [first, second]
    with pytest.raises(vt.UserError, match="twice"):
        lab.factors = [first, second, second]
    assert lab.factors == [first, second]


def test_a_page_can_carry_each_head_alone_and_what_is_shown(lab: HeadLab) -> None:
    assert len(lab.questions()) == 2 + 24
    lab.factors = [{**GENDER, "factor": 0}]
    assert len(lab.questions()) == 2 + 24  # that is one of them
    lab.factors = [{**GENDER, "factor": 0.5}]
    questions = lab.questions()
    assert len(questions) == 3 + 24
    assert questions[-1]["changes"] == lab.factors
    assert {"sentence": SENTENCE, "changes": [{**GENDER, "factor": 0.0}]} in questions
    assert all(lab.answer(question) for question in (questions[0], *questions[-2:]))


def test_figure_and_text_have_the_numbers_of_the_view(lab: HeadLab) -> None:
    assert vt.analysis.effects_in_words(lab.effects()) in lab.alt_text()
    lab.factors = [{**GENDER, "factor": 0}]
    figure, reply = lab.figure(), asked(lab, *lab.factors)
    words, heads = figure.axes
    before, after = ([bar.get_width() for bar in bars] for bars in words.containers)
    assert before == asked(lab)["log_probs"]
    assert after == reply["log_probs"]
    assert [text.get_text() for text in words.get_yticklabels()] == reply["output"]
    points = np.concatenate([drawn.get_offsets() for drawn in heads.collections])
    expected = [(each.confidence, each.loss_change) for each in lab.effects()]
    assert np.array(sorted(map(tuple, points))) == pytest.approx(np.array(sorted(expected)))
    text = lab.alt_text()
    assert figure.alt_text == text
    assert "encoder layer 1 head 1 times 0 as “la maestra perdió" in text
    assert f"to {-np.mean(reply['log_probs']):.3f} nats per token" in text
    assert "attention is not an explanation" in lab.about.lower()


def hand_made(trace, log_prob: float = -0.5):
    """A function without a model: every head costs more than the one before."""
    n_tokens = len(trace.output_tokens)

    def answer(request: dict) -> dict:
        log_probs = np.full(n_tokens, log_prob)
        if "each" not in request:
            lost = 0.1 * len(request["changes"])
            translation = trace.output_tokens[:-1] if lost else trace.output_tokens
            return {"translation": translation, "trace": trace, "log_probs": log_probs - lost}
        each = {}
        for kind in trace.kinds:
            shape = trace.attention(kind).shape[:2]
            costs = 0.01 * np.arange(math.prod(shape)).reshape(shape)
            each[kind] = log_probs - costs[..., None]
        return {"trace": trace, "log_probs": log_probs, "each": each}

    return answer


def test_the_view_needs_no_model() -> None:
    view = HeadLab(hand_made(make_trace()), "a sentence")
    assert (view.layer, view.head) == (1, 3)
    assert view.effects()[0].loss_change == pytest.approx(0.07)
    assert asked(view, {**GENDER, "factor": 0.0})["log_probs"] == pytest.approx([-0.6] * 5)


def test_hostile_tokens_can_be_sent_and_drawn() -> None:
    view = HeadLab(hand_made(hostile_trace()), "</script><script>window.pwned=1</script>")
    for word in asked(view)["output"]:
        word.encode()
    view.factors = [{"kind": "cross", "layer": 0, "head": 1, "factor": 0}]
    view.figure().canvas.draw()


def test_plots_take_axes_and_refuse_what_does_not_fit(lab: HeadLab) -> None:
    effects = lab.effects()
    ax = plot_log_probs(["la", "vaca"], [-0.1, -0.2], [-1.0, -0.2])
    assert plot_head_effects(effects, ax=ax) is ax
    assert "la: −0.90 nats" in ax.figure.alt_text
    assert plot_head_effects(effects).figure.alt_text.endswith(vt.analysis.effects_in_words(effects))
    words, wrong = ["la", "vaca"], ([-0.1], [-0.1, 0.2], [-0.1, float("nan")])
    cases = [(lambda each=each: plot_log_probs(words, each, [-1.0, -0.2]), "2 tokens") for each in wrong]
    assert_refused([*cases, (lambda: plot_head_effects([]), "no head")])
