"""Take the README's small pictures of the views, each as its docstring's example makes it.

`make picture` calls this. It needs Chromium, as the tests do, and nothing from the network.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

import viz_transformer as vt
from tools.browser import open_page, picture
from tools.docs_gallery import shown

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "views"
#: Pixels of the page, of which the top is taken, and of the picture that is made of it.
PAGE: ViewportSize = {"width": 960, "height": 700}
WIDTH = 480


def names() -> list[str]:
    """Return the views whose pictures the README shows."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"images/views/(\w+)\.webp", readme)


def take(page: Page, name: str, folder: Path) -> None:
    """Write a view's picture: the top of its page, below the title, half as large."""
    page.goto(vt.export_html(shown(name), folder / f"{name}.html").as_uri())
    view = page.locator(".vt").first
    page.locator(".vt[data-vt-drawn]").first.wait_for()
    page.wait_for_function("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    box = view.bounding_box()
    assert box, f"{name} is not on its page"
    top = {**PAGE, "x": 0, "y": box["y"]}
    small = picture(page, clip=top, full_page=True)
    small.thumbnail((WIDTH, WIDTH))
    small.save(FOLDER / f"{name}.webp", quality=82, method=6)


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_page(PAGE) as page:
        for name in names():
            take(page, name, Path(folder))


if __name__ == "__main__":
    main()
