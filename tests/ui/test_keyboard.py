"""A notebook gone through by keyboard; `test_lessons` goes through every lesson in this way."""

from __future__ import annotations

from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_keyboard import walk

#: The answers have names, so they are there again when Shift+Enter runs their cell to move on.
SHORT = (
    "import viz_transformer as vt",
    "from viz_transformer.labs.attention_stepper import thinking_machines\nthinking_machines()",
    "choice = vt.predict_choice('Which?', ['a', 'b'], 'b', name='walk.p1')\nchoice",
    "number = vt.predict_number('How many?', 20, name='walk.p2')\nnumber",
    "row = vt.predict_row('Where?', ['el', 'gato'], [0.1, 0.9], name='walk.p3')\nrow",
    "done = True",
)


def test_a_short_notebook_needs_no_mouse(kept_lab: LabPage) -> None:
    kept_lab.open_cells(*SHORT)
    assert walk(kept_lab) == 3
    assert kept_lab.value("choice.guess, number.guess") == ("b", 1.0)
    assert kept_lab.value("row.guess")[1] == 1.0
