"""Every lesson in JupyterLab: its views appear on the first run, light and dark, and answer."""

from __future__ import annotations

import pytest

from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_lessons import LESSONS, check_answers, check_outputs
from tests.support.ui_windows import LAPTOP, SMALL


@pytest.mark.parametrize("lesson", LESSONS)
def test_on_a_laptop_and_dark_on_a_projector(lab: LabPage, lesson: str) -> None:
    lab.open(f"{lesson}.ipynb")
    lab.run_all()
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        check_outputs(lab, f"{lesson}-{theme}")
    assert check_answers(lab, lesson)
    assert lab.errors == []
