"""The embedding map in a real browser: an exported page from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.ui_jupyterlab import next_frames, open_exported


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vt.export_html(vt.embedding_map(), tmp_path_factory.mktemp("map") / "map.html")


@pytest.fixture
def root(page: Page, exported: Path) -> Locator:
    return open_exported(page, exported, ".vt-embedding-map")


def test_a_word_that_is_typed_is_found_and_so_is_what_is_near_it(page: Page, root: Locator) -> None:
    title = root.locator(".vt-list-title")
    expect(title).to_contain_text("tired")
    root.get_by_role("combobox").fill("MAEST")
    page.keyboard.press("Enter")
    expect(title).to_contain_text("“maestr")
    root.get_by_role("combobox").fill("maestra")
    expect(title).to_contain_text("“maestra”")
    expect(root.locator(".vt-neighbours li").first).to_have_text("profesora0.95")
    root.get_by_role("button", name="profesora").click()
    expect(title).to_contain_text("“profesora”")


def test_a_word_that_is_not_there_is_told_and_the_map_stays(page: Page, root: Locator) -> None:
    root.get_by_role("combobox").fill("blorp")
    page.keyboard.press("Enter")
    expect(root.get_by_role("status")).to_have_text("“blorp” is not in this vocabulary.")
    expect(root.locator(".vt-list-title")).to_contain_text("“tired”")


def test_arrow_keys_go_from_point_to_point(page: Page, root: Locator) -> None:
    root.locator(".vt-chart").first.focus()
    page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-list-title")).not_to_contain_text("“tired”")
    next_frames(root)


def test_zooming_in_keeps_the_chosen_word_in_the_middle(root: Locator) -> None:
    root.get_by_role("button", name="zoom in").click()
    next_frames(root)
    chart = root.locator(".vt-chart").first
    width = chart.evaluate("node => node.viewBox.baseVal.width")
    x = float(root.locator("circle[r='7']").first.get_attribute("cx") or 0)
    assert abs(x - width / 2) < 20
    expect(root.get_by_role("button", name="zoom out")).to_be_enabled()
