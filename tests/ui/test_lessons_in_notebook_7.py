"""Every lesson in Jupyter Notebook 7: its views appear on the first run, and answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_keyboard import walk
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import serving

pytestmark = pytest.mark.slow

#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"
#: These are gone through by keyboard; of the others all cells are run at once.
_BY_KEYBOARD = LESSONS[:2]


@pytest.fixture(scope="module")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 for all lessons, which `lab` opens here in place of JupyterLab."""
    with serving(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


@pytest.mark.parametrize("lesson", LESSONS)
def test_on_a_laptop(lab: LabPage, lesson: str) -> None:
    lab.open(f"{lesson}.ipynb")
    if lesson in _BY_KEYBOARD:
        assert walk(lab)
    else:
        lab.run_all()
    check_outputs(lab, f"{lesson}-notebook7")
    assert check_answers(lab, lesson)
    assert set(lab.errors) <= {_NOTEBOOK_7S_OWN}
