"""The scaling lab: what is chosen, and that the page's numbers are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.scaling_lab import ScalingLab, scaling_lab

WIDTHS = (1, 8, 64, 512)
SCORES = {d_k: drawn_scores(d_k, n_queries=60).numpy() for d_k in WIDTHS}


@pytest.fixture
def lab() -> ScalingLab:
    return scaling_lab(SCORES)


def test_it_tells_the_spread_of_what_is_chosen(lab: ScalingLab) -> None:
    assert f"q·k at d_k 64, variance {SCORES[64].var():.3g}" in lab.alt_text()
    lab.d_k, lab.power = np.int64(512), 0.5
    assert f"q·k / √d_k at d_k 512, variance {SCORES[512].var() / 512:.3g}" in lab.alt_text()
    assert lab.figure().alt_text == lab.alt_text()
    assert repr(lab) == "ScalingLab(d_k=512, power=0.5)"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("d_k", 2, "there are scores of"),
        ("power", 1.5, "give 0 to 1"),
        ("power", float("nan"), "give 0 to 1"),
    ],
)
def test_what_there_is_not_is_refused_and_nothing_moves(lab, name: str, value: float, told: str) -> None:
    with pytest.raises(SelectionError, match=told):
        setattr(lab, name, value)
    assert (lab.d_k, lab.power) == (64, 0)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({64: SCORES[64]}, "two or more"),
        ({64: SCORES[64], 8: SCORES[8]}, "rising"),
        ({8: SCORES[8], 64: SCORES[64][:3]}, "the same for all"),
        ({8: [1, 2], 64: [1, 2]}, "query, key"),
        ({8: [[np.inf]], 64: [[1]]}, "finite"),
    ],
)
def test_scores_that_it_cannot_show_are_refused(scores: dict, told: str) -> None:
    with pytest.raises(vt.UserError, match=told):
        scaling_lab(scores)


@pytest.mark.parametrize("power", [0.0, 0.35, 0.5, 1.0])
def test_the_page_computes_what_numpy_does(lab: ScalingLab, power: float) -> None:
    answer = """({ bytes, widths, power }) => {
        const all = readHalves(new DataView(Uint8Array.from(bytes).buffer));
        const each = all.length / widths.length;
        return widths.map((width, i) => {
            const scores = all.subarray(i * each, (i + 1) * each);
            const { weights, largest } = rowWeights(scores, 10, width ** power);
            const counts = Array.from(histogram(scores, width ** power, 60, 80));
            return { scores: Array.from(scores), variance: variance(scores), largest,
                weights: Array.from(weights), counts };
        });
    }"""
    names = ("readHalves", "rowWeights", "histogram", "variance")
    given = {"bytes": list(lab.data["scores"]), "widths": WIDTHS, "power": power}
    found = answers_in_node(dict.fromkeys(names, "widgets/scaling_lab/spread.js"), answer, given)
    for width, page in zip(WIDTHS, found, strict=True):
        halves = SCORES[width].astype("<f2").astype(float)  # [query, key]
        np.testing.assert_array_equal(page["scores"], halves.ravel())
        np.testing.assert_allclose(halves, SCORES[width], rtol=1e-3)
        assert page["variance"] == pytest.approx(halves.var(), rel=1e-9)
        every = halves / width**power
        parts = np.exp(every - every.max(-1, keepdims=True))
        weights = parts / parts.sum(-1, keepdims=True)
        np.testing.assert_allclose(page["weights"], weights.ravel(), atol=1e-9)
        assert page["largest"] == pytest.approx(weights.max(-1).mean(), rel=1e-9)
        counts, _ = np.histogram(every, np.linspace(-60, 60, 81))
        assert np.abs(np.subtract(page["counts"], counts)).sum() <= 2  # a score on an edge
