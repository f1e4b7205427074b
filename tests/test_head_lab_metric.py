"""The metric of the head lab: a token or a pair, with the numbers of vt.rank_heads."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.causal_models import CLEAN, gpt2, logits_of, tokenizer
from tests.support.refusals import assert_refused
from tests.support.ui_views import SENTENCE

PAIR = ("Mary", "John")


def test_heads_are_ranked_by_the_metric_as_rank_heads_does() -> None:
    model, words = gpt2(), tokenizer()
    lab = vt.head_lab(model, CLEAN, tokenizer=words, metric=PAIR, max_new_tokens=2)
    assert lab.metric == list(PAIR)
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
