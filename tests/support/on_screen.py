"""What a view shows, read as numbers; and what a viewer does to it, by mouse and keyboard."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page

from tests.support.ui_jupyterlab import next_frames, open_exported
from viz_transformer.export import export_html
from viz_transformer.widgets.base.view import View


def show(page: Page, view: View, folder: Path, name: str) -> Locator:
    """Export a view, open it from disk, and return it drawn; `name` is its class in the page."""
    root = open_exported(page, export_html(view, folder / "page.html"), f".vt-{name}")
    next_frames(root)
    return root


def number(text: str) -> float:
    """Read a number that is written with a typographic minus or infinity."""
    return float(text.replace("−", "-").replace("∞", "inf"))


def numbers(cells: Locator) -> list[float]:
    return [number(text) for text in cells.all_inner_texts()]


def type_text(root: Locator, text: str) -> None:
    """Write into the first field of a view, which a pencil may show, and press Enter."""
    pencil = root.get_by_role("button", name="Another sentence")
    pencil.or_(root.get_by_role("textbox")).first.wait_for()  # the view may not be drawn yet
    if pencil.count() and pencil.get_attribute("aria-expanded") == "false":
        pencil.click()
    field = root.get_by_role("textbox").first
    field.fill(text)
    field.press("Enter")


def drag(page: Page, knob: Locator, across: float, down: float) -> None:
    """Drag from the middle of a knob by some pixels, in steps, as a hand would."""
    box = knob.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across, y + down, steps=6)
    page.mouse.up()
    next_frames(knob)
