"""Every view on the stage, presented: it fills a projector, is seen whole, and has large letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.ui_boxes import faults_of_text, note_canvas_text, sizes_of_words
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_staged import STAGED
from tests.support.ui_sweep import ROOT
from tests.support.ui_windows import SMALL
from viz_transformer.export import export_html

WORD, TEXT = 20, 13  # pixels: chips of the sentence, and anything else
FILLS = """(root) => {
    const { left, top, width, height } = root.getBoundingClientRect();
    const scrolled = [root.scrollWidth - root.clientWidth, root.scrollHeight - root.clientHeight];
    return [left, top, width - innerWidth, height - innerHeight, ...scrolled];
}"""


def opened(page: Page, folder: Path, name: str) -> Locator:
    """Open the page of a view in a projector's window, with its text noted."""
    page.set_viewport_size(SMALL)
    note_canvas_text(page)
    page.goto(export_html(STAGED[name](), folder / "page.html").as_uri())
    root = page.locator(ROOT).first
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    return root


def present(root: Locator) -> None:
    """Press the view's button, and wait until it is drawn at its new size."""
    root.get_by_role("button", name="Present").locator("visible=true").click()
    expect(root).to_have_class(re.compile("vt-presenting"))
    expect(root.page.locator(":fullscreen")).to_have_count(1)
    next_frames(root)
    next_frames(root)
    expect(root.locator(".vt-waits")).to_have_count(0)  # on a slow machine it covers the picture


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGED)
def test_a_presented_view_is_whole_and_large(
    new_page: Callable[..., Page], tmp_path: Path, name: str
) -> None:
    root = opened(new_page(), tmp_path, name)
    present(root)
    assert root.evaluate(FILLS) == [0] * 6
    assert faults_of_text(root, TEXT) == []
    words = root.locator(".vt-chip, .vt-step-title").evaluate_all(
        "(nodes) => nodes.map((node) => parseFloat(getComputedStyle(node).fontSize))"
    )
    assert min(words, default=WORD) >= WORD
    root.page.keyboard.press("Escape")
    expect(root).not_to_have_class(re.compile("vt-presenting"))


def test_the_words_of_a_presented_picture_grow(new_page: Callable[..., Page], tmp_path: Path) -> None:
    root = opened(new_page(), tmp_path, "linked")
    before = sizes_of_words(root)
    present(root)
    after = sizes_of_words(root)
    assert before.keys() == after.keys()
    assert min(after.values()) >= WORD > max(before.values())
