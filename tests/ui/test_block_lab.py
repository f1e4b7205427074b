"""The block lab in an exported page, from disk: its engine reads any sentence, and nothing is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.support.ui_jupyterlab import LabPage, errors_of
from tests.support.ui_lab_questions import ask_block_lab
from tests.support.ui_pages import drawn
from tests.support.ui_windows import in_every_window, keep_picture
from viz_transformer import labs
from viz_transformer.export import export_html
from viz_transformer.labs.block_lab import block_spread
from viz_transformer.translator import load_translator


def opened(page: Page, folder: Path, **options: object) -> Locator:
    errors = errors_of(page)
    page.goto(export_html(labs.block_lab(load_translator(), **options), folder / "page.html").as_uri())
    root = page.locator(".vt-block-lab")
    expect(root.locator("td").first).to_be_visible()
    assert errors == []
    return root


def column(root: Locator, part: int) -> list[str]:
    return root.locator(f'td[data-col="{part}"]').all_text_contents()


def shown(sentence: str, changed: int, part: str, layer: int = 1) -> list[str]:
    moved = block_spread(load_translator(), sentence, changed, layer=layer)[part]
    return [f"{share:.2f}" if share >= 1e-5 else "0" for share in moved]


def test_any_word_may_be_changed_in_any_block(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, changed=2)
    sentence = "the black cat sleeps"
    assert column(root, 0) == shown(sentence, 2, "self-attention")
    assert column(root, 2) == shown(sentence, 2, "feed-forward")
    root.get_by_role("option", name="sleeps").click()
    assert column(drawn(root), 0) == shown(sentence, 3, "self-attention")
    root.locator('td[data-row="1"]').first.click()  # a cell of a word chooses it too
    assert column(drawn(root), 3) == shown(sentence, 1, "norm over words")
    root.get_by_label("in", exact=True).select_option("block 0")
    drawn(root)
    assert column(root, 0) == shown(sentence, 1, "self-attention", layer=0)


def test_any_sentence_may_be_typed(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, changed=4)
    field = root.get_by_label("sentence")
    field.fill("the cat")
    field.press("Enter")
    expect(root.locator("tbody tr")).to_have_count(3)
    expect(root.locator(".vt-says")).to_contain_text("<eos>")
    assert column(drawn(root), 1) == shown("the cat", 2, "LayerNorm")
    field.fill("the dragon")
    root.get_by_role("button", name="Read").click()
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    expect(root.get_by_role("alert")).to_contain_text("still shows “the cat”")
    expect(root.locator("tbody tr")).to_have_count(3)


def test_without_an_engine_the_page_carries_each_word_of_its_sentence(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, engine="kernel")
    root.get_by_role("option", name="cat").click()
    assert column(drawn(root), 0) == shown("the black cat sleeps", 2, "self-attention")
    root.get_by_label("sentence").fill("the dog")
    root.get_by_role("button", name="Read").click()
    expect(root.get_by_role("alert")).to_contain_text("needs the running notebook")


@in_every_window
def test_it_fits_its_window(
    new_page: Callable[..., Page], tmp_path: Path, window: dict[str, int], scheme: str
) -> None:
    page = new_page(viewport=window, scheme=scheme)
    root = opened(page, tmp_path, changed=2)
    assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    expect(root.locator("circle")).to_have_count(4 * 5)
    expect(root.locator(".vt-spread-lines path")).to_have_count(5 + 1 + 1 + 5)
    expect(root).to_have_attribute("data-theme", re.compile(scheme))
    keep_picture(page, f"block_lab_{window['width']}_{scheme}")


def test_a_reopened_notebook_reads_any_sentence_before_a_cell_runs(lab: LabPage) -> None:
    lab.open_cells("import viz_transformer as vt\nblock = vt.block_lab(vt.load_translator())\nblock")
    lab.run_all()
    expect(lab.output(0).locator(".vt-block-lab td").first).to_be_visible()
    lab.reopen_saved()
    root = lab.output(0).locator(".vt-block-lab")
    expect(root.locator("td").first).to_be_visible()
    ask_block_lab(root, load_translator())
    assert lab.value("'block' in globals()") is False
    assert lab.errors == []
