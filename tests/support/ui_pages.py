"""Exported pages, opened and looked at."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.support.ui_jupyterlab import TIMEOUT_S, errors_of, next_frames
from viz_transformer.export import export_html
from viz_transformer.widgets.explorer import AttentionExplorer


def open_page(page: Page, path: Path) -> Locator:
    """Open a page from disk and return its first explorer, drawn."""
    errors = errors_of(page)
    page.goto(path.as_uri())
    root = page.locator(".vt-explorer").first
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    assert errors == []
    return root


def drawn(root: Locator, attribute: str = "data-stale") -> Locator:
    """Wait until a view shows what was last asked of it, and return it."""
    next_frames(root)
    expect(root).to_have_attribute(attribute, "false", timeout=TIMEOUT_S * 1000)
    return root


def settled(root: Locator) -> None:
    """Wait until two frames have passed, so that all that was asked for is drawn."""
    next_frames(root)


def picture(canvas: Locator) -> str:
    return canvas.evaluate("(canvas) => canvas.toDataURL()")


def open_view(page: Page, folder: Path, view: AttentionExplorer) -> Locator:
    return open_page(page, export_html(view, folder / "page.html"))


def press(root: Locator, name: str) -> None:
    root.get_by_role("button", name=name, exact=True).click()
