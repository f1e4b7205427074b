"""What “Going further · Scoring” says in prose, held to the numbers."""

from __future__ import annotations

import math
import re

import pytest
import torch

from tests.support.lessons import Lesson, flat
from viz_transformer import compare_scorings
from viz_transformer.exercises import exercise
from viz_transformer.experiments.saturation import drawn_scores, slope_spread
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.model.scoring import AdditiveScore

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

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


def test_how_far_the_scores_spread() -> None:
    widths = [int(n) for n in re.search(r'"d_k": \[(.+?)\]', LESSON["scorings"])[1].split(",")]
    spreads = {d_k: {k: v.std() for k, v in compare_scorings(d_k).items()} for d_k in widths}
    dots = [spreads[d_k]["dot"] for d_k in widths]
    assert dots == sorted(dots)
    assert all(0.7 < spreads[d_k]["scaled dot"] < 1.4 for d_k in widths)
    assert all(spreads[d_k]["additive"] < 1 for d_k in widths)
    wide = torch.tensor(compare_scorings(256)["dot"]).softmax(-1)
    assert int((wide.amax(-1) > 0.95).sum()) == 7
    assert "At `d_k` = 256, seven of the eight queries" in flat(LESSON["compared"])


@torch.no_grad()
def test_additive_scores_keep_their_spread_because_v_starts_small_and_not_because_of_tanh() -> None:
    assert "\\sqrt{3 / d_k}" in LESSON["compared"]
    torch.manual_seed(0)
    spreads = {}
    for d_k in (16, 1024):
        score = AdditiveScore(1, d_k)
        assert score.v.abs().max().item() == pytest.approx(math.sqrt(3 / d_k), rel=0.2)
        query, key = torch.randn(2, 1, 1, 64, d_k)
        spreads[d_k] = score(query, key).std().item()
        score.v.normal_()  # of size 1 instead
        unscaled = score(query, key)
        spreads[d_k, "unscaled"] = unscaled.std().item()
        assert unscaled.abs().max() > 1  # tanh does not bound the score
    assert spreads[1024] < 2 * spreads[16]
    assert spreads[1024, "unscaled"] > 4 * spreads[16, "unscaled"]


def test_the_wrong_sum_is_silent_and_every_row_alike() -> None:
    made = LESSON.run("start", "three-words", "predict-shape")
    made["shown"].guess = "[3]"
    assert made["shown"].score == 1
    wrong = torch.tanh(made["queries"] + made["keys"]) @ made["v"]
    right = exercise("scoring.5").wanted.reference(made["queries"], made["keys"], made["v"])
    assert (wrong.shape, right.shape) == ((3,), (3, 3))
    torch.testing.assert_close(right.diagonal(), wrong)  # three pairs of nine
    weights = (wrong + torch.zeros(3, 3)).softmax(-1)
    torch.testing.assert_close(weights, weights[:1].expand(3, 3))
    with pytest.raises(RuntimeError):
        made["queries"] + torch.randn(5, 4)
