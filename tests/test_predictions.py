"""Predictions: asked once, scored, kept, and only then is the result found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import viz_transformer as vt
from tests.support.exported_pages import page_data
from tests.support.hand_made_traces import make_trace
from viz_transformer.widgets.base.static_fallback import render_static


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def never() -> float:
    raise AssertionError("the answer was computed before there was a guess")


def test_nothing_is_computed_before_the_guess() -> None:
    for asked in (
        vt.predict_number("how many?", never, reveal=never),
        vt.predict_choice("which?", ["a", "b"], never, reveal=never),
        vt.predict_row("where?", ["a", "b"], never, reveal=never),
    ):
        render_static(asked)  # as it is displayed
        assert asked.truth is None
        assert asked.revealed == {}


def test_a_number_is_scored_by_its_factor() -> None:
    for guess, score in ((10.8, 1), (10.5, 1), (5.4, 1 - np.log10(2)), (292, 0), (-10.8, 0), (0, 0)):
        asked = vt.predict_number("the loss?", lambda: 10.8, unit="nats", afterwards="It falls.")
        asked.guess = guess
        assert asked.score == pytest.approx(score), guess
        assert asked.truth == 10.8
        assert asked.alt_text() == f"the loss? You said {guess:g} nats. It falls.".replace("-", "−")


def test_the_answer_is_plain_text_where_no_view_is_drawn() -> None:
    asked = vt.predict_choice(
        "which?",
        ["a", "b"],
        "b",
        afterwards="It is *never* `a*b`.\n\nSee [the **paper**](https://arxiv.org/abs/1706.03762), 2 * 3.",
    )
    assert asked.alt_text() == "which?"
    asked.guess = "a"
    assert asked.alt_text() == (
        "which? You said a. It is never a*b. See the paper (https://arxiv.org/abs/1706.03762), 2 * 3."
    )


def test_an_answer_that_is_none_is_refused() -> None:
    number = vt.predict_number("the loss?", 1.0)
    for guess in ("many", float("nan"), float("inf"), [1, 2], ""):
        with pytest.raises(vt.UserError, match="a prediction is a number"):
            number.guess = guess
    choice = vt.predict_choice("which?", ["a", "b"], "b")
    with pytest.raises(vt.UserError, match="'c' is not one of"):
        choice.guess = "c"
    row = vt.predict_row("where?", ["el", "gato"], [0.1, 0.9])
    for guess in ([1], [0, 0], [1, -1], ["a", "b"], [np.nan, 1], "ab", 3):
        with pytest.raises(vt.UserError):
            row.guess = guess
    assert number.guess is choice.guess is row.guess is None
    with pytest.raises(vt.UserError, match="at least two different"):
        vt.predict_choice("which?", ["a", "a"], "a")


def test_a_guess_is_made_once_also_by_messages_of_the_page() -> None:
    choice = vt.predict_choice("which?", ["<i>", "b"], "b")
    choice.guess = "<i>"
    assert choice.score == 0.0
    choice.guess = "b"
    assert choice.guess == "<i>"
    number = vt.predict_number("the loss?", 1.0)
    for guess in (1.0, 2.0, None, "many"):
        number.set_state({"guess": guess})
        assert (number.guess, number.score) == (1.0, 1.0)


def test_a_drawn_row_is_scored_by_the_shared_probability() -> None:
    asked = vt.predict_row("where?", ["el", "gato"], lambda: np.array([0.1, 0.9]))
    asked.guess = [1, 1]
    assert asked.guess == [0.5, 0.5]
    assert asked.score == pytest.approx(0.6)
    assert asked.truth == [0.1, 0.9]


def test_a_key_is_scored_by_its_weight_over_the_largest() -> None:
    trace = make_trace()
    asked = vt.prediction(trace, "where?", kind="cross", layer=0, head=0, query=0)
    weights = trace.cross_attention[0, 0, 0]  # [key]
    asked.choice = 1
    assert asked.score == pytest.approx(weights[1] / weights.max())
    assert asked.revealed == {"view": asked.explorer}


def test_a_figure_is_revealed_as_a_picture_with_its_alternative_text() -> None:
    figure = Figure()
    axes = figure.subplots()
    figure.alt_text = 'a "line"'
    for reveal in (figure, axes):
        asked = vt.predict_number("how many?", 1, reveal=reveal)
        asked.guess = 1
        assert asked.revealed["png"].startswith(b"\x89PNG")
        assert asked.revealed["alt"] == 'a "line"'


def test_a_guess_is_there_again_when_the_lesson_is_reopened() -> None:
    vt.predict_number("how many?", 2, name="9.p1").guess = 3
    vt.predict_row("where?", ["a", "b"], [0, 1], name="9.p2").guess = [0, 2]
    kept = json.loads(Path("progress.json").read_text(encoding="utf-8"))
    assert kept["predictions"] == {"9.p1": 3.0, "9.p2": [0.0, 1.0]}
    assert vt.predict_number("how many?", 2, name="9.p1").guess == 3
    assert vt.predict_row("where?", ["a", "b"], [0, 1], name="9.p2").score == 1.0
    key = {"kind": "cross", "layer": 0, "head": 0, "query": 0, "name": "9.p3"}
    vt.prediction(make_trace(), "where?", **key).choice = 1
    assert vt.prediction(make_trace(), "where?", **key).choice == 1
    # The question has other options now: what was kept does not fit, and it is asked again.
    assert vt.predict_row("where?", ["a", "b", "c"], [0, 1, 0], name="9.p2").guess is None


def test_an_explanation_is_compared_with_a_model_answer_and_judged_by_its_writer() -> None:
    asked = vt.explain("Why?", "Because of *softmax*.", name="9.e1")
    assert (asked.kind, asked.truth) == ("sentence", None)
    for bad in ("", "  ", 3, "a" * 2_001, {"sentence": None}, {"sentence": "a", "holds": "maybe"}):
        with pytest.raises(vt.UserError, match=r"an explanation is a text|whether it holds"):
            asked.guess = bad
    asked.guess = " Scores grow.\n"
    assert asked.guess == {"sentence": "Scores grow.", "holds": None}
    assert (asked.truth, asked.score) == ("Because of *softmax*.", None)
    asked.guess = {"sentence": "another", "holds": "partly"}  # the sentence stays as it was written
    assert asked.guess == {"sentence": "Scores grow.", "holds": "partly"}
    asked.guess = {"sentence": "another", "holds": "yes"}
    assert asked.score == 0.5
    assert vt.explain("Why?", "Because.", name="9.e1").guess == asked.guess
    with pytest.raises(vt.UserError, match="give a model answer"):
        vt.explain("Why?", " ")


def test_an_exported_page_holds_what_is_shown_after_the_guess(tmp_path: Path) -> None:
    asked = vt.predict_choice(
        "which?", ["a", "b"], lambda: "b", reveal=lambda: vt.explore(make_trace()), name="9.p1"
    )
    views = page_data(vt.export_html([asked], tmp_path / "page.html"))["views"]
    state, revealed = views[0]["state"], views[1]["state"]
    assert state["guess"] is None
    assert state["truth"] == "b"
    assert state["revealed"] == {"view": "IPY_MODEL_1"}
    assert state["keeps"] == {"name": "9.p1", "trait": "guess"}
    assert revealed["data"]
    assert asked.guess is None
