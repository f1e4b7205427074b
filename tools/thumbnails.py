"""Take the README's small pictures of the views, each as its docstring's example makes it.

`make picture` calls this. It needs Chromium, as the tests do, and nothing from the network.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import viz_transformer as vt
from tests.support.ui_jupyterlab import guard
from tools.docs_gallery import shown
from tools.ensure import CHROMIUM_FLAGS, find_chromium

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "views"
#: Pixels of the page, of which the top is taken, and of the picture that is made of it.
PAGE, WIDTH = {"width": 960, "height": 700}, 480


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
    picture = Image.open(io.BytesIO(page.screenshot(clip=top, full_page=True))).convert("RGB")
    picture.thumbnail((WIDTH, WIDTH))
    picture.save(FOLDER / f"{name}.webp", quality=82, method=6)


def main() -> int:
    """Write the pictures; return 0, or 1 if a page asked for anything elsewhere."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        context = browser.new_context(viewport=PAGE)
        left = guard(context)
        page = context.new_page()
        for name in names():
            take(page, name, Path(folder))
        browser.close()
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
