"""Heatmaps on another scale than 0 to 1, whose ticks say which; and all heads of some layers, as a slide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import viz_transformer as vt
from tests.support.hand_made_traces import attention
from tests.support.refusals import assert_refused
from viz_transformer.trace import ForwardTrace

WORDS = ("a", "b", "c")
SHARES = np.array([[0.5, 0.5, 0], [0.9, 0.0999, 0.0001], [0.02, 0.0, 0.98]], np.float32)
SIGNS = np.array([[0.5, -2, 0], [0, 0, 0], [0.02, 0.01, -0.1]], np.float32)


def trace_of(weights: np.ndarray, *, normalised: bool = True) -> ForwardTrace:
    return vt.capture(weights[None, None], source_tokens=WORDS, normalised=normalised)


def share_of_row(weights: np.ndarray) -> np.ndarray:
    rows = [[each / max(map(abs, row)) if any(row) else 0 for each in row] for row in weights.tolist()]
    return np.array(rows)


def between(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    """How far each weight lies from one end of the scale to the other, from 0 to 1."""
    return lambda weights: np.clip((weights - low) / (high - low), 0, 1)


def by_power(least: int, most: float = 0) -> Callable[[np.ndarray], np.ndarray]:
    return lambda weights: between(least, most)(np.log10(np.maximum(weights, 10.0**least)))


#: Weights, whether they are shares, the scale, the colour of each cell from 0 to 1, ticks and meaning.
SCALES: list[tuple[np.ndarray, bool, Any, Callable[[np.ndarray], np.ndarray], list[str], str]] = [
    (SHARES, True, None, between(0, 1), ["0", "0.5", "1"], "weight"),
    (SHARES, True, "row", share_of_row, ["0", "0.5", "1"], "weight\n÷ the largest in its row"),
    (SHARES, True, "log", by_power(-4), ["≤ 10⁻⁴", "0.001", "0.01", "0.1", "1"], "weight, logarithmic"),
    (
        SHARES[:, ::-1] ** 0.5,
        False,
        "log",
        by_power(-2, np.log10(0.99)),
        ["≤ 0.01", "0.1", "0.99"],
        "weight (not n",
    ),
    (SHARES * 40, False, "log", by_power(-3, np.log10(40)), ["≤ 0.001", "0.01", "0.1", "1", "10", "40"], ""),
    (SHARES, True, (0, 0.5), between(0, 0.5), ["0", "0.25", "≥ 0.5"], "weight"),
    (SHARES, True, [np.float32(0.25), 1], between(0.25, 1), ["≤ 0.25", "0.625", "1"], "weight"),
    (SIGNS, False, None, between(-2, 2), ["−2.00", "0.00", "+2.00"], "weight (not normalised)"),
    (SIGNS, False, "row", lambda each: share_of_row(each) / 2 + 0.5, ["−1", "0", "1"], "weight (not n"),
    (SIGNS, False, (-0.5, 0.5), between(-0.5, 0.5), ["≤ −0.5", "0", "0.5"], "weight (not normalised)"),
    (0 * SIGNS, False, "log", np.zeros_like, ["≤ 0.001", "0.01"], "weight (not normalised), logarithmic"),
]


def test_each_cell_has_its_place_on_the_scale_and_the_ticks_say_which() -> None:
    for row, (weights, normalised, scale, place, ticks, meaning) in enumerate(SCALES):
        trace = trace_of(weights, normalised=normalised)
        axes = vt.plots.plot_head(trace, "encoder", 0, 0, scale=scale)
        grid = vt.plots.plot_heads(trace, "encoder", scale=scale)
        mean = vt.plots.plot_aggregate(trace, "encoder", scale=scale)
        for image in (axes.images[0], grid.axes[0].images[0], mean.images[0]):
            drawn = np.asarray(image.norm(image.get_array()))
            np.testing.assert_allclose(drawn, place(weights), atol=1e-6, err_msg=f"row {row}")
        for figure in (axes.figure, grid, mean.figure):
            bar = figure.axes[-1]
            labels = [each.get_text() for each in bar.get_yticklabels()]
            assert labels == ticks, row
            assert bar.get_ylabel().startswith(meaning), row
            low, high = bar.get_ylim()
            assert bar.get_yticks()[[0, -1]] == pytest.approx([low, high]), row
            assert (bar.get_yscale() == "log") == (scale == "log"), row
        if scale is not None:
            assert f"from {ticks[0]} to {ticks[-1]}." in axes.figure.alt_text, row
        plt.close("all")


def test_a_number_in_a_cell_is_not_0_where_its_colour_is_not() -> None:
    for scale, written in ((None, "0.00"), ("log", "<0.001"), ((0, 0.1), "<0.001"), ("row", "<0.001")):
        axes = vt.plots.plot_head(trace_of(SHARES), "encoder", 0, 0, scale=scale)
        texts = {each.get_position(): each.get_text() for each in axes.texts}
        found = [texts[column, row] for column, row in ((1, 1), (2, 1))]
        assert found == ["0.10", written], scale
    signs = trace_of(SIGNS / 5, normalised=False)  # −0.02 … 0.004, 0.002
    near = vt.plots.plot_head(signs, "encoder", 0, 0, scale=(-0.01, 0.01)).texts
    assert [each.get_text() for each in near[-3:]] == ["+0.004", "+0.002", "−0.02"]


def test_a_scale_without_a_place_for_the_weights_is_refused() -> None:
    shares, signs = trace_of(SHARES), trace_of(SIGNS, normalised=False)
    either = r"scale=.*; choose 'row', 'log' or limits: scale=\(0, 0\.2\)"
    rows = [
        (lambda scale=scale: vt.plots.plot_head(shares, "encoder", 0, 0, scale=scale), either)
        for scale in (
            "rows",
            (0.2, 0.1),
            (0, 0),
            (0, np.nan),
            (1,),
            3,
            ("0", "1"),
            (False, True),
            {},
        )
    ]
    around = r"choose 'row' or limits around 0"
    rows += [
        (lambda: vt.plots.plot_heads(signs, "encoder", scale=(0, 2)), around),
        (
            lambda: vt.plots.plot_heads(signs, "encoder", scale="log"),
            "no place for weights below 0; choose 'row'",
        ),
        (lambda: vt.plots.plot_difference(shares, shares, "encoder", 0, 0, scale=(-1, 2)), around),
        (
            lambda: vt.plots.plot_difference(shares, shares, "encoder", 0, 0, scale="log"),
            "no place for weights",
        ),
    ]
    assert_refused(rows)


def test_chosen_layers_fill_a_slide_in_their_order_with_the_model_s_numbers() -> None:
    models = ((2, 4, 5, [1]), (24, 16, 9, [0, 11, 23]), (12, 12, 60, range(12)), (6, 2, 8, (5, 0)))
    for n_layers, n_heads, n, layers in models:
        weights = attention(n_layers, n_heads, n, n)
        trace = vt.capture(weights, source_tokens=[f"w{i}" for i in range(n)])
        figure = vt.plots.plot_heads(trace, "encoder", layers=layers)
        width, height = figure.get_size_inches()
        assert width <= 13.3 + 1e-9, layers
        assert height <= 7.5 + 1e-9, layers
        assert width > 13.2 or height > 7.4, layers
        sheet = np.asarray(figure.axes[0].images[0].get_array())
        rows = sheet[~np.isnan(sheet).all(axis=1)][:, :n].reshape(len(layers), n, n)  # of head 0
        np.testing.assert_array_equal(rows, weights[list(layers), 0])
        named = [each.get_text() for axes in figure.axes[0].child_axes for each in axes.get_yticklabels()]
        assert [each for each in named if each.startswith("layer")] == [f"layer {each}" for each in layers]
        letters = [each.get_size() for each in figure.axes[0].get_xticklabels() if each.get_text()]
        assert all(9.4 <= each <= 14 for each in letters), layers
    part = vt.capture(attention(8, 2, 3, 3), source_tokens=WORDS, layers=[2, 7])
    named = vt.plots.plot_heads(part, "encoder", layers=[1]).axes[0].child_axes[1].get_yticklabels()
    assert [each.get_text() for each in named] == ["layer 7"]
    refused = ([], [2], [-1], [0, 0], "01", 1, [0.0], [None], [True])
    assert_refused(
        (
            lambda layers=layers: vt.plots.plot_heads(part, "encoder", layers=layers),
            "different layers from 0 to 1|^layers=.*; give a list of whole numbers$",
        )
        for layers in refused
    )
