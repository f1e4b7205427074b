"""The documentation, built as `make docs` builds it and opened from disk in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.on_screen import type_text
from tests.support.source_code import ROOT
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_windows import LAPTOP, PHONE, keep_picture
from tools import docs_gallery

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built documentation."""
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, "-m", "tools.docs_gallery"], cwd=ROOT, check=True)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_no_page_names_a_script_a_style_or_a_picture_elsewhere(docs: Path) -> None:
    pages = [path for path in docs.rglob("*.html") if path.parent.name not in {"course", "gallery"}]
    assert len(pages) > 20
    for path in pages:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?([^\"\s>]+)", text)
        loaded += re.findall(
            r"<link[^>]*\srel=\"?(?:stylesheet|preconnect|icon)[^>]*\shref=\"?([^\"\s>]+)", text
        )
        assert not [each for each in loaded if re.match(r"(?:https?:)?//", each)], path.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=lambda window: str(window["width"]))
@pytest.mark.parametrize("name", ["index", "course", "gallery", "live", "api/explore"])
def test_a_page_opens_from_disk_and_is_no_wider_than_the_window(
    new_page: Callable[..., Page], docs: Path, name: str, window: dict[str, int], scheme: str
) -> None:
    page = new_page(window, scheme)
    heard = errors_of(page)
    page.goto((docs / f"{name}.html").as_uri())
    expect(page.locator("h1")).to_be_visible()
    assert page.locator("body").get_attribute("data-md-color-scheme") == (
        "default" if scheme == "light" else "slate"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    keep_picture(page, f"docs-{name.replace('/', '-')}-{window['width']}-{scheme}")
    assert heard == []


def test_the_views_of_the_gallery_are_alive_and_take_the_pages_colours(
    new_page: Callable[..., Page], docs: Path
) -> None:
    page = new_page(LAPTOP, "null")  # what the browser itself prefers, so that a frame takes the page's
    heard = errors_of(page)
    page.goto((docs / "live.html").as_uri())
    expect(page.locator("iframe.live-view")).to_have_count(len(docs_gallery.names()))
    frame = "iframe[src='gallery/translation_lab.html']"
    page.locator(frame).scroll_into_view_if_needed()
    lab = page.frame_locator(frame)
    # A field that is written into before the view is drawn gets the view's own sentence back.
    expect(lab.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    type_text(lab.locator("body"), "the dog sleeps")
    expect(lab.locator("body")).to_contain_text("el perro duerme")
    for scheme in ("dark", "light"):
        page.locator(f"label[title='Switch to the {scheme} page']").click()
        lab.locator("body").evaluate(
            """(_, scheme) => new Promise((follows) => {
                const media = matchMedia(`(prefers-color-scheme: ${scheme})`);
                media.matches ? follows() : media.addEventListener("change", follows, { once: true });
            })""",
            scheme,
        )
    assert heard == []


def test_the_search_finds_a_page_without_a_server(page: Page, docs: Path) -> None:
    page.goto((docs / "index.html").as_uri())
    box = page.get_by_role("textbox", name="Search")
    box.click()
    box.press_sequentially("ProphetNet")
    found = page.locator(".md-search-result__item a").first
    expect(found).to_contain_text("vt.capture")
    found.click()
    expect(page.locator("h1")).to_contain_text("What vt.capture sees")
