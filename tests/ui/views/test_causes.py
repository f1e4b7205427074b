"""Causes in a page: a word is dragged along the layers, keys and clicks patch, and numbers are Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import show
from tests.support.spanish_models import small_language_model
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_windows import LAPTOP
from viz_transformer.widgets.causes import Causes

Opened = Callable[[], tuple[Locator, Causes]]


@pytest.fixture
def opened(kept_page: Page, tmp_path: Path) -> Opened:
    def open_page() -> tuple[Locator, Causes]:
        kept_page.set_viewport_size(LAPTOP)
        view = vt.patch_lens(small_language_model(), "el gato", "la gata")
        return show(kept_page, view, tmp_path, "causes"), view

    return open_page


def told(root: Locator) -> str:
    next_frames(root)
    return root.locator(".vt-headline").inner_text()


def place_of(grid: Locator, layer: float, at: float, columns: int, rows: int) -> tuple[float, float]:
    box = grid.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (layer + 0.5) / columns, box["y"] + box["height"] * (at + 0.5) / rows


def test_a_word_is_dragged_from_the_clean_prompt_to_a_layer(opened: Opened) -> None:
    root, view = opened()
    grid, mouse = root.get_by_role("grid"), root.page.mouse
    back = view.restored("positions")
    expect(grid.locator("[role=gridcell]")).to_have_text(re.compile("brought back"))
    mouse.move(*place_of(grid, -0.55, 2, 2, 3))  # the knob beside the name of the last word
    mouse.down()
    assert "gato at layer 0" in told(root)
    mouse.move(*place_of(grid, 1, 2, 2, 3), steps=5)
    mouse.up()
    assert "gato at layer 1" in told(root)
    share = f"{round(100 * back[1, 2])}%".replace("-", "−")
    expect(root.locator(".vt-outcome-now")).to_contain_text(share)
    expect(grid.locator("[role=gridcell]")).to_have_text(f"patched. gato at layer 1: {share} brought back")
    expect(root.locator(".vt-cause-patch")).to_have_count(1)


def test_keys_and_thirty_clicks_patch_and_take_back(opened: Opened) -> None:
    root, _ = opened()
    grid = root.get_by_role("grid")
    root.get_by_role("button", name="Nothing patched").click()
    assert told(root) == "The clean run writes negro, the corrupted one negra"
    grid.focus()
    for key in ("Home", "ArrowUp", "ArrowUp", "ArrowDown", "Enter"):
        grid.press(key)
    assert "el at layer 0" in told(root)
    grid.press("ArrowRight")
    grid.press("Shift+Enter")
    expect(root.locator(".vt-cause-patch")).to_have_count(2)
    grid.press("Shift+Enter")
    expect(root.locator(".vt-cause-patch")).to_have_count(1)
    for click in range(30):
        root.page.mouse.click(*place_of(grid, click % 2, click % 3, 2, 3))
    expect(root.locator(".vt-cause-patch")).to_have_count(1)
    assert "gato at layer 1" in told(root)  # the last one
    root.page.mouse.click(*place_of(grid, 1, 2, 2, 3))
    expect(root.locator(".vt-cause-patch")).to_have_count(0)


def test_where_the_page_has_no_words_it_tells_what_the_grid_holds(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz_transformer.widgets.causes.view._MOST_CARRIED", 1)
    root, view = opened()
    grid, inspector = root.get_by_role("grid"), root.locator(".vt-inspector")
    back = view.restored("positions")
    at = int(abs(back[1]).argmin())
    root.page.mouse.click(*place_of(grid, 1, at, 2, 3))
    share = f"{round(100 * back[1, at])}%".replace("-", "−")
    assert told(root).endswith(f"at layer 1, {share} comes back")
    expect(root.locator(".vt-outcome-now")).to_contain_text(f"{share} · ")
    expect(inspector.locator(".vt-equation")).to_have_text(re.compile(f"= {share}$"))
    expect(inspector.get_by_role("alert")).to_contain_text("needs the running notebook")
    expect(inspector).not_to_contain_text("writes")
    root.page.keyboard.down("Shift")
    root.page.mouse.click(*place_of(grid, 0, at, 2, 3))
    assert told(root) == "What the clean run’s 2 parts would bring back is not known"
    expect(root.locator(".vt-stage").get_by_role("alert").first).to_contain_text("needs the running notebook")
    expect(root.locator(".vt-outcome-now, .vt-equation")).to_have_count(0)


def test_each_picture_is_in_the_page(opened: Opened) -> None:
    root, view = opened()
    root.get_by_role("button", name="Heads").click()
    grid = root.get_by_role("grid")
    grid.focus()
    grid.press("ArrowRight")
    share = f"{round(100 * view.restored('heads')[1, 0])}%".replace("-", "−")
    expect(grid.locator("[role=gridcell]")).to_have_text(f"head 1·0: {share} brought back")
    root.get_by_role("button", name="Logit lens").click()
    expect(root.locator(".vt-headline")).to_have_text(re.compile("^At gato, layer 0 would write negro"))
    metric = root.get_by_role("button", name="negro − negra")
    metric.click()
    expect(metric).to_have_attribute("aria-pressed", "true")
    root.get_by_role("button", name="Direct shares").click()
    expect(root.get_by_role("alert")).to_contain_text("give a pre-norm model, or patch")
