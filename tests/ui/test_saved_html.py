"""Notebooks as HTML files: by our own command alive and offline, by nbconvert's as pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.exported_pages import served
from tests.support.notebooks import CELLS, write_notebook
from tests.support.ui_jupyterlab import errors_of, guard, next_frames
from tests.support.ui_windows import LAPTOP, LOOKS, kernels_find_this_clone
from viz_transformer.cli import main

DRAWN = re.compile(r"[1-9]\d*")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a notebook; its kernel finds this clone's tests."""
    folder = tmp_path_factory.mktemp("saved")
    with kernels_find_this_clone():
        write_notebook(folder / "views.ipynb")
        yield folder


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    """The notebook as our command writes it, run first."""
    assert main(["html", str(folder / "views.ipynb"), "--execute"]) == 0
    return folder / "views.html"


def output(page: Page, name: str, cell: str = ".code_cell", area: str = ".output_wrapper") -> Locator:
    """The output of the cell of this name."""
    return page.locator(cell).nth(list(CELLS).index(name)).locator(area)


def test_its_views_are_alive_fit_and_ask_for_nothing(page: Page, saved: Path) -> None:
    heard = errors_of(page)
    page.on("request", lambda request: heard.append(request.url))
    page.goto(saved.as_uri())
    explorers = page.locator(".vt-explorer")
    expect(explorers).to_have_count(2)
    for explorer in explorers.all():
        explorer.scroll_into_view_if_needed()
        expect(explorer).to_have_attribute("data-vt-drawn", DRAWN)
    title = output(page, "explorer").locator(".vt-title").first
    expect(title).to_contain_text("Cross-attention · layer 1 · head 0")
    output(page, "explorer").locator("canvas").first.press("ArrowRight")
    expect(title).to_contain_text("Cross-attention · layer 1 · head 1")
    assert page.evaluate("window.pwned") is None
    assert page.locator(".vt-still:visible").count() == 0
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        expect(explorers.first).to_have_attribute("data-theme", scheme)
        next_frames(explorers.first)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert heard == [saved.as_uri()]


def test_a_view_in_two_cells_shares_its_state(page: Page, saved: Path) -> None:
    page.goto(saved.as_uri())
    shown = page.locator(".square")
    expect(shown).to_have_text(["1 squared", "1 squared"])
    shown.first.click()
    expect(shown).to_have_text(["2 squared", "2 squared"])
    shown.last.click()
    expect(shown.first).to_contain_text("needs the running notebook")

    box = output(page, "box")
    expect(box.locator(".vt-text")).to_have_text(["English: the cat", "el gato"])
    expect(box.locator(".vt-note")).to_contain_text("need a running notebook")
    expect(output(page, "slider")).to_contain_text("need a running notebook")
    expect(output(page, "text")).to_contain_text("done")
    expect(page.locator("body")).not_to_contain_text("Error displaying widget")


def test_where_no_script_may_run_each_view_is_a_picture(browser: Browser, saved: Path) -> None:
    with served(saved, "default-src 'self'") as strict:
        for address, scripts in ((saved.as_uri(), False), (strict, True)):
            context = browser.new_context(java_script_enabled=scripts)
            page = context.new_page()
            page.goto(address)
            expect(page.get_by_text("The views of this page are still pictures")).to_be_visible()
            pictures = page.locator(".vt-instead svg")
            expect(pictures).to_have_count(4)
            told = page.locator(".vt-instead svg + p")
            assert [bool(each.strip()) for each in told.all_inner_texts()] == [True] * 4
            assert all(picture.bounding_box()["height"] > 50 for picture in pictures.all())
            context.close()


@pytest.mark.slow
def test_nbconverts_own_page_shows_pictures_where_its_scripts_cannot_be_fetched(
    browser: Browser, folder: Path
) -> None:
    command = ["nbconvert", "--execute", "--to", "html", "--output", "stock.html", "views.ipynb"]
    subprocess.run([sys.executable, "-m", *command], cwd=folder, check=True, capture_output=True)
    context = browser.new_context(viewport=LAPTOP)
    refused = guard(context)
    page = context.new_page()
    page.goto((folder / "stock.html").as_uri())
    page.wait_for_load_state("load")
    assert refused, "nbconvert's page asked for nothing: it can serve in the place of ours"
    for name in ("explorer", "box", "again", "hostile"):
        picture = output(page, name, ".jp-CodeCell", ".jp-OutputArea").locator(".vt-still img")
        expect(picture).to_be_visible()
        assert picture.get_attribute("alt")
        assert picture.evaluate("(image) => image.naturalWidth") > 100
    expect(page.locator("body")).not_to_contain_text("Error displaying widget")
    context.close()
