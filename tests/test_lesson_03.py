"""What the third lesson says in prose, held to the numbers."""

from __future__ import annotations

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.experiments.saturation import drawn_scores, slope_spread
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.model.scoring import softmax_steps

LESSON = Lesson("3")


def test_the_naive_softmax_overflows_at_a_thousand() -> None:
    large = torch.tensor([1000.0, 999.0])
    assert (large.exp() / large.exp().sum()).isnan().all()
    assert torch.tensor([88.0, 89.0]).exp().isinf().tolist() == [False, True]  # where a float ends
    weights = softmax_steps(large).weights
    assert " and ".join(f"{weight:.3f}" for weight in weights.tolist()) == "0.731 and 0.269"
    assert "0.731 and 0.269" in LESSON.prose


def test_the_softmax_lab_opens_on_equal_weights_and_sharpens() -> None:
    assert LESSON.run("start", "lab")["lab"].weights.tolist() == [0.25] * 4
    assert vt.softmax_lab(times=16).weights.max() > 0.9999  # “… put the slider to 0, and to 16”
    assert LESSON.run("start", "predict-variance", "width-lab")["shown"].power == 0.5


def test_undivided_the_largest_weight_takes_nearly_all() -> None:
    spread = score_spread(512)
    assert f"{spread.largest_weight:.2f}" == "0.95"
    assert f"{spread.largest_scaled_weight:.2f}" == "0.32"
    assert not LESSON.lacks("one key gets 0.95 of the weight", "stays near 0.32")
    wide = [score_spread(2**n).largest_scaled_weight for n in range(3, 11)]
    assert max(wide) - min(wide) < 0.02
    assert score_spread(1).largest_weight < 0.3  # “At 1 a query hears all keys.”
    too_far = drawn_scores(64) / 64  # divided by d_k itself, the scores hardly differ
    assert too_far.var().item() == pytest.approx(1 / 64, rel=0.02)
    assert too_far.softmax(-1).max().item() < 0.2  # of ten keys


def test_undivided_most_queries_are_settled_and_half_of_them_are_flat() -> None:
    spread = slope_spread(512)
    assert spread.settled == pytest.approx(0.7, abs=0.02)
    assert spread.slope < 1.5e-4
    assert spread.scaled_settled == 0
    for d_k in (64, 256, 512):
        assert slope_spread(d_k).scaled_slope == pytest.approx(0.21, abs=0.01)
        assert slope_spread(d_k).slope < slope_spread(d_k // 2).slope
    assert not LESSON.lacks("seven out of ten queries", "a ten-thousandth", "the slope stays near 0.21")
