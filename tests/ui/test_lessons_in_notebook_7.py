"""Every lesson in Jupyter Notebook 7: gone through by keyboard, and its views looked at and used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_keyboard import walk
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import serving

#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"


@pytest.fixture(scope="module")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 for all lessons, which `lab` opens here in place of JupyterLab."""
    with serving(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


@pytest.mark.parametrize("lesson", LESSONS)
def test_by_keyboard_on_a_laptop(lab: LabPage, lesson: str) -> None:
    """Its views appear on the first run, and answer."""
    lab.open(f"{lesson}.ipynb")
    assert walk(lab)
    check_outputs(lab, f"{lesson}-notebook7")
    assert check_answers(lab, lesson)
    assert set(lab.errors) <= {_NOTEBOOK_7S_OWN}
