"""What a head does, asked of the kernel: the card of another head, and what one score is made of."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.on_screen import show
from tests.support.ui_jupyterlab import LabPage

CARD = "import viz_transformer as vt\nview = vt.head_card(n_texts=12)\nview"
SCORE = (
    "from functools import partial\nimport viz_transformer as vt\nmodel = vt.load_language_model()\n"
    "text = 'la vaca no duerme'\n"
    "parts = partial(vt.attribution.score_parts, model.model, text, tokenizer=model.vocabulary)\n"
    "trace = model.trace(text)\n"
    "view = vt.explore(trace, layer=1, head=1, query=3, picture='matrix', score_parts=parts)\nview"
)


def test_a_chosen_point_shows_the_card_of_its_head(lab: LabPage) -> None:
    lab.open_cells(CARD)
    lab.run_cell(0)
    card = lab.output(0).locator(".vt-head-card")
    headline, points = card.locator(".vt-headline"), card.locator(".vt-head-point")
    expect(headline).to_contain_text("holds for head 0·3")
    points.nth(4).click()
    expect(headline).to_contain_text("head 1·0")
    lab.wait_for_value("(view.layer, view.head)", (1, 0))
    expect(card.locator(".vt-chip").first).to_have_text("head 1·0")
    points.nth(4).press("ArrowLeft")
    expect(headline).to_contain_text("head 0·3")
    expect(points.nth(3)).to_be_focused()
    lab.wait_for_value("view.head", 3)
    lab.run("view.layer, view.head = 1, 2")
    expect(headline).to_contain_text("head 1·2")
    examples = card.locator("button.vt-example:enabled")
    examples.last.click()
    expect(examples.last).to_have_attribute("aria-pressed", "true")
    lab.wait_for_value("view.card.examples[view.example] is not None", True)


def test_the_inspector_names_the_word_that_looks_and_not_the_one_that_it_writes(
    kept_page: Page, tmp_path: Path
) -> None:
    view = vt.head_card(n_texts=12)
    root = show(kept_page, view, tmp_path, "head-card")
    first = view.data["first"]["examples"][view.example]
    assert first["keys"][first["own"]] != first["query"]
    expect(root.locator(".vt-inspector .vt-of-query")).to_have_text(first["keys"][first["own"]])


def test_the_inspector_shows_what_a_score_is_made_of(lab: LabPage) -> None:
    lab.open_cells(SCORE)
    lab.run_cell(0)
    explorer = lab.output(0).locator(".vt-explorer")
    if explorer.locator(".vt-zones").get_attribute("data-inspector") == "sheet":
        explorer.locator(".vt-sheet-handle").click()
    explorer.get_by_role("button", name="What the score is made of").click()
    section = explorer.get_by_role("region", name="What the score is made of")
    expect(section).to_contain_text(re.compile(r"The score of \S+ is −?\d"))
    key = int(lab.value("int(view.trace.decoder_attention[1, 1, 3].argmax())"))
    score = lab.value(f"parts(layer=1, head=1, query=3, key={key}).score")
    shown = f"{score:.2f}".replace("-", "−")
    expect(section).to_contain_text(f"is {shown}")
    parts = section.get_by_role("list", name="parts of the key").locator("li")
    expect(parts).to_have_count(6)
    lab.run("view.query = 2")
    expect(explorer.get_by_role("button", name="What the score is made of")).to_be_visible()
