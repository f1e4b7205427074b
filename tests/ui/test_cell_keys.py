"""Shift+Enter after a click in a view or a prediction: the notebook moves on to the next cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.ui_explorer import MAKE, Explorer
from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_windows import guarded_lab, serving

CELLS = {
    "make": MAKE,
    "explorer": "ran = 0\nview = vt.explore(trace, kind='encoder')\nview",
    "stepper": "from viz_transformer.labs.attention_stepper import thinking_machines\nthinking_machines()",
    "choice": "choice = vt.predict_choice('Which?', ['a', 'b'], 'b')\nchoice",
    "number": "number = vt.predict_number('How many?', 20)\nnumber",
    "word": "vt.prediction(trace, 'Where?', kind='cross', layer=0, head=0, query='gato')",
    "next": "ran += 1",
}
NAMES = list(CELLS)


@pytest.fixture(scope="module", params=["jupyterlab", pytest.param("notebook", marks=pytest.mark.slow)])
def opened(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabPage]:
    """Return a notebook that has been run, in JupyterLab or in Notebook 7."""
    with ExitStack() as stack:
        if request.param == "jupyterlab":
            server = request.getfixturevalue("lab_server")
        else:
            server = stack.enter_context(serving(tmp_path_factory.mktemp(request.param), request.param))
        lab = stack.enter_context(guarded_lab(server, browser, service_workers="block"))
        lab.open_cells(*CELLS.values())
        lab.run_all()
        yield lab


def output(lab: LabPage, name: str) -> Locator:
    """The output of a cell that was just run again, in view and drawn."""
    lab.run_cell(NAMES.index(name))
    return lab.output(NAMES.index(name))


def moves_on(lab: LabPage, name: str) -> None:
    """Press Shift+Enter, and hold it to run this cell once and to choose the next one."""
    runs_cell(lab, name, "Shift+Enter", then=NAMES[NAMES.index(name) + 1])


def runs_cell(lab: LabPage, name: str, keys: str, *, then: str) -> None:
    """Press keys, and hold them to run this cell once and to choose the cell `then`."""
    index = NAMES.index(name)
    count = "(index) => panel.content.widgets[index].model.executionCount"
    before = lab.page.evaluate(count, index)
    lab.page.keyboard.press(keys)
    lab.page.wait_for_function(f"([index, before]) => ({count})(index) > before", arg=[index, before])
    assert lab.page.evaluate("panel.content.activeCellIndex") == NAMES.index(then)
    assert lab.page.evaluate("panel.content.mode") == "command"
    lab.text(index)
    assert lab.page.evaluate(count, index) == before + 1


def test_a_view_keeps_the_arrows_and_gives_shift_enter_away(opened: LabPage) -> None:
    explorer = Explorer(output(opened, "explorer"))
    explorer.wait_until_drawn()
    explorer.heads.focus()
    opened.page.keyboard.press("ArrowRight")
    opened.wait_for_value("view.head", 1)
    moves_on(opened, "explorer")


@pytest.mark.parametrize("control", ["button", "slider", "field"])
def test_every_control_gives_shift_enter_away(opened: LabPage, control: str) -> None:
    explorer = Explorer(output(opened, "explorer"))
    explorer.wait_until_drawn()
    options = explorer.root.get_by_role("button", name="Options", exact=True)
    options.click()
    find = {"slider": "slider", "field": "searchbox"}
    if control != "button":
        explorer.root.get_by_role(find[control]).first.focus()
    moves_on(opened, "explorer")


def test_a_button_that_disables_itself_leaves_the_focus_to_the_cell(opened: LabPage) -> None:
    shown = output(opened, "stepper")
    following = shown.get_by_role("button", name="Next →")
    while following.is_enabled():
        following.click()
        shown.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    moves_on(opened, "stepper")


def test_shift_enter_moves_on_from_a_choice_that_was_made(opened: LabPage) -> None:
    shown = output(opened, "choice")
    shown.get_by_role("button", name="b", exact=True).click()
    expect(shown).to_contain_text("You said b, and that is right.")
    expect(shown.get_by_role("button", name="a", exact=True)).to_be_disabled()
    moves_on(opened, "choice")


def test_shift_enter_moves_on_from_a_word_that_was_chosen(opened: LabPage) -> None:
    shown = output(opened, "word")
    shown.get_by_role("button", name="cat", exact=True).click()
    expect(shown).to_contain_text("You chose cat")
    moves_on(opened, "word")


def test_enter_submits_a_number_and_shift_enter_moves_on(opened: LabPage) -> None:
    shown = output(opened, "number")
    field = shown.get_by_role("textbox")
    field.click()
    opened.page.keyboard.type("many")
    opened.page.keyboard.press("Enter")
    alert = shown.get_by_role("alert")
    expect(alert).to_contain_text("a prediction is a number, not 'many'")
    expect(field).to_be_focused()
    field.press("Control+a")
    opened.page.keyboard.type("2")
    expect(alert).to_have_count(0)
    opened.page.keyboard.type("0.5")  # sent in pieces, the last of which come after Enter
    opened.page.keyboard.press("Enter")
    expect(shown).to_contain_text("You said 20.5; it is 20.")
    opened.wait_for_value("number.guess", 20.5)
    expect(field).to_be_disabled()
    moves_on(opened, "number")


def test_shift_enter_in_the_field_of_a_number_moves_on_without_an_answer(opened: LabPage) -> None:
    output(opened, "number").get_by_role("textbox").click()
    opened.page.keyboard.type("3")
    moves_on(opened, "number")
    opened.wait_for_value("number.guess", None)


def test_ctrl_enter_runs_the_cell_and_stays_there(opened: LabPage) -> None:
    explorer = Explorer(output(opened, "explorer"))
    explorer.wait_until_drawn()
    explorer.heads.focus()
    runs_cell(opened, "explorer", "Control+Enter", then="explorer")
