"""Saved notebooks that are opened again: before anything runs, each view is there or its picture.

JupyterLab writes an error line where it does not find a widget; no reader should meet it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.exported_pages import page_data
from tests.support.notebooks import CELLS
from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_windows import ROOT, guarded_lab
from viz_transformer.export.notebook import notebook_html

SHOWN = ("make", "explorer", "box", "again")
VIEWS = SHOWN[1:]
NOT_RUNNING = "not running"


def find_the_tests(lab: LabPage) -> None:
    """Let the kernel import this clone's tests."""
    lab.value(f"exec({f'import sys; sys.path.insert(0, {str(ROOT)!r})'!r})")


@pytest.fixture(scope="module")
def saved(lab_server: LabServer, browser: Browser) -> Path:
    """A notebook that JupyterLab ran and saved; its kernel has ended and its page is closed."""
    with guarded_lab(lab_server, browser, service_workers="block") as lab:
        lab.open_cells(*(CELLS[name] for name in SHOWN))
        find_the_tests(lab)
        lab.run_all()
        expect(output(lab, "again").locator(".square")).to_have_text("1 squared")
        for name in VIEWS:
            assert shows(lab, name) == {"live": 1, "pictures": 0, "notes": 0}
        lab.command("docmanager:save")
        return lab_server.root / lab.page.evaluate("panel.context.path")


@pytest.fixture
def reopen(saved: Path, lab_server: LabServer, lab: LabPage) -> Callable[..., LabPage]:
    """A function that opens a copy, with the widgets' state or without, trusted or not."""

    def open_copy(*, state: bool, trusted: bool) -> LabPage:
        notebook = nbformat.read(saved, as_version=4)
        if not state:
            del notebook.metadata["widgets"]
        path = lab_server.root / f"state_{state}_trusted_{trusted}.ipynb"
        nbformat.write(notebook, path)
        notary = NotebookNotary(data_dir=str(lab_server.root.parent / "data"))
        mark = notary.sign if trusted else notary.unsign
        mark(nbformat.read(path, as_version=4))
        lab.open(path.name)
        assert lab.page.evaluate("panel.content.widgets[1].model.trusted") is trusted
        return lab

    return open_copy


def output(lab: LabPage, name: str) -> Locator:
    """Bring the cell of this name into view; returns its output."""
    lab.select_cell(SHOWN.index(name))
    return lab.output(SHOWN.index(name))


def shows(lab: LabPage, name: str) -> dict[str, int]:
    """How many live views, pictures and notes of a cell can be seen."""
    shown = output(lab, name)
    parts = {"live": ".vt-root", "pictures": ".vt-still img", "notes": ".vt-still-note"}
    return {part: shown.locator(f"{where}:visible").count() for part, where in parts.items()}


def has_no_error_line(lab: LabPage) -> None:
    seen = lab.page.evaluate("document.querySelector('.jp-Notebook').innerText")
    for line in ("Error", "Loading widget", "object at 0x"):
        assert line not in seen


def is_live_when_run_again(lab: LabPage) -> None:
    """Run all cells: each view is there, and neither its picture nor a note."""
    find_the_tests(lab)
    lab.run_all()
    for name in VIEWS:
        expect(output(lab, name).locator(".vt-root")).to_be_visible()
        assert shows(lab, name) == {"live": 1, "pictures": 0, "notes": 0}
    has_no_error_line(lab)


def test_a_notebook_saved_without_its_state_shows_pictures(reopen: Callable[..., LabPage]) -> None:
    lab = reopen(state=False, trusted=True)
    for name in VIEWS:
        picture = output(lab, name).locator(".vt-still img")
        expect(picture).to_be_visible()
        assert picture.get_attribute("alt")
        assert picture.evaluate("(image) => image.naturalWidth") > 100
        expect(output(lab, name).locator(".vt-still-note")).to_contain_text(NOT_RUNNING)
        # The error line stands in the page, and takes no room.
        line = output(lab, name).get_by_text("model not found")
        expect(line).to_have_count(1)
        expect(line).to_be_hidden()
    has_no_error_line(lab)
    expect(output(lab, "box")).to_contain_text("English: the cat")
    is_live_when_run_again(lab)


def test_a_notebook_saved_with_its_state_shows_its_views(reopen: Callable[..., LabPage]) -> None:
    lab = reopen(state=True, trusted=True)
    for theme in ("light", "dark"):
        lab.set_theme(theme)
        for name in VIEWS:
            expect(output(lab, name).locator(".vt-root")).to_be_visible()
            assert shows(lab, name) == {"live": 1, "pictures": 0, "notes": 1}
            # ipywidgets' red mark of a widget without its kernel is our sentence instead.
            marks = (
                output(lab, name)
                .locator(".jupyter-widgets-disconnected")
                .evaluate_all("(nodes) => nodes.map((node) => getComputedStyle(node, '::before').content)")
            )
            assert set(marks) == {"none"}
    has_no_error_line(lab)
    is_live_when_run_again(lab)


def test_an_untrusted_notebook_shows_static_pictures(reopen: Callable[..., LabPage]) -> None:
    for state in (True, False):
        lab = reopen(state=state, trusted=False)
        for name in VIEWS:
            picture = output(lab, name).locator("figure img")
            expect(picture).to_be_visible()
            assert picture.get_attribute("alt")
            expect(output(lab, name)).to_contain_text(NOT_RUNNING)
            expect(output(lab, name).locator(".vt-root")).to_have_count(0)
        has_no_error_line(lab)


@pytest.mark.slow
def test_a_notebook_saved_by_jupyterlab_is_exported(saved: Path, page: Page, tmp_path: Path) -> None:
    told: list[str] = []
    path = notebook_html(saved, tmp_path / "page.html", tell=told.append)
    assert len(page_data(path)["views"]) == 1
    page.goto(path.as_uri())
    expect(page.locator(".vt-explorer .vt-title").first).to_contain_text("layer 1 · head 0")
    # The page takes no script of a view that the notebook itself has defined.
    assert "the script of Square (1)" in told[0]
    expect(page.locator(".square")).to_have_count(0)
    expect(page.get_by_text("saved without its state, or by another version")).to_have_count(2)
