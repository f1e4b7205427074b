"""The lessons in Jupyter Notebook 7: their views appear on the first run there, too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import ARTIFACTS, ROOT
from tests.ui.lab_page import LabPage, LabServer
from tests.ui.test_lessons import LESSONS, check_outputs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 with a copy of the lessons in its folder."""
    with LabServer(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        shutil.copytree(ROOT / "notebooks", server.root, dirs_exist_ok=True)
        yield server


@pytest.fixture
def notebook(notebook_server: LabServer, page: Page) -> Iterator[LabPage]:
    ARTIFACTS.mkdir(exist_ok=True)
    yield LabPage(page, notebook_server, ARTIFACTS)
    notebook_server.reset()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda name: name.removesuffix(".ipynb"))
def test_its_views_appear_on_the_first_run(notebook: LabPage, lesson: str) -> None:
    notebook.open(lesson)
    notebook.run_all()
    check_outputs(notebook, lesson.removesuffix(".ipynb") + "-notebook7")
    assert notebook.errors == []
