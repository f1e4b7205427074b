"""Weights that are no shares of a whole: captured as they are, and shown on a scale of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.hand_made_traces import attention
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, Snapshot, TrainingTrace
from viz_transformer.widgets.explorer import is_small

WORDS = ("the", "cat", "sleeps", "<eos>")
RNG = np.random.default_rng(7)


def raw(weights: Any, **options: Any) -> ForwardTrace:
    return vt.capture(weights, normalised=False, **options)


def given() -> dict[str, tuple[np.ndarray, dict[str, Any], str]]:
    """By name: weights [layer, head, query, key], their labels, and the kind that they are."""
    scores = RNG.normal(size=(2, 3, 4, 4)).astype(np.float32)
    below = np.tril(scores)
    source, target = {"source_tokens": WORDS}, {"target_tokens": WORDS}
    return {
        "sigmoid": (1 / (1 + np.exp(-scores)), {"tokens": WORDS}, "encoder"),
        "attributions": (scores, {"tokens": WORDS}, "encoder"),
        "difference": (attention(2, 3, 4, 4) - attention(2, 3, 4, 4)[::-1], source, "encoder"),
        "tiny": (1e-6 * below, {"tokens": WORDS}, "decoder"),
        "huge": (1e4 * below, target, "decoder"),
        "nothing": (0 * scores, target, "decoder"),
        "cross": (scores[..., :2, :], source | {"target_tokens": WORDS[:2]}, "cross"),
    }


def test_weights_are_kept_as_they_are_and_say_so_wherever_they_go(tmp_path: Path) -> None:
    for name, (weights, labels, kind) in given().items():
        trace = raw(weights, **labels)
        half = raw(weights, **labels, layers=[1], heads=[0, 2], dtype="float16")
        np.testing.assert_array_equal(trace.attention(kind), weights.astype(np.float32), err_msg=name)
        np.testing.assert_array_equal(half.attention(kind), weights[[1]][:, [0, 2]].astype(np.float16), name)
        other = replace(trace, **{f"{kind}_attention": weights[:, :1]})
        met = vt.analysis.match_traces(trace, other)
        derived = (ForwardTrace.load(trace.save(tmp_path / "raw.npz")), half, replace(trace, notes=("a",)))
        for each in (trace, *derived, *met):
            assert (each.normalised, "not normalised" in repr(each)) == (False, True), name
            assert "not normalised" in each._repr_html_(), name
    plain = vt.capture(attention(1, 1, 4, 4), tokens=WORDS)
    assert (plain.normalised, "not normalised" in repr(plain) + plain._repr_html_()) == (True, False)


#: Of both signs, so that a sum of infinities is none.
TOO_LARGE = [
    each * 1e39 * np.array([1, -1])
    for each in (np.ones((1, 1, 2, 2)), np.ones((2, 2)), np.full((1, 2, 2), 9))
]
TOO_LARGE += [TOO_LARGE[0].tolist(), torch.tensor(TOO_LARGE[1]), [torch.tensor(TOO_LARGE[0])] * 2]
COMPLEX = [each * (1 + 1j) / 1e39 for each in TOO_LARGE[:3]]
COMPLEX += [COMPLEX[0].tolist(), COMPLEX[1].real + 0j, torch.tensor(COMPLEX[1])]


@pytest.mark.filterwarnings("error")
def test_they_are_refused_unless_they_are_said_to_be_so_and_a_nan_always() -> None:
    rows = [
        (
            lambda weights=weights, labels=labels: vt.capture(weights, **labels),
            "with normalised=False if they",
        )
        for name, (weights, labels, _) in given().items()
        if name not in ("nothing", "tiny")
    ]
    rows += [
        (lambda: raw(np.full((1, 1, 2, 2), np.nan), tokens=WORDS[:2]), "NaN, infinity or"),
        (lambda: raw(np.full((1, 1, 2, 2), np.inf), tokens=WORDS[:2]), "NaN, infinity or"),
        *((lambda big=big: raw(big), "more than float32 does, up to 3.4e38") for big in TOO_LARGE),
        *((lambda odd=odd: raw(odd), "^a layer holds complex numbers; give their sizes") for odd in COMPLEX),
        (
            lambda: raw(np.full((1, 1, 2, 2), 7e4), tokens=WORDS[:2], dtype="float16"),
            "float16 .* up to 65,504",
        ),
        (lambda: vt.capture(np.eye(2)[None, None], normalised="no"), "normalised='no'; give True, or False"),
        (lambda: ForwardTrace(source_tokens=WORDS, normalised=0), "normalised=0; give True, or False"),
    ]
    assert_refused(rows)


def end_of(weights: np.ndarray) -> float:
    """The largest size, rounded up to two digits, computed from its decimal digits."""
    digits, power = f"{np.abs(weights).max():.8e}".split("e")
    whole = int(digits.replace(".", ""))
    return float(f"{-(-whole // 10**7)}e{int(power) - 1}")


def test_figures_have_a_scale_up_to_the_largest_weight_of_all_heads_and_say_so() -> None:
    for name, (weights, labels, kind) in given().items():
        trace, (layer, head) = raw(weights, **labels), (1, 2)
        end = end_of(weights.astype(np.float32)) if weights.any() else 0.01
        view = vt.explore(trace, layer=layer, head=head)
        figures = {
            "head": vt.plots.plot_head(trace, kind, layer, head).figure,
            "aggregate": vt.plots.plot_aggregate(trace, kind, [(0, 1), (1, 2)]).figure,
            "view": view.figure(),
            "all heads": vt.plots.plot_heads(trace, kind),
        }
        for figure in figures.values():
            image, bar = figure.axes[0].images[0], figure.axes[-1]
            least = -end if weights.min() < 0 else 0
            assert image.get_clim() == pytest.approx((least, end)), name
            assert bar.get_yticks() == pytest.approx([least, (least + end) / 2, end]), name
            assert bar.get_ylabel().startswith("weight (not normalised)"), name
            middle = [0.96, 0.96, 0.95, 1]  # of the signed scale, where it is 0
            np.testing.assert_allclose(image.to_rgba(np.array([[0.0]]))[0, 0], middle, atol=0.01)
        head_image = figures["head"].axes[0].images[0].get_array()
        np.testing.assert_array_equal(head_image, weights[layer, head].astype(np.float32), err_msg=name)
        assert "weights (not normalised): " in figures["head"].alt_text == view.alt_text(), name
        assert "weights (not normalised): " in vt.plots.describe_head(trace, kind, layer, head), name


def test_weights_have_a_plus_only_where_some_are_below_0() -> None:
    below = {"sigmoid": False, "attributions": True, "cross": True, "nothing": False}
    rows = {name: (*given()[name], signed) for name, signed in below.items()}
    tiny, labels, kind = given()["tiny"]
    rows |= {"tiny": (tiny, labels, kind, True), "tiny, none below 0": (np.abs(tiny), labels, kind, False)}
    for name, (weights, labels, _, signed) in rows.items():
        weights[1, 2, -1, 0] = np.abs(weights).max()  # one above 0 is told wherever weights are told
        trace = raw(weights, **labels)
        view = vt.explore(trace, layer=1, head=2)
        figure = view.figure()
        cells, ticks = figure.axes[0].texts, figure.axes[-1].get_yticklabels()
        told = [*("".join(each.get_text() for each in texts) for texts in (cells, ticks)), view.alt_text()]
        assert ["+" in each for each in told] == [signed] * 3, (name, told)


def test_the_explorer_shows_them_without_labels_entropies_and_rollout() -> None:
    long = tuple(map(str, range(120)))
    large = {"large": (RNG.normal(size=(2, 3, 120, 120)), {"source_tokens": long}, "encoder")}
    for name, (weights, labels, _) in {**given(), **large}.items():
        trace = raw(weights, **labels)
        view = vt.explore(trace)
        assert is_small(trace) == (name != "large")
        assert "rows need not sum to 1" in view.about, name
        rows = [
            (
                lambda view=view: setattr(view, "aggregate", "rollout"),
                "not normalised; choose",
            ),
            (lambda view=view: setattr(view, "order", "entropy"), "order='entropy' needs rows that sum to 1"),
            (lambda view=view: setattr(view, "order", "label"), "order='label' needs rows that sum to 1"),
        ]
        assert_refused(rows)
        scored = vt.explore(trace, scores={"mine": np.ones((2, 3))}, order="mine")
        scored.trace = trace
        assert scored.order == "mine"
    told = vt.explore(trace).data["kinds"][0]
    end = end_of(weights.astype(np.float32))
    sent = (told["limit"], told["least"], told["signed"], told["unnormalised"])
    assert sent == (end, -end, True, True)
    pixels = np.frombuffer(told["overview"]["values"], np.uint8).reshape(2, 3, 32, 32)
    block = weights[0, 0, :3, :3]  # of 120 cells the first 3 are under the first of 32 pixels
    strongest = block.ravel()[np.abs(block).argmax()]
    assert abs(pixels[0, 0, 0, 0] - (128 + 127 * strongest / end)) <= 1
    assert view.answer({"measure": ["encoder"], "version": 0}) == {"labels": None, "entropies": None}
    assert not any("measure" in each or "rollout" in each for each in view.questions())


def test_a_view_that_meets_them_leaves_what_does_not_fit_and_compares_one_sort() -> None:
    weights, labels, kind = given()["attributions"]
    trace, other = raw(weights, **labels), raw(weights / 2, **labels)
    shares = vt.capture(attention(2, 3, 4, 4), **labels)
    view = vt.explore(shares, order="entropy", aggregate="rollout")
    view.trace = trace
    assert (view.order, view.aggregate) == ("layer", "head")
    view.compare = other
    difference = view.figure().axes
    np.testing.assert_allclose(difference[0].images[0].get_array(), (weights / 2)[0, 0], atol=1e-6)
    assert difference[-1].get_ylabel() == "change of weight"
    rows = [
        (lambda: setattr(view, "compare", shares), "the other are not normalised"),
        (lambda: vt.explore(shares, compare=trace), "the other are not normalised"),
        (lambda: vt.plots.plot_difference(shares, trace, kind, 0, 0), "the other are not normalised"),
        (lambda: vt.plots.plot_aggregate(trace, kind, compare=shares), "the other are not normalised"),
    ]
    assert_refused(rows)
    assert view.compare is other


def test_what_needs_rows_that_sum_to_one_is_refused_in_a_line() -> None:
    weights, labels, _ = given()["attributions"]
    trace = raw(weights, **labels)
    bias = {"encoder_position_bias": np.zeros((1, 3, 4, 4))}
    biased, name = replace(trace, **bias), "encoder"
    analysis = vt.analysis
    calls = [
        lambda: analysis.label_heads(trace, name),
        lambda: analysis.label_heads_together([trace], name),
        lambda: analysis.pattern_scores(trace, name),
        lambda: analysis.head_entropy_bits(trace, name),
        lambda: analysis.head_entropy_share(trace, name),
        lambda: analysis.head_mean_distance(trace, name),
        lambda: analysis.head_confidence(trace, name),
        lambda: analysis.rollout(trace, name),
        lambda: analysis.agreement(trace, trace, name),
        lambda: analysis.without_position_bias(biased),
        lambda: analysis.position_bias_alone(biased),
        lambda: vt.plots.plot_aggregate(trace, name, how="rollout"),
        lambda: vt.bertviz_views.head_view(trace),
        lambda: vt.bertviz_views.model_view(trace),
    ]
    assert_refused([(call, r"not normalised \(normalised=False\); give a trace of") for call in calls])
    moment = Snapshot(step=0, translations=("a",), losses=(1.0,), traces=(trace,))
    curve = {each: np.ones(1) for each in ("steps", "losses", "accuracies")}
    with pytest.raises(UserError, match="not normalised"):
        TrainingTrace(name="n", sources=("a",), references=("a",), moments=(moment,), **curve)
