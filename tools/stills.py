"""Take the still pictures of the views: small ones for docs/gallery.md, three wide ones for the README.

`make picture` calls this. It needs Chromium, as the tests do, and nothing from the network.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import ipywidgets
from playwright.sync_api import Page, ViewportSize

import viz_transformer as vt
from tools.browser import open_page, picture
from tools.docs_gallery import shown

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
#: Pixels of the page of a small picture, of which the top is taken, and of the picture made of it.
PAGE: ViewportSize = {"width": 960, "height": 700}
WIDTH = 480
WIDE: ViewportSize = {"width": 1120, "height": 720}


def one_head() -> ipywidgets.Widget:
    """Return the explorer at the head that translates a word into the next."""
    trace = vt.load_translator().trace("the teacher lost her book")
    return vt.explore(trace, kind="cross", layer=1, head=1, query=1)


def head_switched_off() -> ipywidgets.Widget:
    """Return the head lab with the head off that decides between *el profesor* and *la maestra*."""
    lab = vt.head_lab(vt.load_translator(), "the teacher lost his book")
    lab.factors = [{"kind": "encoder", "layer": 1, "head": 1, "factor": 0}]
    return lab


def beam_search() -> ipywidgets.Widget:
    """Return a beam search, at its last step."""
    return vt.beam_stepper(vt.load_translator(), "the teacher sleeps")


#: The README's pictures.
STILLS: dict[str, Callable[[], ipywidgets.Widget]] = {
    "one_head": one_head,
    "head_switched_off": head_switched_off,
    "beam_search": beam_search,
}


def names() -> list[str]:
    """Return the views whose pictures docs/gallery.md shows."""
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    return re.findall(r"images/views/(\w+)\.webp", gallery)


def take(page: Page, view: ipywidgets.Widget, path: Path, size: ViewportSize, width: int) -> None:
    """Write a view's picture: the top of its page, below the title, reduced to a width in pixels."""
    with tempfile.TemporaryDirectory() as folder:
        page.set_viewport_size(size)
        page.goto(vt.export_html(view, Path(folder) / "view.html").as_uri())
        shown_view = page.locator(".vt-root[data-vt-drawn]").first
        shown_view.wait_for()
        page.wait_for_function("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
        box = shown_view.bounding_box()
        assert box, f"{path.stem} is not on its page"
        height = min(size["height"], box["height"] + 16) if width == size["width"] else size["height"]
        top = {"x": 0, "y": box["y"], "width": size["width"], "height": height}
        still = picture(page, clip=top, full_page=True)
    still.thumbnail((width, width))
    still.save(path, quality=82, method=6)


def main() -> None:
    """Write the pictures."""
    (IMAGES / "views").mkdir(parents=True, exist_ok=True)
    with open_page(WIDE) as page:
        for name, make in STILLS.items():
            take(page, make(), IMAGES / f"{name}.webp", WIDE, WIDE["width"])
        for name in names():
            take(page, shown(name), IMAGES / "views" / f"{name}.webp", PAGE, WIDTH)


if __name__ == "__main__":
    main()
