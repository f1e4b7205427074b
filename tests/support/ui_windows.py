"""Sizes of the browser's window, and JupyterLab with the lessons in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.ui_jupyterlab import PICTURES, LabPage, LabServer, guard

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"

#: A laptop's window, and the smallest that lessons are made for.
LAPTOP = {"width": 1280, "height": 720}
SMALL = {"width": 1024, "height": 768}
PHONE = {"width": 390, "height": 844}
#: The narrowest phone, or a laptop at zoom 400%.
NARROWEST = {"width": 320, "height": 640}
#: Each of them in both of JupyterLab's themes.
LOOKS = [(theme, size) for size in (LAPTOP, SMALL) for theme in ("light", "dark")]

ELSEWHERE_ASKED = "the page asked for something that is not on this machine"


def keep_picture(page: Page, name: str) -> None:
    """Keep a picture of the whole page among the artifacts, if people want to look at them."""
    if PICTURES:
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)


@contextmanager
def guarded_lab(server: LabServer, browser: Browser, **options: str) -> Iterator[LabPage]:
    """Open JupyterLab in a browser context of its own, held to this machine, and reset it after."""
    ARTIFACTS.mkdir(exist_ok=True)
    context = browser.new_context(viewport=LAPTOP, reduced_motion="reduce", **options)
    asked = guard(context)
    yield LabPage(context.new_page(), server, ARTIFACTS)
    context.close()
    server.reset()
    assert asked == [], ELSEWHERE_ASKED


@contextmanager
def serving(folder: Path, app: str = "jupyterlab") -> Iterator[LabServer]:
    """Run a JupyterLab, or another application, with a copy of the lessons in its folder."""
    with LabServer(folder, app) as server:
        shutil.copytree(ROOT / "notebooks", server.root, dirs_exist_ok=True)
        yield server


@contextmanager
def kernels_find_this_clone() -> Iterator[None]:
    """Let kernels that are started meanwhile import this clone's tests, on one thread each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
