"""The lessons' figures: what they draw is what they are given."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

from viz_transformer import compare_scorings, plots
from viz_transformer.analysis import positions
from viz_transformer.config import ModelConfig, count_parameters, parameter_bill
from viz_transformer.errors import UserError
from viz_transformer.experiments.saturation import drawn_scores, slope_spread
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.experiments.shift import random_head, shift_experiment
from viz_transformer.language_model import load_language_model
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.positional import RotaryPositions, sinusoidal_encoding
from viz_transformer.trace import ForwardTrace

pytestmark = pytest.mark.usefixtures("no_window")

TOKENS = ["<pad>", "<sos>", "<eos>", "$a$", "b\n"]
WORDS = ("the", "black", "cat")
WAVES = sinusoidal_encoding(24, 16).numpy()
RANDOM = np.random.default_rng(0).normal(size=(24, 16))


def texts(drawn) -> list[str]:
    return [text.get_text() for text in drawn]


def heights(ax) -> list[float]:
    return [patch.get_height() for patch in ax.patches]


def test_ids_neighbours_and_likeness_are_drawn_as_they_are_given() -> None:
    ax = plots.plot_ids([[3, 2, 0], [4, 3, 2]], TOKENS)
    assert texts(ax.texts)[:3] == ["$a$\n3", "<eos>\n2", "<pad>\n0"]
    assert [bool(patch.get_hatch()) for patch in ax.patches] == [False, False, True, *[False] * 3]
    assert ax.figure.alt_text.endswith("1 of 6 cells are padding.")
    ax.figure.canvas.draw()
    ax = plots.plot_nearest("cat", ["bird", "wolf"], [0.53, 0.5])
    assert [bar.get_width() for bar in ax.patches] == [0.53, 0.5]
    assert ax.yaxis_inverted()
    assert "bird 0.53, wolf 0.50" in ax.figure.alt_text
    matrix = np.array([[1, 0.2], [0.2, 1]])
    np.testing.assert_array_equal(
        plots.plot_likeness(matrix, ["a", "b"], "two").images[0].get_array(), matrix
    )


def test_a_start_shows_logits_and_the_loss_here() -> None:
    logits = [0.0, -1, 2, 30, 4]
    figure = plots.plot_start(logits, TOKENS, read=3, wanted=4, losses=[(0.1, 5), (1, 50)], here=(1, 50))
    left, right = figure.axes
    assert heights(left) == logits
    np.testing.assert_array_equal(right.lines[0].get_xydata(), [[0.1, 5], [1, 50]])
    assert right.get_title("left") == "loss 50.0"
    assert "$a$, just read, 30.0" in figure.alt_text
    figure.canvas.draw()
    for axis in (right.xaxis, right.yaxis):
        assert figure.bbox.containsx(axis.label.get_window_extent().x1)
    plots.plot_start(logits, TOKENS, read=3, wanted=4).canvas.draw()


def test_a_softmax_is_drawn_step_by_step() -> None:
    figure = plots.plot_softmax([-3, 2, -1, 0], list("abcd"), slopes=True)
    scores, parts, weights, slopes = (np.array(heights(ax)) for ax in figure.axes)
    assert scores.tolist() == [-3, 2, -1, 0]
    np.testing.assert_allclose(parts, np.exp(scores - 2))
    np.testing.assert_allclose(weights, [0.0056533, 0.83902451, 0.04177257, 0.11354962], atol=1e-7)
    np.testing.assert_allclose(slopes, weights * (1 - weights))
    figure = plots.plot_softmax([1000, 999], times=2)
    assert len(figure.axes) == 3
    np.testing.assert_allclose(heights(figure.axes[2]), [0.880797, 0.119203], atol=1e-6)
    assert figure.axes[0].get_title("left") == "scores s × 2"


def test_drawn_scores_and_their_spreads_over_the_width_are_shown() -> None:
    scores = drawn_scores(64, n_queries=50)
    for power in (0.0, 0.5):
        figure = plots.plot_drawn_scores(scores.numpy(), 64, power=power)
        weights = (scores / 64**power).softmax(-1)
        np.testing.assert_allclose(figure.axes[1].images[0].get_array(), weights[:12], atol=1e-6)
        assert f"mean {weights.amax(-1).mean():.2f}" in figure.axes[1].get_title("left")
    spreads = [score_spread(d_k, n_queries=20) for d_k in (1, 16)]
    left, right = plots.plot_score_spread(spreads).axes
    assert list(left.lines[0].get_ydata()) == [each.variance for each in spreads]
    assert list(right.lines[1].get_ydata()) == [each.largest_scaled_weight for each in spreads]
    slopes = [slope_spread(d_k, n_queries=20) for d_k in (1, 16)]
    ax = plots.plot_slope_spread(slopes)
    assert list(ax.lines[0].get_ydata()) == [each.slope for each in slopes]
    assert list(ax.lines[1].get_ydata()) == [each.scaled_slope for each in slopes]
    assert ax.figure.alt_text.startswith("At d_k 16")


def test_each_probability_is_a_bar_with_its_number_and_name() -> None:
    names = ["la maestra duerme", "el $profesor$ duerme"]
    ax = plots.plot_probabilities(dict(zip(names, [0.43, 0.32], strict=True)), "after “the teacher”")
    assert [bar.get_width() for bar in ax.patches] == [0.43, 0.32]
    assert texts(ax.texts) == ["0.430", "0.320"]
    assert texts(ax.get_yticklabels()) == names
    ax.figure.canvas.draw()  # no token is read as a formula


def test_every_curve_is_drawn_as_it_is_given_with_dashes_of_its_own() -> None:
    curves = {"warm": [3.0, 2.0, 1.0], "cold $x$": [3.0, 3.5, 2.5]}
    ax = plots.plot_curves(curves, title="two runs", level=("chance", 3.55))
    one, other, level = ax.get_lines()
    assert one.get_xdata().tolist() == [1, 2, 3]
    assert [list(line.get_ydata()) for line in (one, other)] == list(curves.values())
    assert set(level.get_ydata()) == {3.55}
    assert texts(ax.get_legend().get_texts()) == ["warm", "cold $x$", "chance"]
    assert one.get_linestyle() != other.get_linestyle()
    assert ax.get_title("left") == "two runs"
    assert ax.get_ylim()[0] == 0
    assert "warm goes from 3 to 1, between 1 and 3." in ax.figure.alt_text
    assert plots.plot_curves({"score": [-2.0, -1.0]}).get_ylim()[0] == -2
    turned = plots.plot_curves({"validation": [9.0, 1.0, 1.5]}, [0, 10, 20], log=True, lowest="validation")
    assert (turned.get_yscale(), turned.get_ylim()) == ("linear", (0, 2))
    assert texts(turned.get_legend().get_texts())[-1] == "lowest: 1 at 10"
    falling = plots.plot_curves({"validation": [9.0, 2.0, 1.0]}, lowest="validation")
    assert falling.get_ylim()[1] > 9
    rates = plots.plot_curves({"rate": [1e-3, 1e-2]}, [10, 20], log=True)
    assert rates.get_yscale() == "log"
    assert rates.get_lines()[0].get_xdata().tolist() == [10, 20]
    said = plots.describe_curves({"score": [-2.0, -1.0]}, [0, 1], xlabel="penalty")
    assert said.endswith("over penalty, from 0 to 1. score goes from −2 to −1, between −2 and −1.")


def test_each_head_gets_a_piece_of_every_word_and_by_reshape_alone_some_words() -> None:
    x = torch.arange(24.0).reshape(1, 3, 8)
    for transposed in (True, False):
        whole, *heads = plots.plot_split(WORDS, 8, 2, transposed=transposed).axes
        numbers = MultiHeadAttention(8, 2)._split_heads(x)[0] if transposed else x.reshape(2, 3, 4)
        assert len(heads) == 2
        for ax, wanted in zip((whole, *heads), (x[0], *numbers), strict=True):
            assert np.array_equal(ax.images[0].get_array(), wanted // 8)  # whose the numbers are
            assert texts(ax.texts) == [f"{WORDS[int(n) // 8]} {int(n) % 8}" for n in wanted.ravel()]
    alone = plots.plot_split(("the", "black"), 4, 2, transposed=False)
    assert "head 0 holds numbers of the; head 1 holds numbers of black" in alone.alt_text
    wide = plots.plot_split([f"<b>{n}$" for n in range(25)], 64, 4)
    assert not wide.axes[0].texts
    wide.canvas.draw()


def test_titles_and_names_in_cells_do_not_touch() -> None:
    for n_heads in (1, 2, 4, 8):
        figure = plots.plot_split(("the", "black", "cat", "sleeps"), 8, n_heads)
        figure.canvas.draw()
        titles = [ax._left_title.get_window_extent() for ax in figure.axes[1:]]
        sleeps = [text.get_window_extent() for text in figure.axes[0].texts[-8:]]
        for boxes in (titles, sleeps):
            assert all(one.x1 < other.x0 for one, other in pairwise(boxes)), n_heads
        assert titles[-1].x1 < figure.bbox.x1, n_heads


def test_the_bars_of_a_model_add_up_to_all_its_parameters() -> None:
    names = ["bert-base", "gpt2", "transformer-base"]
    bills = {name: parameter_bill(ModelConfig.preset(name)) for name in names}
    ax = plots.plot_sizes(bills)
    for row, name in enumerate(names):
        widths = [bar[row].get_width() for bar in ax.containers]
        assert sum(widths) * 1e6 == pytest.approx(count_parameters(ModelConfig.preset(name))), name
    assert texts(ax.get_yticklabels()) == names
    assert "109,482,240" in texts(ax.texts)
    said = plots.describe_sizes(bills)
    assert "bert-base 109,482,240 (words and positions 22%, attention 26%, feed-forward 52%" in said
    assert ax.figure.alt_text == said
    plots.plot_sizes({"$x^2$ <b>": {"attention": 3}}).figure.canvas.draw()  # a name is no formula


def test_the_three_ways_score_the_same_vectors_drawn_from_a_seed() -> None:
    scores = compare_scorings(16, n_words=5)
    shapes = {name: each.shape for name, each in scores.items()}
    assert shapes == dict.fromkeys(("dot", "scaled dot", "additive"), (5, 5))
    assert np.allclose(scores["dot"] / math.sqrt(16), scores["scaled dot"], atol=1e-5)
    figure = plots.plot_scorings(scores)
    assert len(figure.axes) == 3
    for ax, (name, table) in zip(figure.axes, scores.items(), strict=True):
        assert np.allclose(ax.images[0].get_array(), torch.tensor(table).softmax(-1), atol=1e-5)
        assert ax.get_title(loc="left") == f"{name}\nscores spread by {table.std():.2f}"
    assert "additive: scores spread by" in figure.alt_text
    assert len(plots.plot_scorings({"dot": np.ones((1, 20))}).axes[0].texts) == 0
    # Torch's own seed is left as it is.
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    one, other = compare_scorings(4, seed=1), compare_scorings(4, seed=1)
    assert torch.equal(torch.rand(2), wanted)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not np.array_equal(one["additive"], compare_scorings(4, seed=2)["additive"])


def test_a_table_or_that_of_a_trace_is_drawn_as_it_is_and_evenly_around_zero() -> None:
    ax = plots.plot_positions(RANDOM, position=3)
    np.testing.assert_array_equal(ax.images[0].get_array(), RANDOM)
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(RANDOM).max()
    assert "24 positions by 16 dimensions" in ax.figure.alt_text
    words, of_target = tuple("abcdef"), {"target_tokens": tuple("abcdef"), "target_positions": RANDOM[:6]}
    both = ForwardTrace(source_tokens=words, source_positions=WAVES[:6], **of_target)
    np.testing.assert_array_equal(plots.plot_positions(both).images[0].get_array(), WAVES[:6])
    only = plots.plot_positions(ForwardTrace(**of_target)).images[0].get_array()
    np.testing.assert_allclose(only, RANDOM[:6].astype(np.float32))


def test_a_pair_shows_its_two_columns_and_the_wavelength_that_they_have() -> None:
    ax = plots.plot_wavelength(WAVES, 1, position=2)
    for dimension, line in zip((2, 3), ax.lines, strict=False):
        np.testing.assert_allclose(line.get_ydata(), WAVES[:, dimension])
    turn = positions.wavelength(1, 16)
    assert f"{turn:,.1f} tokens" in ax.get_title("left")
    learned = plots.plot_wavelength(RANDOM, 1)
    assert "tokens" not in learned.get_title("left")  # there is no wave to name
    long = sinusoidal_encoding(700, 8)
    for pair in range(3):
        column = long[:, 2 * pair].double().numpy()
        rising = np.flatnonzero((column[:-1] < 0) & (column[1:] >= 0))
        if len(rising) > 1:
            assert np.diff(rising).mean() == pytest.approx(positions.wavelength(pair, 8), abs=1)
    assert positions.wavelength(0, 512) == pytest.approx(2 * np.pi)
    assert positions.is_sinusoidal(long)
    assert not positions.is_sinusoidal(RANDOM)


def test_look_alikes_are_those_within_reach() -> None:
    for pair in range(8):
        points = WAVES[:, 2 * pair : 2 * pair + 2]
        wanted = [p for p in range(24) if p != 5 and np.hypot(*(points[p] - points[5])) < 0.3]
        assert list(positions.look_alikes(WAVES, 5, pair)) == wanted


def test_only_sinusoids_have_a_similarity_by_offset() -> None:
    assert positions.offset_spread(positions.similarity(WAVES)) < 1e-5
    assert positions.offset_spread(positions.similarity(RANDOM)) > 1
    ax = plots.plot_similarity(WAVES, 5)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), positions.similarity(WAVES)[5])
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), np.arange(24) - 5)
    assert "differ by up to 0.000" in ax.figure.alt_text


def probe(n_words: int = 12, d_model: int = 64) -> positions.ProbeHead:
    return positions.ProbeHead(*(part.double().numpy() for part in random_head(n_words, d_model)))


def test_the_probe_head_gives_the_scores_of_the_experiment_and_a_shift_is_three_matrices() -> None:
    """The view's numbers are those that viz_transformer.experiments.shift measures with torch."""
    head = probe()
    for shift in (1, 10):
        measured, table = shift_experiment(shift=shift), sinusoidal_encoding(12 + shift, 64)
        for start, name in ((0, "here"), (shift, "shifted")):
            added, rotary = head.added(table, start).whole, head.rotary(start)
            np.testing.assert_allclose(added, getattr(measured.sinusoidal, name), atol=1e-5)
            np.testing.assert_allclose(rotary, getattr(measured.rotary, name), atol=1e-5)
    turned = RotaryPositions(24, 16).double()(torch.from_numpy(RANDOM)).numpy()
    np.testing.assert_allclose(positions.turned(RANDOM, np.arange(24)), turned, atol=1e-5)
    table = sinusoidal_encoding(64, 64).numpy()
    here, moved = head.added(table, 0).whole, head.added(table, 10).whole
    figure = plots.plot_shift(here, moved, 10)
    for ax, wanted in zip(figure.axes, (here, moved, moved - here), strict=True):
        np.testing.assert_allclose(ax.images[0].get_array(), wanted)
    assert f"rms {positions.rms(moved - here):.2f}" in figure.alt_text


def test_a_figure_is_drawn_where_it_is_wanted() -> None:
    draws = (
        lambda ax: plots.plot_positions(WAVES, ax),
        lambda ax: plots.plot_wavelength(WAVES, 0, ax),
        lambda ax: plots.plot_similarity(WAVES, 0, ax),
        lambda ax: plots.plot_by_offset(np.eye(5), 1, ax),
        lambda ax: plots.plot_curves({"rate": [1.0, 2.0]}, ax=ax),
        lambda ax: plots.plot_sizes({"mine": {"attention": 3}}, ax=ax),
    )
    figure, axes = plt.subplots(1, len(draws))
    assert all(draw(ax) is ax for ax, draw in zip(axes, draws, strict=True))
    assert not hasattr(figure, "alt_text")  # the caller who made the figure describes it


def test_values_that_a_figure_cannot_draw_are_refused_in_one_line() -> None:
    likeness = np.eye(2)
    for message, draw, *rows in (
        ("ids", lambda ids: plots.plot_ids(ids, TOKENS), [[3, 2]], [[[]]], [[[0.5]]], [[[5]]], [[[-1]]]),
        ("3 names", plots.plot_likeness, [likeness, ["a", "b", "c"]]),
        ("there are 5 tokens", lambda logits: plots.plot_start(logits, TOKENS, read=0, wanted=0), [[1.0]]),
        ("row of finite", plots.plot_softmax, [[]], [[[1]]], [[1, np.inf]]),
        ("2 scores and 1", plots.plot_softmax, [[1, 2], ["a"]]),
        ("no probability", plots.plot_probabilities, [{}]),
        ("from 0 to 1", plots.plot_probabilities, [{"a": 1.2}]),
        ("curves", plots.plot_curves, [{}], [{str(n): [1.0] for n in range(5)}], [{"none": []}]),
        ("curves", plots.plot_curves, [{"one": [1.0], "other": [1.0, 2.0]}], [{"one": [1.0, 2.0]}, [1.0]]),
        ("curves", plots.plot_curves, [{"table": np.ones((2, 2))}]),
        ("lowest='rate' is no curve", lambda name: plots.plot_curves({"a": [1.0]}, lowest=name), ["rate"]),
        ("cannot be cut", plots.plot_split, [(), 8, 2], [WORDS, 8, 3], [WORDS, 8, 0]),
        ("given no model", plots.plot_sizes, [{}]),
        ("'mine' has a part 'heads' that is none of", plots.plot_sizes, [{"mine": {"heads": 3}}]),
        ("d_k=0", compare_scorings, [0]),
        ("n_words=2.0", lambda n: compare_scorings(4, n_words=n), [2.0]),
        ("scores", plots.plot_scorings, [{}], [{"dot": [1.0]}], [{"dot": [[np.inf]]}], [{"dot": [[]]}]),
        ("must be \\[position, d_model\\]", plots.plot_positions, [np.zeros(3)]),
        ("an array of numbers", plots.plot_positions, ["table"]),
        ("NaN", plots.plot_positions, [[[np.nan, 0.0]]]),
        ("holds no positions", plots.plot_positions, [ForwardTrace(source_tokens=WORDS)]),
        ("choose 0 to 23", lambda n: plots.plot_positions(WAVES, position=n), [24]),
        ("choose 0 to 7", plots.plot_wavelength, [WAVES, 8]),
        ("choose 0 to 23", plots.plot_similarity, [WAVES, -1]),
        ("position, position", plots.plot_by_offset, [np.zeros((2, 3))]),
        ("the same words twice", plots.plot_shift, [np.eye(2), np.eye(3), 1]),
        ("reach beyond", probe().added, [sinusoidal_encoding(64, 64), 60]),
    ):
        for arguments in rows:
            with pytest.raises(UserError, match=message) as error:
                draw(*arguments)
            assert "\n" not in str(error.value), message


def test_a_cached_step_shows_its_own_row_and_says_what_is_saved() -> None:
    trace = load_language_model().trace("la maestra perdió su libro")
    ax = plots.plot_cached_step(trace, 4, 1, 2)
    drawn = np.asarray(ax.images[0].get_array().filled(np.nan))  # [query, key]
    np.testing.assert_array_equal(drawn[3, :4], trace.decoder_attention[1, 2, 3, :4])
    assert np.isfinite(drawn).sum() == 4
    assert ax.get_title(loc="left") == "Token 4: 4 scores with a cache, 4 × 4 = 16 without"
    assert ax.figure.alt_text.endswith("Keys and values kept from the steps before: <sos>, la, maestra.")
    for wrong in ({"step": 0}, {"step": 7}, {"step": 2, "layer": 2}, {"step": 2, "head": -1}):
        with pytest.raises(UserError, match=f"there is no {list(wrong)[-1]} "):
            plots.plot_cached_step(trace, **wrong)
