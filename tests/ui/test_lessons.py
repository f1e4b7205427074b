"""Every lesson in JupyterLab and in Jupyter Notebook 7: its views appear on the first run."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.ui.conftest import ARTIFACTS, LAPTOP, ROOT, SMALL
from tests.ui.lab_page import LabPage, LabServer

LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.slow

#: What stands outside its cell's output, or shows nothing: one line for each.
_FAULTS = """
() => {
    const faults = [];
    for (const area of document.querySelectorAll('.jp-Cell .jp-OutputArea')) {
        const box = area.getBoundingClientRect();
        const cell = area.closest('.jp-Cell').dataset.windowedListIndex;
        for (const view of area.querySelectorAll('.vt')) {
            const {width, height, right} = view.getBoundingClientRect();
            const size = `${width} by ${height}`;
            if (width < 50 || height < 30) faults.push(`cell ${cell}: a view of ${size}`);
            if (right > box.right + 1) faults.push(`cell ${cell}: ${right - box.right} cut off`);
        }
        // A step of the attention stepper that is still to come is left blank on purpose.
        for (const canvas of area.querySelectorAll('.vt :not(.vt-to-come) > canvas')) {
            if (!canvas.width || !canvas.height || !canvas.checkVisibility()) continue;
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            if (!data.some(byte => byte)) faults.push(`cell ${cell}: a blank canvas`);
        }
        if (/Error displaying widget|model not found/.test(area.innerText))
            faults.push(`cell ${cell}: ${area.innerText}`);
    }
    return faults;
}
"""
#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"
_SETTLED = """
() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))
"""


def outputs(lab: LabPage) -> list[int]:
    """Return the cells that show something."""
    return lab.page.evaluate(
        """() => panel.content.widgets.flatMap((cell, index) =>
            (cell.model.outputs?.toJSON() ?? []).length ? [index] : [])"""
    )


def check_outputs(lab: LabPage, name: str) -> None:
    """Bring every output into view, hold it to be whole, and keep a picture of it."""
    shown = outputs(lab)
    assert shown
    for index in shown:
        lab.select_cell(index)
        lab.output(index).wait_for()
        with contextlib.suppress(PlaywrightTimeoutError):  # what is still not there is told below
            lab.page.wait_for_function(f"({_FAULTS})().length === 0")
        lab.page.evaluate(_SETTLED)
        lab.screenshot(f"{name}-{index:02}")
        assert lab.page.evaluate(_FAULTS) == [], name


@pytest.fixture(scope="module")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 with a copy of the lessons in its folder."""
    with LabServer(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        shutil.copytree(ROOT / "notebooks", server.root, dirs_exist_ok=True)
        yield server


@pytest.fixture
def notebook_7(notebook_server: LabServer, page: Page) -> Iterator[LabPage]:
    """Return Jupyter Notebook 7 in a page of its own."""
    ARTIFACTS.mkdir(exist_ok=True)
    yield LabPage(page, notebook_server, ARTIFACTS)
    notebook_server.reset()


every_lesson = pytest.mark.parametrize("lesson", LESSONS)


@every_lesson
def test_in_jupyterlab_on_a_laptop_and_dark_on_a_projector(lab: LabPage, lesson: str) -> None:
    lab.open(f"{lesson}.ipynb")
    lab.run_all()
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        check_outputs(lab, f"{lesson}-{theme}")
    assert lab.errors == []


@every_lesson
def test_in_notebook_7(notebook_7: LabPage, lesson: str) -> None:
    notebook_7.open(f"{lesson}.ipynb")
    notebook_7.run_all()
    check_outputs(notebook_7, f"{lesson}-notebook7")
    assert set(notebook_7.errors) <= {_NOTEBOOK_7S_OWN}
