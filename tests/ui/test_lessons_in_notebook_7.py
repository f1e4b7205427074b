"""Every lesson in Jupyter Notebook 7: its views appear on the first run, and answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from tests.support.ui_jupyterlab import LabPage, LabServer
from tests.support.ui_keyboard import walk
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import ROOT, serving

pytestmark = pytest.mark.slow

#: Notebook 7.6 says this of any notebook, an empty one as well.
_NOTEBOOK_7S_OWN = "Cannot read properties of undefined (reading 'schema')"
#: Gone through by keyboard: they ask in each way that the course asks. Of the others all cells run at once.
_BY_KEYBOARD = [name for name in LESSONS if name[:2] in ("01", "03")]


@pytest.fixture(scope="module")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one Notebook 7 for all lessons, which `lab` opens here in place of JupyterLab."""
    with serving(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


def ways_to_ask(lessons: Iterable[str]) -> set[str]:
    """The functions by which lessons ask for predictions."""
    texts = [(ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8") for lesson in lessons]
    return {name for text in texts for name in re.findall(r"vt\.(predict\w*)\(", text)}


def test_each_way_to_ask_is_answered_by_keyboard() -> None:
    assert len(ways_to_ask(LESSONS)) >= 4
    assert ways_to_ask(_BY_KEYBOARD) == ways_to_ask(LESSONS)


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
