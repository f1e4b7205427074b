"""JupyterLab: views on the first run, keys in views and predictions, and what the tests' own tools refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.on_screen import type_text
from tests.support.ui_explorer import MAKE, Explorer
from tests.support.ui_jupyterlab import LabPage, guard
from tests.support.ui_keyboard import walk
from tests.support.ui_windows import kernels_find_this_clone

STEPPER = "from viz_transformer.widgets.attention_stepper.live import thinking_machines\nthinking_machines()"
CELLS = {
    "make": MAKE,
    "explorer": "ran = 0\nview = vt.explore(trace, kind='encoder')\nview",
    "stepper": STEPPER,
    "choice": "choice = vt.predict_choice('Which?', ['a', 'b'], 'b')\nchoice",
    "number": "number = vt.predict_number('How many?', 20)\nnumber",
    "word": "vt.prediction(trace, 'Where?', kind='cross', layer=0, head=0, query='gato')",
    "next": "ran += 1",
}
NAMES = list(CELLS)
#: The answers have names, so they are there again when Shift+Enter runs their cell to move on.
SHORT = (
    "import viz_transformer as vt",
    STEPPER,
    "choice = vt.predict_choice('Which?', ['a', 'b'], 'b', name='walk.p1')\nchoice",
    "number = vt.predict_number('How many?', 20, name='walk.p2')\nnumber",
    "row = vt.predict_row('Where?', ['el', 'gato'], [0.1, 0.9], name='walk.p3')\nrow",
    "done = True",
)

#: Whether a cell's view is in sight; questions above, asked again when their cells run, are skipped.
IN_SIGHT = """
index => {
    const isSeen = (each) => each?.checkVisibility({visibilityProperty: true}) ?? false;
    [...document.querySelectorAll('.vt-awaiting .vt-skip')].filter(isSeen).forEach(skip => skip.click());
    return isSeen(panel.content.widgets[index].node.querySelector('.vt-root[data-vt-drawn]'));
}
"""


@pytest.fixture(scope="module")
def opened(kept_lab: LabPage) -> LabPage:
    """Return a notebook that has been run."""
    kept_lab.open_cells(*CELLS.values())
    kept_lab.run_all()
    return kept_lab


def output(lab: LabPage, name: str) -> Locator:
    """The output of a cell that was just run again, in view and drawn."""
    index = NAMES.index(name)
    lab.run_cell(index)
    lab.page.wait_for_function(IN_SIGHT, arg=index)
    return lab.output(index)


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


def test_a_view_is_linked_to_the_kernel_and_shift_enter_moves_on_from_it(opened: LabPage) -> None:
    explorer = Explorer(output(opened, "explorer"))
    explorer.wait_until_drawn()
    explorer.heads.focus()
    opened.page.keyboard.press("ArrowRight")  # the view's own key
    opened.wait_for_value("view.head", 1)
    opened.value("view.set_trait('head', 0)")
    expect(explorer.title).to_contain_text("head 0")
    moves_on(opened, "explorer")
    for control in ("button", "slider", "searchbox"):
        explorer = Explorer(output(opened, "explorer"))
        explorer.wait_until_drawn()
        explorer.root.get_by_role("button", name="Options", exact=True).click()
        if control != "button":
            explorer.root.get_by_role(control).first.focus()
        moves_on(opened, "explorer")

    explorer = Explorer(output(opened, "explorer"))
    explorer.wait_until_drawn()
    explorer.heads.focus()
    runs_cell(opened, "explorer", "Control+Enter", then="explorer")

    shown = output(opened, "stepper")
    following = shown.get_by_role("button", name="Forward")
    while following.is_enabled():
        following.click()
        shown.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    moves_on(opened, "stepper")  # the button has disabled itself
    assert opened.errors == []


def test_predictions_are_made_by_enter_and_shift_enter_moves_on(opened: LabPage) -> None:
    shown = output(opened, "choice")
    shown.get_by_role("button", name="b", exact=True).click()
    expect(shown).to_contain_text("✓ Right. You said b.")
    expect(shown.get_by_role("button", name="a", exact=True)).to_have_count(0)
    moves_on(opened, "choice")

    output(opened, "number").get_by_role("textbox").click()
    opened.page.keyboard.type("3")
    moves_on(opened, "number")  # without an answer
    opened.wait_for_value("number.guess", None)

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
    expect(field).to_have_count(0)
    moves_on(opened, "number")

    shown = output(opened, "word")
    shown.get_by_role("button", name="cat", exact=True).click()
    expect(shown).to_contain_text("You chose “cat”")
    moves_on(opened, "word")
    assert opened.errors == []


# The tests below open notebooks of their own, in place of `opened`.


def test_run_all_hides_what_would_answer_a_prediction_and_leaves_the_code(kept_lab: LabPage) -> None:
    kept_lab.open_cells(
        "import viz_transformer as vt\nvt.predict_number('How many?', 20)",
        "print('there are', 'twenty')",
        "silent = 20",
        "vt.predict_choice('Which?', ['a', 'b'], 'b')",
        "print('it is', 'b')",
        "1 / 0",
    )
    kept_lab.command("notebook:run-all-cells")
    page = kept_lab.page
    answer, second = page.get_by_text("there are twenty"), page.get_by_text("it is b")
    shown = page.get_by_role("button", name="show anyway")
    expect(shown.locator("visible=true")).to_have_count(4)  # a cell without an output hides nothing
    expect(answer).to_be_hidden()
    expect(page.locator(".jp-CodeCell .jp-InputArea").nth(1)).to_be_visible()
    expect(page.get_by_text("ZeroDivisionError").first).to_be_visible()  # an error is never hidden
    shown.first.focus()
    page.keyboard.press("Enter")
    expect(answer).to_be_visible()
    assert page.evaluate("panel.content.mode") == "command"
    expect(second).to_be_hidden()  # behind the second question
    output = page.locator(".vt-prediction").nth(1)
    output.get_by_role("button", name="b", exact=True).click()
    expect(second).to_be_visible()
    expect(page.locator(".vt-prediction-note, .vt-curtained")).to_have_count(0)


@pytest.mark.slow
def test_a_short_notebook_needs_no_mouse(kept_lab: LabPage) -> None:
    kept_lab.open_cells(*SHORT)
    assert walk(kept_lab) == 3
    assert kept_lab.value("choice.guess, number.guess") == ("b", 1.0)
    assert kept_lab.value("row.guess")[1] == 1.0
    with pytest.raises(AssertionError, match="ZeroDivisionError"):  # so a cell that raises would be told
        kept_lab.run("1 / 0")


def test_after_a_restart_the_page_goes_on(lab: LabPage) -> None:
    lab.open_cells(MAKE, CELLS["explorer"])
    lab.run_all()
    lab.restart_kernel()
    assert lab.run("print('alive')") == "alive\n"
    lab.run_all()
    Explorer(lab.output(1)).wait_until_drawn()
    lab.output(1).locator(".vt-heads canvas").press("ArrowRight")
    lab.wait_for_value("view.head", 1)
    assert lab.errors == []


DRAWN_LABS = """
import viz_transformer as vt
from tests.support.hand_made_starts import hand_made_starts
machine = vt.model_summary_lab()
block = vt.block_lab(vt.load_translator(), changed=2)
starts = vt.initial_loss_lab(hand_made_starts(), sentence=0, place=1)
"""


def test_choices_in_a_drawn_lab_reach_python_and_the_page(lab: LabPage) -> None:
    with kernels_find_this_clone():
        lab.open_cells(DRAWN_LABS, "machine", "block", "starts")
        lab.run_all()
    machine, block, starts = (lab.output(cell) for cell in (1, 2, 3))
    machine.locator(".vt-sheet-handle").click()  # a narrow cell has its controls in a sheet
    machine.get_by_role("slider", name="heads").press("End")
    lab.wait_for_value("machine.n_heads", 16)
    lab.run("machine.choose(d_model=32, n_heads=4, d_ff=64, n_layers=2)")
    expect(machine).to_contain_text("43,104 parameters")

    type_text(block, "the cat")
    lab.wait_for_value("block.sentence", "the cat")
    lab.run("block.changed, block.layer = 0, 0")
    expect(block.locator(".vt-headline")).to_contain_text("Reverse the vector of the:")
    expect(block.get_by_role("button", name="block 0")).to_have_attribute("aria-pressed", "true")

    starts.get_by_role("slider", name="standard deviation of the embeddings").first.press("End")
    lab.wait_for_value("starts.std", 2.0)
    lab.run("starts.std = 0.005")
    expect(starts).to_contain_text("Loss 2.5;")
    assert lab.errors == []


def test_a_request_that_would_leave_the_machine_is_refused_and_counted(
    browser: Browser, tmp_path: Path
) -> None:
    """The guard is what "nothing is fetched" rests on, so it is tried on a page that does fetch."""
    page_file = tmp_path / "leaks.html"
    page_file.write_text(
        "<script src='https://example.org/a.js'></script><img src='http://example.org/b.png'>"
        "<script>new WebSocket('ws://example.org/c'); fetch('//example.org/d').catch(() => 0)"
        "</script><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
    )
    context = browser.new_context()
    left = guard(context)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_load_state("networkidle")
    context.close()
    assert {url.rpartition("/")[2] for url in left} >= {"a.js", "b.png", "c"}


def test_the_top_of_a_new_view_comes_into_sight_after_shift_enter(lab: LabPage) -> None:
    filler = "\n".join(f"# line {n}" for n in range(25))
    lab.page.set_viewport_size({"width": 1280, "height": 720})
    lab.open_cells(f"{MAKE}\n{filler}", "vt.explore(trace, kind='encoder')", filler, "ran = 1", filler)
    lab.select_cell(0)
    lab.page.keyboard.press("Shift+Enter")
    lab.page.keyboard.press("Shift+Enter")
    view = lab.output(1).locator(".vt-explorer")
    expect(view).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    lab.page.wait_for_function(
        """() => {
            const view = document.querySelector('.vt-explorer').getBoundingClientRect();
            const window = document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
            return view.top >= window.top && view.top < window.top + window.height / 2;
        }"""
    )
    assert lab.errors == []
