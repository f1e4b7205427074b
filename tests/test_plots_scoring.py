"""Three ways of scoring side by side: what is drawn is what the functions compute."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from viz_transformer.errors import UserError
from viz_transformer.labs import compare_scorings
from viz_transformer.plots import plot_scorings

pytestmark = pytest.mark.usefixtures("no_window")


def test_the_three_ways_score_the_same_vectors() -> None:
    scores = compare_scorings(16, n_words=5)
    assert {name: each.shape for name, each in scores.items()} == dict.fromkeys(
        ("dot", "scaled dot", "additive"), (5, 5)
    )
    assert np.allclose(scores["dot"] / math.sqrt(16), scores["scaled dot"], atol=1e-5)


def test_the_seed_fixes_the_draw_and_leaves_torchs_own_as_it_is() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    one, other = compare_scorings(4, seed=1), compare_scorings(4, seed=1)
    assert torch.equal(torch.rand(2), wanted)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not np.array_equal(one["additive"], compare_scorings(4, seed=2)["additive"])


@pytest.mark.parametrize(("name", "value"), [("d_k", 0), ("n_words", 2.0)])
def test_sizes_are_whole_numbers(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name}={value}"):
        compare_scorings(**{"d_k": 4, name: value})


def test_the_picture_shows_the_softmax_of_each_table() -> None:
    scores = compare_scorings(4)
    figure = plot_scorings(scores)
    assert len(figure.axes) == 3
    for ax, (name, table) in zip(figure.axes, scores.items(), strict=True):
        drawn = ax.images[0].get_array()
        assert np.allclose(drawn, torch.tensor(table).softmax(-1), atol=1e-5)
        assert ax.get_title(loc="left") == f"{name}\nscores spread by {table.std():.2f}"
    assert "additive: scores spread by" in figure.alt_text
    assert len(plot_scorings({"dot": np.ones((1, 20))}).axes[0].texts) == 0


@pytest.mark.parametrize("scores", [{}, {"dot": [1.0]}, {"dot": [[np.inf]]}, {"dot": [[]]}])
def test_what_is_no_table_of_scores_is_refused(scores: dict) -> None:
    with pytest.raises(UserError, match="scores"):
        plot_scorings(scores)
