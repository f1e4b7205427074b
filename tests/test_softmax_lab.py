"""The softmax lab: what is set, and that the page's softmax is numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from viz_transformer.plots import plot_softmax
from viz_transformer.widgets.base.traits import SelectionError

NAMES = ["the", "cat", "is", "black"]


def test_it_tells_the_weights_of_what_is_set() -> None:
    lab = vt.softmax_lab([-3, 2, -1, 0], NAMES)
    assert lab.alt_text().endswith("the 0.006, cat 0.839, is 0.042, black 0.114.")
    assert lab.alt_text() == plot_softmax(lab.scores, NAMES).alt_text
    lab.times = 0
    assert lab.weights.tolist() == [0.25] * 4
    lab.scores = [0, 0, 5, 0]
    lab.times = 16.0
    assert lab.weights.argmax() == 2
    assert "is 1.000" in lab.alt_text()
    assert repr(lab) == "SoftmaxLab(scores=[0.0, 0.0, 5.0, 0.0], times=16)"


@pytest.mark.parametrize("slopes", [False, True])
def test_its_figure_has_a_step_for_each_chart(slopes: bool) -> None:
    lab = vt.softmax_lab(slopes=slopes)
    assert lab.labels == ["key 0", "key 1", "key 2", "key 3"]
    assert len(lab.figure().axes) == 3 + slopes


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lab: setattr(lab, "scores", [0, 1]), "give 4 numbers"),
        (lambda lab: setattr(lab, "scores", [0, 1, 2, 5.5]), "from -5 to 5"),
        (lambda lab: setattr(lab, "scores", [0, 1, 2, float("nan")]), "from -5 to 5"),
        (lambda lab: setattr(lab, "times", 3.0), "choose one of"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_moves(change, told: str) -> None:
    lab = vt.softmax_lab()
    with pytest.raises(SelectionError, match=told):
        change(lab)
    assert (lab.scores, lab.times) == ([-3, 2, -1, 0], 1)


def test_a_lab_needs_as_many_labels_as_scores() -> None:
    for scores, labels in (([0, 1], ["the"]), ([], None), ([0] * 13, None)):
        with pytest.raises(vt.UserError, match="one for each"):
            vt.softmax_lab(scores, labels)


def test_the_page_computes_what_numpy_does() -> None:
    rng = np.random.default_rng(0)
    cases = [(rng.uniform(-5, 5, size).round(1).tolist(), t) for size in (1, 2, 4, 12) for t in (0, 1, 16)]
    found = answers_in_node(
        {"softmaxSteps": "widgets/softmax_lab/softmax.js"},
        "(cases) => cases.map(([scores, times]) => softmaxSteps(scores, times))",
        cases,
    )
    for (scores, times), steps in zip(cases, found, strict=True):
        lab = vt.softmax_lab(scores, times=times)
        np.testing.assert_allclose(steps["weights"], lab.weights, atol=1e-12)
        np.testing.assert_allclose(steps["slopes"], lab.weights * (1 - lab.weights), atol=1e-12)
        drawn = lab.figure().axes[1].containers[0]
        np.testing.assert_allclose(steps["parts"], [bar.get_height() for bar in drawn], atol=1e-12)
