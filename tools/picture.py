"""Take the README's picture: the first lesson, run in JupyterLab, as a reader sees it.

`make picture` calls this. It needs Chromium, as the tests do, and nothing from the network.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support.ui_jupyterlab import LabPage, LabServer, guard
from tools.ensure import CHROMIUM_FLAGS, find_chromium

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "explorer.png"
LESSON = "01_which_head_attends_where.ipynb"


def main() -> int:
    """Write the picture; return 0, or 1 if the page asked for anything elsewhere."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, LabServer(Path(folder)) as server:
        shutil.copy(ROOT / "notebooks" / LESSON, server.root)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
            context = browser.new_context(viewport={"width": 1280, "height": 900}, device_scale_factor=1.5)
            left = guard(context)
            lab = LabPage(context.new_page(), server, PICTURE.parent)
            lab.open(LESSON)
            lab.command("application:toggle-left-area")
            lab.run_all()
            lab.run("lab.explorer.query, lab.explorer.key = 1, 2")
            lab.select_cell(1)
            shown = lab.output(1)
            shown.locator(".vt-pair", has_text="gato").wait_for()
            shown.screenshot(path=PICTURE)
            browser.close()
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
