"""What “Going further · Scoring” says in prose, held to the numbers."""

from __future__ import annotations

import pytest

from tests.support.lessons import Lesson
from viz_transformer.experiments.saturation import drawn_scores, slope_spread
from viz_transformer.experiments.score_variance import score_spread

LESSON = Lesson("scoring")


def test_the_variance_of_a_dot_product_is_the_width() -> None:
    assert drawn_scores(64).var().item() == pytest.approx(64, rel=0.02)
    spread = score_spread(512)
    assert f"{spread.largest_weight:.2f}" == "0.95"
    assert not LESSON.lacks("one key gets 0.95 of the weight", "stays near 0.32")
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
