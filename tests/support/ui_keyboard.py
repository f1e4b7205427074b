"""A notebook gone through by keyboard: each cell is run, and each prediction answered on the way."""

from __future__ import annotations

from tests.support.ui_jupyterlab import LabPage

_STATE = """
() => ({at: panel.content.activeCellIndex, mode: panel.content.mode,
        of: panel.content.widgets.filter(cell => cell.model.sharedModel.getSource().trim()).length})
"""
_COUNT = "index => panel.content.widgets[index].model.executionCount ?? 0"
_IS_CODE = "index => panel.content.widgets[index].model.type === 'code'"
_ASKS = "index => /vt\\.predict/.test(panel.content.widgets[index].model.sharedModel.getSource())"
_ANSWERS = ".vt-prediction .vt-answers button, .vt-prediction .vt-answers input"
#: What has the focus: a control's type if it answers a prediction of this cell, else nothing.
_FOCUSED = """
index => {
    const cell = document.activeElement?.closest('.jp-Cell');
    if (cell?.dataset.windowedListIndex !== String(index)) return '';
    return document.activeElement.closest('.vt-answers') ? document.activeElement.type : '';
}
"""
#: Shift+Tab goes from the next cell back into the view; a view with many controls needs many.
_MOST_TABS = 40
#: A lesson's training may take three minutes of a processor, which others may need as well.
_LONGEST_CELL_MS = 900_000


def walk(lab: LabPage, *, twice: bool = False) -> int:
    """Go through the open notebook, and return how many predictions were answered on the way.

    Shift+Enter runs each cell and moves on, also after an answer; `twice`: Ctrl+Enter runs it first.
    """
    lab.page.evaluate("() => { panel.content.activeCellIndex = 0; panel.content.node.focus(); }")
    n_answered = 0
    for index in range(lab.page.evaluate(_STATE)["of"]):
        if twice and lab.page.evaluate(_IS_CODE, index):
            _run(lab, index, "Control+Enter", then=index)
        _run(lab, index, "Shift+Enter", then=index + 1)
        if _answer(lab, index):
            n_answered += 1
            _run(lab, index, "Shift+Enter", then=index + 1)  # inside the view
    return n_answered


def _run(lab: LabPage, index: int, keys: str, *, then: int) -> None:
    """Press keys that run a cell, and hold them to choose a cell; the cell must not raise."""
    before = lab.page.evaluate(_COUNT, index)
    lab.page.keyboard.press(keys)
    lab.page.wait_for_function("index => panel.content.activeCellIndex === index", arg=then)
    if lab.page.evaluate(_IS_CODE, index):
        lab.page.wait_for_function(
            f"([index, before]) => ({_COUNT})(index) > before", arg=[index, before], timeout=_LONGEST_CELL_MS
        )
    lab.text(index)  # raises if the cell did
    state = lab.page.evaluate(_STATE)
    assert state["at"] == then, f"cell {index}"
    # After the last cell a new one is opened, to be written in.
    assert state["mode"] == ("command" if then < state["of"] else "edit"), f"cell {index}"


def _answer(lab: LabPage, index: int) -> bool:
    """Answer a cell's prediction, which ran, with the keyboard alone; return whether it has one."""
    if not lab.page.evaluate(_ASKS, index):
        return False
    lab.output(index).locator(_ANSWERS).first.wait_for()
    keyboard = lab.page.keyboard
    for _ in range(_MOST_TABS):
        keyboard.press("Shift+Tab")
        if lab.page.evaluate(_FOCUSED, index):
            break
    if lab.output(index).locator(".vt-answers input").count():
        keyboard.press("Shift+Tab")  # from the button that submits to the field or slider before it
        if lab.page.evaluate(_FOCUSED, index) == "range":
            keyboard.press("End")
            keyboard.press("ArrowLeft")
            keyboard.press("Tab")
        else:
            keyboard.type("1")
    keyboard.press("Enter")
    lab.output(index).locator(".vt-verdict").first.wait_for()
    return True
