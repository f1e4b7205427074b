"""The plots of lessons 2 and 3: what they draw is what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from viz_transformer.errors import UserError
from viz_transformer.experiments.saturation import drawn_scores, slope_spread
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.plots import (
    plot_drawn_scores,
    plot_ids,
    plot_likeness,
    plot_nearest,
    plot_score_spread,
    plot_slope_spread,
    plot_softmax,
    plot_start,
)

TOKENS = ["<pad>", "<sos>", "<eos>", "$a$", "b\n"]


pytestmark = pytest.mark.usefixtures("no_window")


def heights(ax) -> list[float]:
    return [patch.get_height() for patch in ax.patches]


def test_a_batch_shows_every_token_and_hatches_padding() -> None:
    ax = plot_ids([[3, 2, 0], [4, 3, 2]], TOKENS)
    assert [text.get_text() for text in ax.texts][:3] == ["$a$\n3", "<eos>\n2", "<pad>\n0"]
    assert [bool(patch.get_hatch()) for patch in ax.patches] == [False, False, True, *[False] * 3]
    assert ax.figure.alt_text.endswith("1 of 6 cells are padding.")
    ax.figure.canvas.draw()


@pytest.mark.parametrize("ids", [[3, 2], [[]], [[0.5]], [[5]], [[-1]]])
def test_what_is_no_batch_is_refused(ids) -> None:
    with pytest.raises(UserError, match="ids"):
        plot_ids(ids, TOKENS)


def test_the_nearest_are_bars_from_the_top() -> None:
    ax = plot_nearest("cat", ["bird", "wolf"], [0.53, 0.5])
    assert [bar.get_width() for bar in ax.patches] == [0.53, 0.5]
    assert ax.yaxis_inverted()
    assert "bird 0.53, wolf 0.50" in ax.figure.alt_text


def test_likeness_is_drawn_as_it_is() -> None:
    matrix = np.array([[1, 0.2], [0.2, 1]])
    ax = plot_likeness(matrix, ["a", "b"], "two")
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix)
    with pytest.raises(UserError, match="3 names"):
        plot_likeness(matrix, ["a", "b", "c"])


def test_a_start_shows_logits_and_the_loss_here() -> None:
    logits = [0.0, -1, 2, 30, 4]
    figure = plot_start(logits, TOKENS, read=3, wanted=4, losses=[(0.1, 5), (1, 50)], here=(1, 50))
    left, right = figure.axes
    assert heights(left) == logits
    np.testing.assert_array_equal(right.lines[0].get_xydata(), [[0.1, 5], [1, 50]])
    assert right.get_title("left") == "loss 50.0"
    assert "$a$, just read, 30.0" in figure.alt_text
    figure.canvas.draw()
    for axis in (right.xaxis, right.yaxis):
        assert figure.bbox.containsx(axis.label.get_window_extent().x1)
    with pytest.raises(UserError, match="there are 5 tokens"):
        plot_start([1.0], TOKENS, read=0, wanted=0)
    plot_start(logits, TOKENS, read=3, wanted=4).canvas.draw()


def test_a_softmax_is_drawn_step_by_step() -> None:
    figure = plot_softmax([-3, 2, -1, 0], list("abcd"), slopes=True)
    scores, parts, weights, slopes = (np.array(heights(ax)) for ax in figure.axes)
    assert scores.tolist() == [-3, 2, -1, 0]
    np.testing.assert_allclose(parts, np.exp(scores - 2))
    np.testing.assert_allclose(weights, [0.0056533, 0.83902451, 0.04177257, 0.11354962], atol=1e-7)
    np.testing.assert_allclose(slopes, weights * (1 - weights))


def test_scores_are_multiplied_and_large_ones_do_not_overflow() -> None:
    figure = plot_softmax([1000, 999], times=2)
    assert len(figure.axes) == 3
    np.testing.assert_allclose(heights(figure.axes[2]), [0.880797, 0.119203], atol=1e-6)
    assert figure.axes[0].get_title("left") == "scores s × 2"


@pytest.mark.parametrize(
    ("scores", "labels", "told"),
    [
        ([], None, "row of finite"),
        ([[1]], None, "row of finite"),
        ([1, np.inf], None, "finite"),
        ([1, 2], ["a"], "2 scores and 1"),
    ],
)
def test_what_is_no_row_is_refused(scores, labels, told: str) -> None:
    with pytest.raises(UserError, match=told):
        plot_softmax(scores, labels)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_drawn_scores_show_their_spread_and_weights(power: float) -> None:
    scores = drawn_scores(64, n_queries=50)
    figure = plot_drawn_scores(scores.numpy(), 64, power=power)
    weights = (scores / 64**power).softmax(-1)
    np.testing.assert_allclose(figure.axes[1].images[0].get_array(), weights[:12], atol=1e-6)
    assert f"mean {weights.amax(-1).mean():.2f}" in figure.axes[1].get_title("left")


def test_spreads_are_lines_over_the_width() -> None:
    spreads = [score_spread(d_k, n_queries=20) for d_k in (1, 16)]
    left, right = plot_score_spread(spreads).axes
    assert list(left.lines[0].get_ydata()) == [each.variance for each in spreads]
    assert list(right.lines[1].get_ydata()) == [each.largest_scaled_weight for each in spreads]
    slopes = [slope_spread(d_k, n_queries=20) for d_k in (1, 16)]
    ax = plot_slope_spread(slopes)
    assert list(ax.lines[0].get_ydata()) == [each.slope for each in slopes]
    assert list(ax.lines[1].get_ydata()) == [each.scaled_slope for each in slopes]
    assert ax.figure.alt_text.startswith("At d_k 16")
