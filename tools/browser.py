"""A page for taking pictures: in the browser of the tests, with everything but this machine refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.support.ui_jupyterlab import guard
from tools.ensure import CHROMIUM_FLAGS, find_chromium


@contextmanager
def open_page(size: ViewportSize) -> Iterator[Page]:
    """Yield an empty page of a size in pixels.

    Raises:
        RuntimeError: at the end, if a page asked for anything elsewhere.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        context = browser.new_context(viewport=size)
        left = guard(context)
        yield context.new_page()
        browser.close()
    if left:
        raise RuntimeError(f"a page asked for {', '.join(left)}; a picture must need nothing from elsewhere")


def picture(page: Page, **options: Any) -> Image.Image:
    """Return what a page shows now; `options` are those of Playwright's `screenshot`."""
    return Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")
