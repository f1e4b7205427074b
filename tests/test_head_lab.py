"""The head lab of the translator and of Hugging Face's models: their own numbers, with heads changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import viz_transformer as vt
from tests.support.attending_models import WORDS, built, word_tokenizer
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.huggingface_models import frozen, same, state
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer import interventions_of
from viz_transformer.huggingface_text import HuggingFaceText
from viz_transformer.model import HeadChange, Interventions, Transformer
from viz_transformer.plots import plot_head_effects, plot_log_probs
from viz_transformer.trace import attention_of
from viz_transformer.widgets.base.requests import check_request
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


def test_a_head_switched_off_is_a_head_that_w_o_does_not_read(lab: HeadLab, translator) -> None:
    unchanged = asked(lab)
    assert unchanged["translation"] == translator.translate(SENTENCE).text.split()
    assert unchanged["output"] == [*unchanged["translation"], "<eos>"]
    words = " ".join(unchanged["translation"])
    expected = plain_log_probs(translator, translator.model, SENTENCE, words)
    assert unchanged["log_probs"] == pytest.approx(expected, abs=1e-5)
    for kind, layer, head in (("encoder", 1, 1), ("decoder", 0, 1), ("cross", 1, 2)):
        reply = asked(lab, {"kind": kind, "layer": layer, "head": head, "factor": 0.0})
        model = copy.deepcopy(translator.model)
        part = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
        attention = part.cross_attention if kind == "cross" else part.self_attention
        d_head = model.config.d_model // model.config.n_heads
        with torch.no_grad():
            attention.w_o.weight[:, head * d_head : (head + 1) * d_head] = 0
        expected = plain_log_probs(translator, model, SENTENCE, words)
        assert reply["log_probs"] == pytest.approx(expected, abs=1e-5), kind
        assert reply["output"] == unchanged["output"]


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


def test_one_head_of_many_equals_the_head_requested_by_itself(lab: HeadLab) -> None:
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


def test_a_layer_can_be_ranked_by_itself(lab: HeadLab) -> None:
    question = {"sentence": SENTENCE, "each": 0.0}
    whole = {each["kind"]: each for each in lab.answer(question)["each"]}
    for kind, layer in (("encoder", 0), ("cross", 1)):
        ranked = {**question, "kind": kind, "layer": layer}
        check_request(ranked, lab.requests())
        (part,) = lab.answer(ranked)["each"]
        n_layers, *rest = whole[kind]["shape"]
        size = len(whole[kind]["log_probs"]) // n_layers
        assert (part["kind"], part["shape"]) == (kind, [1, *rest])
        assert part["log_probs"] == whole[kind]["log_probs"][layer * size : (layer + 1) * size]
    assert_refused([(lambda: lab.answer({**question, "kind": "cross", "layer": 2}), "layer=2")])


def test_page_and_python_compute_the_same_from_a_reply(made: HeadLab) -> None:
    cases = [
        (made, [SENTENCE, "the cat sleeps"]),
        (vt.head_lab(vt.load_language_model(), engine="kernel"), ["la vaca no", "el"]),
        (vt.head_lab(vt.load_masked_model(), engine="kernel"), ["el gato [?] duerme", "[?] duerme"]),
    ]
    told = iter(
        answers_in_node(
            {"headEffects": "widgets/head_lab/effects.ts"},
            "(replies) => replies.map((each) => headEffects(each.log_probs, each.kinds, each.each))",
            [view.answer({"sentence": text, "each": 0.0}) for view, texts in cases for text in texts],
        )
    )
    for view, texts in cases:
        for text in texts:
            view.sentence = text
            ours = view.effects()
            for theirs, effect in zip(next(told), ours, strict=True):
                place = [theirs[name] for name in ("kind", "layer", "head", "rank", "confidenceRank")]
                assert place == [effect.kind, effect.layer, effect.head, effect.rank, effect.confidence_rank]
                assert theirs["lossChange"] == pytest.approx(effect.loss_change, abs=1e-12)
                confidence = np.nan if theirs["confidence"] is None else theirs["confidence"]
                assert confidence == pytest.approx(effect.confidence, abs=1e-12, nan_ok=True)


def test_the_weights_sent_are_the_traces(lab: HeadLab, translator) -> None:
    reply = asked(lab, {**GENDER, "factor": 0.0})
    changes = Interventions(heads=[HeadChange(**GENDER, factor=0)])
    trace = translator.trace(SENTENCE, translator.translate(SENTENCE).tokens, changes)
    assert [kind["kind"] for kind in reply["kinds"]] == ["encoder", "decoder", "cross"]
    for sent in reply["kinds"]:
        kind = sent["kind"]
        weights = np.frombuffer(sent["weights"], sent["dtype"]).reshape(sent["shape"])
        np.testing.assert_array_equal(weights, trace.attention(kind))
        read = trace.source_tokens if kind == "encoder" else trace.target_tokens
        words = [trace.query_tokens(kind), trace.key_tokens(kind), read]
        assert [sent[name] for name in ("queries", "keys", "reads")] == [*map(list, words)]


def test_the_head_that_matters_most_is_chosen_first(translator) -> None:
    lab = vt.head_lab(translator, "my friend Maria sleeps")
    most = lab.effects()[0]
    chosen = {"kind": lab.kind, "layer": lab.layer, "head": lab.head}
    assert chosen == {"kind": most.kind, "layer": most.layer, "head": most.head} == GENDER
    texts = {"the dragon sleeps": "dragon", "": "no word", "cat " * 80: "80 words"}
    asks = [({"sentence": text, "changes": []}, said) for text, said in texts.items()]
    assert_refused((lambda ask=ask: lab.answer(ask), said) for ask, said in asks)


def test_factors_are_kept_in_one_order_and_those_of_one_change_nothing(lab: HeadLab) -> None:
    first, second = {**GENDER, "factor": 0.0}, {**GENDER, "kind": "cross", "factor": 2.0}
    lab.factors = [second, first]
    assert lab.factors == [first, second]
    every = [{**place, "factor": 1.0} for place in lab._heads()]
    assert asked(lab, *every) == asked(lab)
    lab.factors = every
    assert lab.factors == []
    lab.query = 5
    lab.sentence = "the cow sleeps"  # has no such word
    assert lab.query is None
    lab.query = np.int64(2)
    lab.sentence = "the cat sleeps"
    assert lab.query == 2


def test_a_page_can_carry_each_single_head(lab: HeadLab) -> None:
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


def test_plots_take_axes_and_refuse_what_does_not_fit(lab: HeadLab) -> None:
    effects, words = lab.effects(), ["la", "vaca"]
    ax = plot_log_probs(words, [-0.1, -0.2], [-1.0, -0.2])
    assert "la: −0.90 nats" in ax.figure.alt_text
    assert plot_head_effects(effects, ax=ax) is ax
    assert plot_head_effects(effects).figure.alt_text.endswith(vt.analysis.effects_in_words(effects))
    wrong = ([-0.1], [-0.1, 0.2], [-0.1, float("nan")])
    cases = [(lambda each=each: plot_log_probs(words, each, [-1.0, -0.2]), "2 tokens") for each in wrong]
    assert_refused([*cases, (lambda: plot_head_effects([]), "no head")])


# --- Hugging Face's models ------------------------------------------------------------------------

TEXT = "when Mary went to the store John gave"
N_NEW = 3
PAIRS = {"T5": True, "Marian": True, "BART": True, "GPT-2": False, "Llama": False}
HEADS = {"T5": 24, "Marian": 24, "BART": 24, "GPT-2": 8, "Llama": 12}


def lab_of(name: str) -> tuple[HeadLab, Any, Any]:
    model, _ = built(name)
    tokenizer = word_tokenizer(ends=PAIRS[name])
    return vt.head_lab(model, TEXT, tokenizer=tokenizer, max_new_tokens=N_NEW), model, tokenizer


def log_probs(name: str, model: Any, tokenizer: Any, output: list[str]) -> np.ndarray:
    """What the model gives for the words, without any of the lab's machinery."""
    read, ids = tokenizer(TEXT, return_tensors="pt").input_ids, tokenizer.convert_tokens_to_ids(output)
    with torch.no_grad():
        if PAIRS[name]:
            begin = torch.tensor([[model.config.decoder_start_token_id, *ids[:-1]]])
            logits = model(input_ids=read, decoder_input_ids=begin).logits[0]
        else:
            logits = model(input_ids=torch.tensor([[read[0, 0], *ids[:-1]]])).logits[0]
    return logits.double().log_softmax(-1)[range(len(ids)), ids].numpy()


@pytest.mark.parametrize("name", PAIRS)
def test_words_log_probabilities_and_effects_are_the_model_s(name: str) -> None:
    lab, model, tokenizer = lab_of(name)
    reply, before = asked(lab), frozen(model)
    read = tokenizer(TEXT, return_tensors="pt").input_ids
    ids = model.generate(read, max_new_tokens=N_NEW, do_sample=False, num_beams=1)[0].tolist()
    written = tokenizer.convert_ids_to_tokens(ids[1 if PAIRS[name] else 0 :])
    assert reply["translation"] == [word for word in written if word != "</s>"]
    assert reply["output"] == (written if PAIRS[name] else written[1:])
    own = log_probs(name, model, tokenizer, reply["output"])
    np.testing.assert_allclose(reply["log_probs"], own, atol=1e-5)

    effects = lab.effects()
    first = effects[0]
    assert len(effects) == HEADS[name]
    last = attention_of(lab._trace(), lab.kind).shape[0] - 1
    chosen = next(each for each in effects if (each.kind, each.layer) == (lab._trace().kinds[-1], last))
    assert (lab.kind, lab.layer, lab.head) == (chosen.kind, chosen.layer, chosen.head)
    off = asked(lab, {"kind": first.kind, "layer": first.layer, "head": first.head, "factor": 0.0})
    change = np.mean(reply["log_probs"]) - np.mean(off["log_probs"])
    assert first.loss_change == pytest.approx(change, abs=1e-6)  # computed in a batch

    lab.factors = [{"kind": lab.kind, "layer": 1, "head": 2, "factor": -1.0}]
    changed = asked(lab, *lab.factors)
    assert same(before, state(model))
    assert changed["output"] == reply["output"]
    with vt.interventions(model, heads=interventions_of(lab).heads):
        own = log_probs(name, model, tokenizer, reply["output"])
    np.testing.assert_allclose(changed["log_probs"], own, atol=1e-5)
    assert not np.allclose(changed["log_probs"], reply["log_probs"], atol=1e-7)


@pytest.mark.parametrize("name", ["Marian", "GPT-2"])
def test_a_page_carries_what_the_kernel_replies(name: str) -> None:
    lab, model, _ = lab_of(name)
    before = frozen(model)
    questions = lab.questions()
    carried = list(lab.replies(questions))
    assert same(before, state(model))
    replies = [lab.answer(question) for question in questions]
    assert carried[:2] == replies[:2]
    tell = (
        "([base, ...carried]) => carried.map(({ moved, kinds, ...words }) => ({ ...words,"
        " weights: (moved ? withMoved(moved, base.kinds) : kinds).map((kind) => [...weightsIn(kind)]) }))"
    )
    scripts = {"withMoved": "widgets/head_lab/replies.ts", "weightsIn": "widgets/base/bytes.ts"}
    read = answers_in_node(scripts, tell, [replies[1], *carried[2:]])
    assert len(read) == len(replies) - 2
    for found, expected in zip(read, replies[2:], strict=True):
        assert (found["translation"], found["output"]) == (expected["translation"], expected["output"])
        np.testing.assert_allclose(found["log_probs"], expected["log_probs"], atol=1e-5)
        for weights, kind in zip(found["weights"], expected["kinds"], strict=True):
            exact = np.frombuffer(kind["weights"], "<f4")
            np.testing.assert_allclose(weights, exact, atol=3e-4)  # float16
    assert any(len(each["translation"]) for each in read)
    sizes = [sum(len(part["weights"]) for part in each["moved"]) for each in carried[2:]]
    whole = sum(len(kind["weights"]) for kind in replies[1]["kinds"])
    assert max(sizes) <= whole / 2
    assert sum(sizes) < 0.3 * whole * len(sizes), "only the heads that the change moves, in 16 bits"


def test_rows_that_write_other_words_are_searched_for() -> None:
    _, model, tokenizer = lab_of("GPT-2")
    text = HuggingFaceText(model, tokenizer, N_NEW)
    changes = [HeadChange("decoder", layer, head, 40.0) for layer in range(2) for head in range(4)]
    expected = [text.answer(TEXT, Interventions(heads=[change])) for change in changes]
    assert len(set(expected)) > 1, "some changes must change the words"
    target = text.answer(TEXT)
    assert [found for _, _, found in text.judge_apart(TEXT, target, changes)] == expected
    model.generation_config.repetition_penalty = 3.0  # now the likeliest token need not be written
    text = HuggingFaceText(model, tokenizer, N_NEW)
    expected = [text.answer(TEXT, Interventions(heads=[change])) for change in changes]
    assert [found for _, _, found in text.judge_apart(TEXT, text.answer(TEXT), changes)] == expected


def test_kinds_and_words_are_those_of_a_hugging_face_model(tmp_path: Path) -> None:
    lab, _, _ = lab_of("Marian")
    kinds = {each["kind"]: each for each in asked(lab)["kinds"]}
    assert (lab.task, [*kinds]) == ("translate", ["encoder", "decoder", "cross"])
    assert kinds["cross"]["keys"] == [*TEXT.split(), "</s>"]
    assert kinds["cross"]["queries"] == asked(lab)["output"]
    causal, _, _ = lab_of("Llama")
    assert (causal.task, [each["kind"] for each in asked(causal)["kinds"]]) == ("continue", ["decoder"])
    assert (causal.engine, len(causal.questions())) == ({}, 2 + 12)
    text = vt.export_html(causal, tmp_path / "lab.html").read_text(encoding="utf-8")
    assert "Mary went to the store" in text
    tokenizer = byte_tokenizer("你好 the cat")
    bytes_ = vt.head_lab(gpt2(len(tokenizer)), "你好 the cat", tokenizer=tokenizer, max_new_tokens=2)
    assert tuple(asked(bytes_)["translation"][:3]) == ("你好", "Ġthe", "Ġcat")


def test_another_text_is_read_by_the_weights_as_they_are_now() -> None:
    lab, model, _ = lab_of("GPT-2")
    lab.sentence = "the cat sleeps"
    assert asked(lab)["translation"][:3] == ["the", "cat", "sleeps"]
    longer = "cat " * 40
    assert_refused(
        [
            (lambda: setattr(lab, "sentence", ""), "has no token"),
            (lambda: setattr(lab, "sentence", longer), "40 tokens and 3 may be written"),
        ]
    )
    assert lab.sentence == "the cat sleeps"
    with torch.no_grad():
        model.lm_head.weight[WORDS.index("vache")] = 50 * model.transformer.ln_f.weight
        model.transformer.ln_f.bias.fill_(1.0)
    assert asked(lab)["translation"][-N_NEW:] == ["vache"] * N_NEW


def test_models_unsuitable_for_the_lab_are_refused_in_one_line() -> None:
    cases: list[tuple[str, Any, dict, str]] = [
        ("GPT-2", 5, {"tokenizer": True}, r"the text is 5 \(int\), and text is expected; give it"),
        ("GPT-2", TEXT, {}, "GPT2LMHeadModel reads token ids, and tokenizer=None makes none"),
        ("GPT-2", TEXT, {"tokenizer": "gpt2"}, "tokenizer='gpt2' makes none"),
        ("GPT-2", None, {"tokenizer": True}, "has no text of its own"),
        ("GPT-2", TEXT, {"tokenizer": True, "engine": "page"}, "only the kernel runs a model"),
        ("GPT-2", TEXT, {"tokenizer": True, "max_new_tokens": 0}, "max_new_tokens=0 must be"),
        ("BERT", TEXT, {"tokenizer": True}, "BertModel scores nothing; load it with its head"),
        ("Whisper", TEXT, {"tokenizer": True}, "WhisperForConditionalGeneration reads input_features="),
        ("torch's Transformer", TEXT, {"tokenizer": True}, "a TorchTransformer is none; leave them out"),
    ]

    def make(name: str, text: Any, options: dict) -> object:
        if options.get("tokenizer") is True:
            options = {**options, "tokenizer": word_tokenizer(ends=False)}
        return vt.head_lab(built(name)[0], text, **options)

    assert_refused((lambda given=given: make(*given), said) for *given, said in cases)
