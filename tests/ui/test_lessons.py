"""Every lesson in JupyterLab: its views appear on the first run, light and dark, and answer."""

from __future__ import annotations

import pytest

from tests.ui.conftest import LAPTOP, SMALL
from tests.ui.lab_page import LabPage
from tests.ui.lesson_views import LESSONS, check_answers, check_outputs


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
