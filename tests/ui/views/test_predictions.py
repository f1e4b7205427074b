"""Predictions in a page without Python: guessed, judged, revealed, and kept by the browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
from tests.support.ui_jupyterlab import errors_of, next_frames


def line() -> Figure:
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot([1, 2])
    figure.alt_text = "a line"
    return figure


def test_an_explanation_is_written_compared_judged_and_kept(
    page: Page, folder_thrown_away: None, tmp_path: Path
) -> None:
    errors = errors_of(page)
    asked = vt.explain("Why √d_k?", "Softmax <b>saturates</b>.", afterwards="See *lesson 3*.", name="9.e1")
    page.goto(vt.export_html([asked], tmp_path / "page.html").as_uri())
    card = page.locator(".vt-prediction")
    compare = card.get_by_role("button", name="Compare with a model answer")
    compare.click()
    expect(card.get_by_role("alert")).to_have_text("write a sentence first, then compare")
    expect(card.get_by_text("saturates")).to_have_count(0)
    card.get_by_role("textbox", name="Why √d_k?").fill("<img src=x onerror=alert(1)> Scores grow.")
    compare.press("Enter")
    both = ["<img src=x onerror=alert(1)> Scores grow.", "Softmax <b>saturates</b>."]
    expect(card.locator("dd")).to_have_text(both)
    page.reload()  # between the two steps
    card.get_by_role("button", name="leaves something out").click()
    said = card.locator("[role=status]")
    expect(said).to_contain_text("By your own judgement your answer leaves something out.See lesson 3.")
    page.reload()
    expect(said).to_contain_text("leaves something out")
    expect(card.locator("dd")).to_have_text(both)
    expect(card.get_by_role("button")).to_have_count(0)
    assert errors == []


@pytest.fixture
def written(folder_thrown_away: None, tmp_path: Path) -> Path:
    """A page with a prediction of each kind, and no guess from before."""
    trace = make_trace()
    asked = [
        vt.predict_number("How many heads?", 8, unit="heads", reveal=line, afterwards="Yes.", name="9.p1"),
        vt.predict_choice(
            "Which <b>word</b>?", ["gato", "<i>"], "gato", reveal=lambda: vt.explore(trace), name="9.p2"
        ),
        vt.predict_row("Where?", ["el", "gato"], [0.1, 0.9], name="9.p3"),
        vt.prediction(trace, "Where does it look?", kind="cross", layer=0, head=0, query=0),
    ]
    return vt.export_html(asked, tmp_path / "page.html")


def test_each_kind_is_guessed_judged_and_kept(page: Page, written: Path) -> None:
    errors = errors_of(page)
    page.goto(written.as_uri())
    number, choice, row, key = (page.locator(".vt-prediction").nth(i) for i in range(4))
    number_told, choice_told, row_told, key_told = (
        each.locator(".vt-card > [role=status]") for each in (number, choice, row, key)
    )
    expect(key.get_by_role("button").first).to_be_visible()
    expect(page.locator(".vt-verdict")).to_have_count(0)
    expect(page.locator(".vt-explorer")).to_have_count(0)

    field = number.get_by_role("textbox", name="How many heads?")
    field.fill("eight")
    field.press("Enter")
    refused = "a prediction is a number, not 'eight'; give one such as 3.5"
    expect(number.get_by_role("alert")).to_have_text(refused)
    field.fill("16")
    expect(number.get_by_role("alert")).to_have_count(0)
    field.press("Enter")
    told = "You said 16 heads; it is 8 heads. Off by a factor of 2."
    expect(number_told).to_contain_text(told)
    expect(number_told).to_contain_text("Yes.")
    expect(number.get_by_role("img", name="a line")).to_be_visible()
    expect(number.locator(".vt-lane")).to_have_text(["8 headsyou: 16 heads"])
    expect(number.get_by_role("textbox")).to_have_count(0)

    choice.get_by_role("button", name="<i>").click()
    expect(choice.locator(".vt-explorer")).to_be_visible()
    page.set_viewport_size({"width": 700, "height": 800})  # it is drawn again
    next_frames(choice)
    expect(choice.locator(".vt-lane")).to_have_text(["gato✓ the answer", "<i>✗ your answer"])
    expect(choice_told).to_have_text("✗ Not so. You said <i>. The answer is gato.")
    expect(choice.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))

    row.get_by_role("button", name="Predict").click()
    expect(row.get_by_role("alert")).to_have_text("give at least one of them some weight")
    row.get_by_role("slider", name="gato").press("End")
    expect(row.get_by_role("alert")).to_have_count(0)
    row.get_by_role("slider", name="el").press("End")
    row.get_by_role("slider", name="el").press("ArrowLeft")
    row.get_by_role("button", name="Predict").press("Enter")
    assert row.evaluate("(root) => root.contains(document.activeElement)")  # the keys are not lost
    expect(row_told).to_contain_text("Near. Your row has 61% of its weight where it belongs.")
    expect(row.locator(".vt-lane")).to_have_text(["el10%you: 49%", "gato90%you: 51%"])
    share = "(bar) => Math.round(100 * bar.offsetWidth / bar.parentElement.offsetWidth)"
    drawn = row.locator(".vt-lane-bars > *").evaluate_all(f"(bars) => bars.map({share})")
    assert drawn == [54, 11, 57, 100]  # of each key the guess, and what was measured
    key.get_by_role("button").first.click()
    expect(key_told).to_contain_text("You chose")
    expect(key.locator(".vt-measured")).to_have_count(5)

    page.reload()
    expect(number_told).to_contain_text(told)
    expect(choice_told).to_contain_text("The answer is gato.")
    expect(row_told).to_contain_text("61%")
    expect(key_told).to_have_text("")  # it has no name, and is asked again
    assert errors == []
