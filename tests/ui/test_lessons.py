"""Every lesson in JupyterLab: gone through by keyboard, each cell twice, and its views looked at and used."""

from __future__ import annotations

import pytest

from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_keyboard import walk
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import LAPTOP, SMALL


@pytest.mark.parametrize("lesson", LESSONS)
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
