"""What the third lesson says in prose, held to the numbers."""

from __future__ import annotations

import math

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.attribution import score_parts
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.model.scoring import softmax_steps

LESSON = Lesson("3")


def test_the_first_picture_shows_the_scores_of_a_real_row(translator: vt.Translator) -> None:
    lab, text = LESSON.run("start")["shown"], "the teacher lost her book"
    words = translator.translate(text).tokens
    target = [translator.vocabulary.sos_id, *translator.vocabulary.ids_of(words)]
    place = {"kind": "cross", "layer": 0, "head": 3, "query": words.index("perdió")}
    options = {**place, "target": target, "tokenizer": translator.vocabulary}
    scores = [score_parts(translator.model, text, key=key, **options).score for key in range(6)]
    assert lab.scores == pytest.approx(scores, abs=0.006)
    assert tuple(lab.labels) == translator.trace(text).source_tokens
    assert 0.805 < lab.weights[2] < 0.815  # “lost gets 81%”
    assert 4.8 < lab.weights[2] / lab.weights[3] < 5.2  # “five times as much”
    assert not LESSON.lacks("*lost* gets 81%", "differ by less than 2", cell="opening")


def test_the_naive_softmax_overflows_at_a_thousand() -> None:
    large = torch.tensor([1000.0, 999.0])
    assert (large.exp() / large.exp().sum()).isnan().all()
    assert torch.tensor([88.0, 89.0]).exp().isinf().tolist() == [False, True]  # where a float ends
    weights = softmax_steps(large).weights
    assert " and ".join(f"{weight:.3f}" for weight in weights.tolist()) == "0.731 and 0.269"
    assert "0.731 and 0.269" in LESSON.prose


def test_the_softmax_lab_opens_on_equal_weights_and_only_differences_count() -> None:
    names = LESSON.run("start", "predict-row", "lab")
    assert names["lab"].weights.tolist() == [0.25] * 4
    scores = torch.tensor(names["scores"])
    for moved in (scores, scores + 100):
        assert f"{softmax_steps(moved).weights[1]:.2f}" == "0.84"
    assert math.isclose(math.e**2, 7.4, abs_tol=0.05)  # “4 against 2 is a factor of 7.4”
    assert vt.softmax_lab(times=16).weights.max() > 0.9999
    assert LESSON.run("start", "width-lab")["shown"].power == 0.5


def test_undivided_the_largest_weight_takes_nearly_all() -> None:
    spread = score_spread(512)
    assert f"{spread.largest_weight:.2f}" == "0.95"
    assert f"{spread.largest_scaled_weight:.2f}" == "0.32"
    assert not LESSON.lacks("one key gets 0.95 of the weight", "stays near 0.32", cell="width")
    wide = [score_spread(2**n).largest_scaled_weight for n in range(3, 11)]
    assert max(wide) - min(wide) < 0.02
    assert drawn_scores(512).std().item() == pytest.approx(22.6, rel=0.02)
    assert 4e8 < math.exp(20) < 5.5e8
