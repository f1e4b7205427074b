"""No text lies on other text, is cut off or too small, at any width of the window and any zoom."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import viz_transformer as vt
from tests.support.ui_boxes import LEAST_SIZE, faults_of_text, note_canvas_text
from tests.support.ui_jupyterlab import TIMEOUT_S, guard
from tests.support.ui_staged import CARDS, LONG_STAGED, STAGED
from tests.support.ui_sweep import ROOT
from tests.support.ui_windows import ELSEWHERE_ASKED
from viz_transformer.export import export_html
from viz_transformer.tours import lessons_with_tours
from viz_transformer.widgets.base.view import View

VIEWS = {**STAGED, **LONG_STAGED, **CARDS}
#: Windows from the narrowest phone to a large screen, in pixels.
WINDOWS = {320: 640, 768: 1024, 1280: 800, 2560: 1440}
#: A laptop's window at a browser's zoom, in percent: to a page it is a smaller one.
ZOOMED = {150: (853, 533), 200: (640, 400)}


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Return a page that notes the text on its canvases."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    asked = guard(context)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_S * 1000)
    note_canvas_text(page)
    yield page
    context.close()
    assert asked == [], ELSEWHERE_ASKED


def opened(page: Page, folder: Path, view: View) -> Locator:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(export_html(view, folder / "page.html").as_uri())
    root = page.locator(ROOT).first
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    return root


def faults_in(root: Locator, windows: dict[str, tuple[int, int]]) -> dict[str, list[str]]:
    """Return what is wrong with the text of a view, by window."""
    wrong = {}
    for name, (width, height) in windows.items():
        root.page.set_viewport_size({"width": width, "height": height})
        if faults := faults_of_text(root):
            wrong[name] = faults
    return wrong


@pytest.mark.parametrize("name", VIEWS)
def test_text_can_be_read_at_every_width(page: Page, tmp_path: Path, name: str) -> None:
    windows = {f"{width} px": size for width, size in zip(WINDOWS, WINDOWS.items(), strict=True)}
    wrong = faults_in(opened(page, tmp_path, VIEWS[name]()), windows)
    assert wrong == {}, f"{name}: {json.dumps(wrong, indent=1, ensure_ascii=False)}"


def test_a_phone_shows_all_chips_and_lays_the_numbers_over_the_view(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, vt.mask_lab())
    page.set_viewport_size({"width": 390, "height": 844})
    zones, handle = root.locator(".vt-zones"), root.locator(".vt-sheet-handle")
    expect(zones).to_have_attribute("data-inspector", "sheet")
    assert root.locator(".vt-chips").evaluate("(chips) => chips.scrollHeight - chips.clientHeight") == 0
    height = zones.evaluate("(zones) => zones.offsetHeight")
    handle.click()
    expect(handle).to_have_attribute("aria-expanded", "true")
    assert zones.evaluate("(zones) => zones.offsetHeight") <= height
    page.keyboard.press("Escape")
    expect(handle).to_have_attribute("aria-expanded", "false")


def test_on_a_phone_the_model_is_a_tower_of_blocks_that_a_thumb_can_tap(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, vt.architecture(vt.load_translator(), "the cat sleeps"))
    page.set_viewport_size({"width": 390, "height": 844})
    expect(root.locator(".vt-tower")).to_be_visible()
    boxes = [block.bounding_box() or {} for block in root.locator(".vt-block").all()]
    assert len(boxes) == 2 * (1 + 2 * 2) + 2 + 1
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    layers = [box["y"] for box in boxes[:5]]  # the encoder's, from the bottom up
    assert layers == sorted(layers, reverse=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    block = root.locator(".vt-block[data-key='encoder.1.self_attention']")
    block.click()
    expect(block).to_have_attribute("data-chosen", "true")
    expect(root.locator(".vt-headline")).to_contain_text("encoder layer 1 looks at")
    block.click()
    expect(root.locator(".vt-model")).to_have_attribute("data-depth", "layer")
    assert faults_of_text(root) == []


@pytest.mark.weekly
@pytest.mark.parametrize("name", VIEWS)
def test_text_can_be_read_when_zoomed(page: Page, tmp_path: Path, name: str) -> None:
    windows = {f"at {zoom}%": size for zoom, size in ZOOMED.items()}
    wrong = faults_in(opened(page, tmp_path, VIEWS[name]()), windows)
    assert wrong == {}, f"{name}: {json.dumps(wrong, indent=1, ensure_ascii=False)}"


@pytest.mark.weekly
@pytest.mark.parametrize("lesson", lessons_with_tours())
def test_text_can_be_read_at_every_step_of_a_tour(page: Page, tmp_path: Path, lesson: int) -> None:
    """Views that do not stand on the stage yet have letters of 12 pixels."""
    shown = vt.lesson_tour(lesson)
    root = opened(page, tmp_path, shown)
    least = LEAST_SIZE if root.locator(".vt-staged").count() else 0
    wrong = {}
    for step in range(len(shown.steps)):
        expect(root.locator(".vt-tour-steps .vt-track")).to_have_attribute("aria-valuenow", str(step))
        for width in WINDOWS:
            page.set_viewport_size({"width": width, "height": WINDOWS[width]})
            if faults := faults_of_text(root, least):
                wrong[f"step {step + 1}, {width} px"] = faults
        root.locator(".vt-tour-steps .vt-track").press("ArrowRight")
    assert wrong == {}, f"lesson {lesson}: {json.dumps(wrong, indent=1, ensure_ascii=False)}"


#: What each must be found for, and what must not be.
PLANTED = {
    "<p>over</p><p style='margin-top: -2.4em'>under</p>": ["“over” and “under” overlap"],
    "<div style='width: 40px; overflow: hidden; white-space: nowrap'>a long line</div>": [
        "“a long line” is cut off by div"
    ],
    "<div style='height: 8px; overflow: clip'>low</div>": ["“low” is cut off by div"],
    "<div style='width: 400px; white-space: nowrap'>" + "w" * 60 + "</div>": [
        f"“{'w' * 40}” runs out of the window"
    ],
    "<small style='font-size: 12px'>small</small>": ["“small” is 12.0 px small"],
    "<svg viewBox='0 0 200 40' width='100'><text y='20' font-size='20'>half</text></svg>": [
        "“half” is 10.0 px small"
    ],
    "<svg width='90' height='40'><text y='20'>one</text><text x='4' y='22'>two</text></svg>": [
        "“one” and “two” overlap"
    ],
    "<canvas width='90' height='40' data-text='one two'></canvas>": ["“one” and “two” overlap"],
    "<div style='width: 40px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap'>"
    "a long line</div>": [],
    "<div style='-webkit-line-clamp: 1; display: -webkit-box; -webkit-box-orient: vertical; overflow: hidden;"
    "width: 50px'>many more lines than one</div>": [],
    "<div style='width: 40px; height: 30px; overflow: auto'>a <br> long <br> line</div><p>below</p>": [],
    "<p style='position: absolute; clip-path: inset(50%)'>for ears</p><p>for eyes</p>": [],
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_wrong_with_text_is_found(page: Page, planted: str) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("about:blank")
    page.set_content(f"<body><div id='root' style='font: 16px sans-serif'>{planted}</div>")
    page.evaluate(
        """() => document.querySelectorAll("canvas").forEach((canvas) => canvas.dataset.text.split(" ")
            .forEach((word, at) => canvas.getContext("2d").fillText(word, 4 * at, 20)))"""
    )
    found = faults_of_text(page.locator("#root"))
    assert [fault.split(": ")[0].split(", ")[0] for fault in found] == PLANTED[planted]
