"""Each view is seen whole, without scrolling, on a laptop and a projector; on a phone none is too wide."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.ui_jupyterlab import open_exported
from tests.support.ui_rooms import NARROW, PHONE, ROOMS, sizes_of, wait_until_whole
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import SMALL
from viz_transformer.export import export_html
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.tour import tour


@pytest.mark.parametrize("name", sorted(EVERY_VIEW))
def test_a_view_is_seen_whole(page: Page, tmp_path: Path, name: str) -> None:
    rooms = {**ROOMS, "phone": PHONE, "narrow": NARROW}
    sizes = sizes_of(page, export_html(EVERY_VIEW[name](), tmp_path / "page.html"), rooms)
    too_tall = {each: sizes[each].height for each, room in ROOMS.items() if sizes[each].height > room.height}
    assert too_tall == {}
    assert {each: size.too_wide for each, size in sizes.items() if size.too_wide} == {}


@pytest.mark.parametrize("name", sorted(set(EVERY_VIEW) - {"tour", "trace switch", "translation lab"}))
def test_a_presented_view_is_seen_whole(new_page: Callable[..., Page], tmp_path: Path, name: str) -> None:
    page = new_page(viewport=SMALL)
    shown = tour(EVERY_VIEW[name](), [{"caption": "What a professor says of it, in one line.", "state": {}}])
    root = open_exported(page, export_html(shown, tmp_path / "page.html"), ".vt-tour")
    expect(root.locator(".vt-tour-view .vt").first).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]"))
    root.get_by_role("button", name="Present").click()
    wait_until_whole(page)
    assert root.evaluate("(node) => node.scrollWidth - node.clientWidth") == 0


LONG = "the wolf did not cross the park because it was too slow"
#: What is scrolled sideways, or hides what is too wide.
TOO_WIDE = """(root) => Array.from(root.querySelectorAll('*'), (node) => node)
    .filter((node) => getComputedStyle(node).overflowX === 'auto' && node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.className)"""


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("beam-stepper", lambda: vt.beam_stepper(vt.load_translator(), LONG)),
        ("architecture", lambda: vt.architecture(vt.load_translator(), LONG)),
    ],
)
def test_paper_shows_what_is_scrolled_on_the_screen(
    page: Page, tmp_path: Path, name: str, make: Callable[[], View]
) -> None:
    root = open_exported(page, export_html(make(), tmp_path / "page.html"), f".vt-{name}")
    page.set_viewport_size({"width": 690, "height": 900})
    assert root.evaluate(TOO_WIDE)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert root.evaluate(TOO_WIDE) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(f".vt-{name} [data-vt-printed]")).to_have_count(0)


def test_a_leak_meter_of_long_sentences_fits_a_phone(new_page: Callable[..., Page], tmp_path: Path) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    lab = vt.mask_lab(sentences=[LONG, "the cat sleeps"])
    open_exported(page, export_html(lab, tmp_path / "page.html"), ".vt-mask-lab")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_figure_keeps_its_letters_in_a_narrow_window(new_page: Callable[..., Page], tmp_path: Path) -> None:
    page = new_page(viewport={"width": 320, "height": 640})
    view = EVERY_VIEW["figure lab"]()
    root = open_exported(page, export_html(view, tmp_path / "page.html"), ".vt-figure-lab")
    expect(root.locator("img")).to_have_css("min-width", "480px")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
