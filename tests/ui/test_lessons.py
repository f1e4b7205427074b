"""Every lesson in JupyterLab and in Notebook 7: gone through by keyboard, and its views looked at and used.

Two lessons in JupyterLab are slow tests, the others and Notebook 7 are weekly.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_keyboard import walk
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import LAPTOP, SMALL, guarded_lab, serving

#: The first, with all that a learner meets there, and the one with the most labs.
SLOW = ("01_which_head_attends_where", "08_masks")
#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"


@pytest.mark.parametrize(
    "lesson", [pytest.param(each, marks=() if each in SLOW else pytest.mark.weekly) for each in LESSONS]
)
def test_by_keyboard_then_on_a_laptop_and_dark_on_a_projector(lab: LabPage, lesson: str) -> None:
    """Each cell runs twice without an error while the exercises are unanswered."""
    lab.open(f"{lesson}.ipynb")
    assert walk(lab, twice=True)
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        check_outputs(lab, f"{lesson}-{theme}")
    assert check_answers(lab, lesson)
    assert lab.errors == []


@pytest.fixture(scope="module")
def notebook_7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 for all lessons."""
    with serving(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


@pytest.mark.weekly
@pytest.mark.parametrize("lesson", LESSONS)
def test_by_keyboard_in_notebook_7(notebook_7: LabServer, browser: Browser, lesson: str) -> None:
    with guarded_lab(notebook_7, browser, service_workers="block") as lab:
        lab.open(f"{lesson}.ipynb")
        assert walk(lab)
        check_outputs(lab, f"{lesson}-notebook7")
        assert check_answers(lab, lesson)
        assert [error for error in lab.errors if _NOTEBOOK_7S_OWN not in error] == []
