"""The metric of the head lab: a token or a pair, with the numbers of vt.rank_heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

import viz_transformer as vt
from tests.support.causal_models import CLEAN, gpt2, logits_of, randomised, tokenizer
from tests.support.huggingface_models import BERT_SIZES, hf, tiny
from tests.support.refusals import assert_refused
from tests.support.ui_views import SENTENCE

PAIR = ("Mary", "John")
MASKED = ("[UNK]", "[MASK]", "the", "cat", "dog", "sleeps")


def masked_tokenizer():
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(MASKED)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", mask_token="[MASK]")


def test_heads_are_ranked_by_the_metric_as_rank_heads_does() -> None:
    model, words = gpt2(), tokenizer()
    lab = vt.head_lab(model, CLEAN, tokenizer=words, metric=PAIR, max_new_tokens=2)
    assert lab.metric == list(PAIR)
    assert lab.query == len(words(CLEAN)["input_ids"]) - 1, "the word that is measured"
    ranking = vt.rank_heads(model, PAIR, CLEAN, tokenizer=words)
    for effect in lab.effects():
        wanted = ranking.changes["decoder"][effect.layer, effect.head]
        assert effect.loss_change == pytest.approx(wanted, abs=1e-5)
    reply = lab.answer({"sentence": CLEAN, "changes": [], "metric": [*PAIR]})
    assert reply["value"] == pytest.approx(ranking.whole, abs=1e-5)
    own = logits_of(model, words(CLEAN)["input_ids"])[-1].softmax(-1)
    assert reply["likeliest"][0] == words.convert_ids_to_tokens(int(own.argmax()))
    np.testing.assert_allclose(reply["shares"], own.sort(descending=True).values[:8].numpy(), atol=1e-6)
    off = [{"kind": "decoder", "layer": 1, "head": 0, "factor": 0.0}]
    changed = lab.answer({"sentence": CLEAN, "changes": off, "metric": [*PAIR]})
    assert changed["value"] == pytest.approx(ranking.whole + ranking.changes["decoder"][1, 0], abs=1e-5)
    (carried,) = lab.replies([{"sentence": CLEAN, "changes": off, "metric": [*PAIR]}])
    assert carried["value"] == pytest.approx(changed["value"], abs=1e-5)
    assert carried["likeliest"] == changed["likeliest"]
    assert all(each["metric"] == [*PAIR] for each in lab.questions())
    lab.metric = []
    assert all("metric" not in each for each in lab.questions())


def test_what_is_no_metric_is_refused_in_one_line() -> None:
    lab = vt.head_lab(gpt2(), CLEAN, tokenizer=tokenizer(), max_new_tokens=1)

    def setting(metric: list[str]):
        return lambda: setattr(lab, "metric", metric)

    assert_refused(
        [
            (setting(["Paul"]), "one token is needed"),
            (setting(["Mary", "John", "cat"]), "give a token, or two"),
            (
                lambda: vt.head_lab(vt.load_translator(), SENTENCE, metric="el"),
                "of ours the loss is measured",
            ),
        ]
    )
    assert lab.metric == []


def test_a_classifier_answers_with_its_class_and_a_masked_model_with_the_word_of_its_gap() -> None:
    sizes = {**BERT_SIZES, "vocab_size": len(MASKED)}
    words = masked_tokenizer()
    judging = randomised(hf.BertForSequenceClassification(hf.BertConfig(**sizes, num_labels=3)))
    filling = randomised(hf.BertForMaskedLM(hf.BertConfig(**sizes)))
    for model, text, metric, place in [
        (judging, "the cat sleeps", ("LABEL_2", "LABEL_0"), None),
        (filling, "the [MASK] sleeps", ("cat", "dog"), 1),
    ]:
        lab = vt.head_lab(model, text, tokenizer=words, metric=metric)
        ranking = vt.rank_heads(model, metric, text, tokenizer=words)
        for effect in lab.effects():
            wanted = ranking.changes["encoder"][effect.layer, effect.head]
            assert effect.loss_change == pytest.approx(wanted, abs=1e-5)
        with torch.no_grad():
            logits = model(**words(text, return_tensors="pt")).logits[0]
        row = logits if place is None else logits[place]
        reply = lab.answer({"sentence": text, "changes": []})
        assert reply["log_probs"] == pytest.approx([float(row.log_softmax(-1).max())], abs=1e-5)
        assert reply["translation"] == reply["output"] == reply["likeliest"][:1]
        off = [{"kind": "encoder", "layer": 0, "head": 1, "factor": 0.0}]
        changed = lab.answer({"sentence": text, "changes": off, "metric": lab.metric})
        assert changed["value"] == pytest.approx(ranking.whole + ranking.changes["encoder"][0, 1], abs=1e-5)
        assert lab.alt_text()


def test_a_classifier_of_pictures_has_a_head_lab() -> None:
    model = randomised(tiny("ViTForImageClassification", image_size=8, patch_size=4, num_labels=3))
    picture = {"pixel_values": torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))}
    lab = vt.head_lab(model, picture, metric="LABEL_1")
    assert lab.sentence == "a picture"
    ranking = vt.rank_heads(model, "LABEL_1", **picture)
    first = lab.effects()[0]
    assert first.loss_change == pytest.approx(ranking.heads[0].change, abs=1e-5)
    assert_refused(
        [
            (lambda: setattr(lab, "sentence", "the cat"), "this lab reads a picture"),
            (lambda: vt.head_lab(model, picture, metric="cat"), "is not one of the 3 classes"),
            (lambda: vt.head_lab(model), "needs something to read"),
            (lambda: vt.head_lab(tiny("ViTModel", image_size=8, patch_size=4), picture), "scores nothing"),
        ]
    )
