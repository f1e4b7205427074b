"""`make dev`: an edited script or style shows in the open view, and no cell is run again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.source_code import PACKAGE, ROOT
from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_windows import ARTIFACTS
from tools import bundles

pytestmark = pytest.mark.slow

CELL = """
import logging
import viz_transformer as vt

refused = logging.Handler()
refused.records = []
refused.emit = refused.records.append
logging.getLogger("viz_transformer").addHandler(refused)
view = vt.explore(vt.ForwardTrace(source_tokens=["a", "b"], encoder_attention=[[[[1, 0], [0.5, 0.5]]]]))
view
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return the package in a copy of what its views are built from, to be edited."""
    root = tmp_path / "clone"
    for part in (PACKAGE, ROOT / "tools", bundles.FETCHED):
        copied = shutil.ignore_patterns("__pycache__")
        shutil.copytree(part, root / part.relative_to(ROOT), symlinks=True, ignore=copied)
    shutil.copyfile(ROOT / "package-lock.json", root / "package-lock.json")
    return root / "viz_transformer"


@pytest.fixture
def developing(clone: Path, tmp_path: Path, page: Page) -> Iterator[LabPage]:
    """Return JupyterLab as `make dev` starts it, its kernels working with the copy."""
    ARTIFACTS.mkdir(exist_ok=True)
    environment = {"VIZ_TRANSFORMER_DEV": "1", "PYTHONPATH": str(clone.parent)}
    with LabServer(tmp_path / "lab", **environment) as server:
        yield LabPage(page, server, ARTIFACTS)


def test_an_edited_file_shows_in_the_open_view(clone: Path, developing: LabPage) -> None:
    lab = developing
    lab.open_cells(CELL)
    lab.run_all()
    assert lab.value("vt.__file__") == str(clone / "__init__.py")
    view = lab.output(0).locator(".vt-explorer")
    expect(view).to_be_visible()

    style = clone / "widgets" / "explorer" / "style.css"
    style.write_text(style.read_text() + ".vt-explorer { outline: 7px dotted rgb(1, 2, 3); }")
    expect(view).to_have_css("outline", "rgb(1, 2, 3) dotted 7px")

    script = clone / "widgets" / "explorer" / "view.tsx"
    whole = script.read_text()
    script.write_text(whole + "\nconst halfSaved = {")  # no JavaScript yet
    lab.wait_for_value("len(refused.records)", 1)
    script.write_text(whole + '\ndocument.body.dataset.edited = "yes";\n')
    expect(lab.page.locator("body")).to_have_attribute("data-edited", "yes")
    expect(view).to_be_visible()
    assert lab.value("len(In)") == 2  # the cell ran once
