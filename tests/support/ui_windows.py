"""Sizes of the browser's window, and JupyterLab with the lessons in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ui_jupyterlab import LabServer

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"

#: A laptop's window, and the smallest that lessons are made for.
LAPTOP = {"width": 1280, "height": 720}
SMALL = {"width": 1024, "height": 768}
#: Each of them in both of JupyterLab's themes.
LOOKS = [(theme, size) for size in (LAPTOP, SMALL) for theme in ("light", "dark")]


@contextmanager
def serving(folder: Path, app: str = "jupyterlab") -> Iterator[LabServer]:
    """Run a JupyterLab, or another application, with a copy of the lessons in its folder."""
    with LabServer(folder, app) as server:
        shutil.copytree(ROOT / "notebooks", server.root, dirs_exist_ok=True)
        yield server
