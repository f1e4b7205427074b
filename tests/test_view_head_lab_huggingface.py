"""The head lab of Hugging Face's models: their own words and log-probabilities, with heads changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import WORDS, built, word_tokenizer
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.huggingface_models import frozen, same, state
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError
from viz_transformer.labs import interventions_of
from viz_transformer.labs.huggingface_text import HuggingFaceText
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.widgets.head_lab.view import HeadLab

TEXT = "when Mary went to the store John gave"
N_NEW = 3
PAIRS = {"T5": True, "Marian": True, "BART": True, "GPT-2": False, "Llama": False}
HEADS = {"T5": 24, "Marian": 24, "BART": 24, "GPT-2": 8, "Llama": 12}


def lab_of(name: str) -> tuple[HeadLab, Any, Any]:
    model, _ = built(name)
    tokenizer = word_tokenizer(ends=PAIRS[name])
    return vt.head_lab(model, TEXT, tokenizer=tokenizer, max_new_tokens=N_NEW), model, tokenizer


def asked(lab: HeadLab, *factors: dict) -> dict:
    return lab.answer({"sentence": lab.sentence, "changes": list(factors)})


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
    assert (lab.kind, lab.layer, lab.head) == (first.kind, first.layer, first.head)
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
        "([base, ...carried]) => carried.map((each) => each.moved ? withAllWeights(each, base) : each)"
        ".map(({ kinds, ...words }) => ({ ...words, weights: kinds.map((kind) => [...weightsOf(kind)]) }))"
    )
    script = "widgets/head_lab/moved_weights.js"
    read = answers_in_node({"withAllWeights": script, "weightsOf": script}, tell, [replies[1], *carried[2:]])
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


def test_the_kinds_and_words_of_the_view_are_the_model_s() -> None:
    lab, _, _ = lab_of("Marian")
    assert lab.task == "translate"
    kinds = {each["kind"]: each for each in asked(lab)["kinds"]}
    assert [*kinds] == ["encoder", "decoder", "cross"]
    assert kinds["cross"]["keys"] == [*TEXT.split(), "</s>"]
    assert kinds["cross"]["queries"] == asked(lab)["output"]
    causal, _, _ = lab_of("Llama")
    assert (causal.task, [each["kind"] for each in asked(causal)["kinds"]]) == ("continue", ["decoder"])


def test_the_answer_is_that_of_the_weights_as_they_are_now() -> None:
    lab, model, _ = lab_of("GPT-2")
    asked(lab)
    with torch.no_grad():
        model.lm_head.weight[WORDS.index("vache")] = 50 * model.transformer.ln_f.weight
        model.transformer.ln_f.bias.fill_(1.0)
    assert asked(lab)["translation"][-N_NEW:] == ["vache"] * N_NEW


def test_a_page_carries_the_replies_and_names_no_engine(tmp_path: Path) -> None:
    lab, _, _ = lab_of("GPT-2")
    assert lab.engine == {}
    assert len(lab.questions()) == 2 + 8
    vt.export_html(lab, tmp_path / "lab.html")
    assert "Mary went to the store" in (tmp_path / "lab.html").read_text(encoding="utf-8")


def test_another_text_is_read_and_one_that_is_too_long_is_refused() -> None:
    lab, _, _ = lab_of("GPT-2")
    lab.sentence = "the cat sleeps"
    assert asked(lab)["translation"][:3] == ["the", "cat", "sleeps"]
    for text, message in [("", "has no token"), ("cat " * 40, "40 tokens and 3 may be written")]:
        with pytest.raises(UserError, match=message):
            lab.sentence = text
    assert lab.sentence == "the cat sleeps"


def test_byte_level_tokens_are_shown_as_text() -> None:
    tokenizer = byte_tokenizer("你好 the cat")
    lab = vt.head_lab(gpt2(len(tokenizer)), "你好 the cat", tokenizer=tokenizer, max_new_tokens=2)
    assert tuple(asked(lab)["translation"][:3]) == ("你好", "Ġthe", "Ġcat")


def test_what_does_not_suit_the_lab_is_refused_in_one_line() -> None:
    cases: list[tuple[str, Any, dict, str]] = [
        ("GPT-2", 5, {"tokenizer": True}, r"the text is 5 \(int\), and text is expected; give it"),
        ("GPT-2", TEXT, {}, "GPT2LMHeadModel reads token ids, and tokenizer=None makes none"),
        ("GPT-2", TEXT, {"tokenizer": "gpt2"}, "tokenizer='gpt2' makes none"),
        ("GPT-2", None, {"tokenizer": True}, "has no text of its own"),
        ("GPT-2", TEXT, {"tokenizer": True, "engine": "page"}, "only the kernel runs a model"),
        ("GPT-2", TEXT, {"tokenizer": True, "max_new_tokens": 0}, "max_new_tokens=0 must be"),
        ("BERT", TEXT, {"tokenizer": True}, "BertModel does not write text after a text"),
        ("Whisper", TEXT, {"tokenizer": True}, "WhisperForConditionalGeneration does not write text"),
        ("torch's Transformer", TEXT, {"tokenizer": True}, "a TorchTransformer is none; leave them out"),
    ]

    def make(name: str, text: Any, options: dict) -> object:
        if options.get("tokenizer") is True:
            options = {**options, "tokenizer": word_tokenizer(ends=False)}
        return vt.head_lab(built(name)[0], text, **options)

    assert_refused((lambda given=given: make(*given), said) for *given, said in cases)
