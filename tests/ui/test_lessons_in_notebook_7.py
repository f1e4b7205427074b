"""Every lesson in Jupyter Notebook 7: its views appear on the first run, and answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import ARTIFACTS, serving

pytestmark = pytest.mark.slow

#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"


@pytest.fixture(scope="module")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 for all lessons."""
    with serving(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


@pytest.fixture
def notebook_7(notebook_server: LabServer, page: Page) -> Iterator[LabPage]:
    """Return Jupyter Notebook 7 in a page of its own."""
    ARTIFACTS.mkdir(exist_ok=True)
    yield LabPage(page, notebook_server, ARTIFACTS)
    notebook_server.reset()


@pytest.mark.parametrize("lesson", LESSONS)
def test_on_a_laptop(notebook_7: LabPage, lesson: str) -> None:
    notebook_7.open(f"{lesson}.ipynb")
    notebook_7.run_all()
    check_outputs(notebook_7, f"{lesson}-notebook7")
    assert check_answers(notebook_7, lesson)
    assert set(notebook_7.errors) <= {_NOTEBOOK_7S_OWN}
