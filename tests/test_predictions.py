"""Predictions: asked once, scored, kept, and only then is the picture made."""

from __future__ import annotations

import json
from pathlib import Path

import ipywidgets
import numpy as np
import pytest
from matplotlib.figure import Figure

import viz_transformer as vt
from viz_transformer.labs import Prediction
from viz_transformer.widgets.box_keys import BoxKeys


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def words(guess: Prediction) -> str:
    return " ".join(child.value for child in guess.children if isinstance(child, ipywidgets.HTML))


def never() -> float:
    raise AssertionError("the answer was computed before there was a guess")


def test_nothing_is_computed_before_the_guess() -> None:
    vt.predict_number("how many?", never, reveal=never)
    vt.predict_choice("which?", ["a", "b"], never, reveal=never)
    vt.predict_row("where?", ["a", "b"], never, reveal=never)


@pytest.mark.parametrize(
    ("guess", "score", "told"),
    [
        (10.8, 1.0, "Spot on"),
        (10.5, 1.0, "Spot on"),
        (5.4, 1 - np.log10(2), "Off by a factor of 2."),
        (292, 0.0, "Off by a factor of 27"),
        (-10.8, 0.0, "it is <b>10.8 nats</b>"),
        (0, 0.0, "it is <b>10.8 nats</b>"),
    ],
)
def test_a_number_is_scored_by_its_factor(guess: float, score: float, told: str) -> None:
    asked = vt.predict_number("the loss?", lambda: 10.8, unit="nats", afterwards="It falls.")
    asked.guess = guess
    assert asked.score == pytest.approx(score)
    assert told in words(asked)
    assert "It falls." in words(asked)


@pytest.mark.parametrize("guess", ["many", float("nan"), float("inf"), [1, 2], ""])
def test_what_is_no_number_is_no_prediction(guess: object) -> None:
    asked = vt.predict_number("the loss?", 1.0)
    with pytest.raises(vt.UserError, match="a prediction is a number"):
        asked.guess = guess
    assert asked.guess is None


def test_the_button_says_what_was_wrong_and_the_question_stays() -> None:
    asked = vt.predict_number("the loss?", 2.0)
    field, _, button = asked.children[1].children
    field.value = "<b>two</b>"
    button.click()
    assert "not &#x27;&lt;b&gt;two" in words(asked)
    field.value = " 2.0 "
    button.click()
    assert asked.score == 1.0
    assert "a prediction is a number" not in words(asked)
    assert field.disabled
    assert button.disabled


def test_a_choice_is_made_once() -> None:
    asked = vt.predict_choice("which?", ["<i>", "b"], "b")
    asked.children[1].children[0].click()
    assert asked.score == 0.0
    assert "You said <b>&lt;i&gt;</b>. It is <b>b</b>." in words(asked)
    asked.guess = "b"
    assert asked.guess == "<i>"


def test_a_choice_that_is_none_is_refused() -> None:
    asked = vt.predict_choice("which?", ["a", "b"], "b")
    with pytest.raises(vt.UserError, match="'c' is not one of"):
        asked.guess = "c"
    with pytest.raises(vt.UserError, match="at least two different"):
        vt.predict_choice("which?", ["a", "a"], "a")


def test_a_drawn_row_is_scaled_and_scored_by_what_both_share() -> None:
    asked = vt.predict_row("where?", ["el", "gato"], lambda: np.array([0.1, 0.9]))
    asked.guess = [1, 1]
    assert asked.guess == [0.5, 0.5]
    assert asked.score == pytest.approx(0.6)
    assert "60% of its weight where it belongs" in words(asked)
    assert "<b>gato</b>: 0.90; you gave it 0.50" in words(asked)


@pytest.mark.parametrize("row", [[1], [0, 0], [1, -1], ["a", "b"], [np.nan, 1], "ab", 3])
def test_a_row_that_is_none_is_refused(row: object) -> None:
    asked = vt.predict_row("where?", ["el", "gato"], [0.1, 0.9])
    with pytest.raises(vt.UserError):
        asked.guess = row
    assert asked.score is None


def test_sliders_draw_the_row() -> None:
    asked = vt.predict_row("where?", ["el", "gato"], [0.0, 1.0])
    sliders, button = asked.children[1].children, asked.children[2]
    assert button.layout.align_self == "flex-start"  # not stretched over the cell
    button.click()
    assert "some weight" in words(asked)
    sliders[1].value = 0.4
    button.click()
    assert asked.score == 1.0
    assert sliders[1].value == 1.0


@pytest.mark.parametrize("reveal", ["figure", "axes"])
def test_a_figure_is_revealed_as_a_picture_with_its_alternative_text(reveal: str) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2])
    figure.alt_text = 'a "line"'
    asked = vt.predict_number("how many?", 1, reveal={"figure": figure, "axes": axes}[reveal])
    assert "data:image/png" not in words(asked)
    asked.guess = 1
    assert "data:image/png" in words(asked)
    assert "a &quot;line&quot;" in words(asked)


def test_a_guess_is_there_again_when_the_lesson_is_reopened() -> None:
    vt.predict_number("how many?", 2, name="9.p1").guess = 3
    vt.predict_row("where?", ["a", "b"], [0, 1], name="9.p2").guess = [0, 2]
    kept = json.loads(Path("progress.json").read_text(encoding="utf-8"))
    assert kept["predictions"] == {"9.p1": 3.0, "9.p2": [0.0, 1.0]}
    assert vt.predict_number("how many?", 2, name="9.p1").guess == 3
    assert vt.predict_row("where?", ["a", "b"], [0, 1], name="9.p2").score == 1.0
    # The question has other options now: what was kept does not fit, and it is asked again.
    assert vt.predict_row("where?", ["a", "b", "c"], [0, 1, 0], name="9.p2").guess is None


def press_enter(asked: Prediction, text: str) -> None:
    """What the page sends when Enter is pressed in the number's field."""
    keys = next(child for child in asked.children if isinstance(child, BoxKeys))
    keys._handle_custom_msg({"entered": text}, [])


def test_enter_submits_what_was_typed_even_if_the_field_s_own_message_is_late() -> None:
    asked = vt.predict_number("the loss?", 2.05)
    field = asked.children[1].children[0]
    field.value = "2."
    press_enter(asked, "2.05")
    assert asked.guess == 2.05
    assert asked.score == 1.0


@pytest.mark.parametrize("kind", ["number", "row"])
def test_what_was_wrong_is_forgotten_with_the_next_input(kind: str) -> None:
    if kind == "number":
        asked = vt.predict_number("the loss?", 2.0)
        press_enter(asked, "two")
        field = asked.children[1].children[0]
        assert "a prediction is a number" in words(asked)
        field.value = "two"  # the late message of what was typed before
        assert "a prediction is a number" in words(asked)
        field.value = "2"
        assert "a prediction is a number" not in words(asked)
    else:
        asked = vt.predict_row("where?", ["el", "gato"], [0.0, 1.0])
        asked.children[2].click()
        assert "some weight" in words(asked)
        asked.children[1].children[0].value = 0.5
        assert "some weight" not in words(asked)
    assert asked.guess is None


def test_an_answered_number_takes_no_second_one() -> None:
    asked = vt.predict_number("the loss?", 2.0)
    press_enter(asked, "3")
    press_enter(asked, "2")
    assert asked.guess == 3
    assert asked.children[1].children[0].value == "3"
