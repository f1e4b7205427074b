"""Saturation, against torch's own derivatives."""

from __future__ import annotations

import math

import pytest
import torch

from viz_transformer.errors import UserError
from viz_transformer.experiments.saturation import drawn_scores, slope_spread, softmax_jacobian
from viz_transformer.experiments.score_variance import score_spread


def test_the_slopes_are_the_derivatives() -> None:
    scores = torch.randn(5, dtype=torch.float64)
    derivatives = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    slopes = softmax_jacobian(scores.softmax(-1))
    torch.testing.assert_close(slopes, derivatives)
    assert slopes.sum(0).abs().max() < 1e-12


def test_slopes_of_many_rows_are_those_of_each() -> None:
    weights = torch.randn(2, 3, 4).softmax(-1)
    assert softmax_jacobian(weights).shape == (2, 3, 4, 4)
    torch.testing.assert_close(softmax_jacobian(weights)[1, 2], softmax_jacobian(weights[1, 2]))


def test_the_scores_are_those_of_the_spread() -> None:
    assert drawn_scores(64).var().item() == pytest.approx(score_spread(64).variance)
    assert drawn_scores(3, n_keys=4, n_queries=5).shape == (5, 4)


def test_the_spread_of_slopes_by_a_loop() -> None:
    scores = drawn_scores(16, n_keys=3, n_queries=5)
    spread = slope_spread(16, n_keys=3, n_queries=5)
    for factor, slope, settled in (
        (1, spread.slope, spread.settled),
        (1 / math.sqrt(16), spread.scaled_slope, spread.scaled_settled),
    ):
        rows = [(row * factor).softmax(-1) for row in scores]
        steepest = sorted(max(w.item() * (1 - w.item()) for w in row) for row in rows)
        assert slope == pytest.approx(steepest[2], rel=1e-5)
        assert settled == sum(row.max().item() > 0.99 for row in rows) / 5


@pytest.mark.parametrize("given", [{"d_k": 0}, {"d_k": 4, "n_keys": 0}, {"d_k": 4, "n_queries": 0}])
def test_counts_start_at_one(given) -> None:
    with pytest.raises(UserError, match="whole number of at least 1"):
        drawn_scores(**given)
