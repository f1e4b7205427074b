"""A cell and a page's message: the second waits, so that neither finds the other's work half done."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.ui_jupyterlab import LabPage

STEPPER = """
import threading, time
import viz_transformer as vt
translator = vt.load_translator()
view = vt.attention_stepper(translator, "the black cat sleeps", query="gato", engine="kernel")
threads = set()
view.observe(lambda change: threads.add(threading.current_thread().name), "text")
view
"""
#: While a cell trains the model, no question may switch it to evaluating.
TRAIN = """
translator.model.train()
modes, end = set(), time.monotonic() + 5
print("computing", flush=True)
while time.monotonic() < end:
    modes.add(translator.model.training)
seen = (view.text, modes)
translator.model.eval();
"""
EXPLORER = """
import time
import numpy as np
import viz_transformer as vt
even = np.full((12, 12, 64, 64), 1 / 64, np.float32)
trace = vt.ForwardTrace(source_tokens=[f"w{i}" for i in range(64)], encoder_attention=even)
view = vt.explore(trace, wall=False)
answer, asked = view.answer, []
view.answer = lambda request: asked.append(request) or answer(request)
view
"""
#: Ends when the page has asked for something, or after a minute.
UNTIL_ASKED = """
before, end = len(asked), time.monotonic() + 60
print("computing", flush=True)
while len(asked) == before and time.monotonic() < end:
    time.sleep(0.01)
answered_meanwhile = len(asked) > before
"""


def start_cell(lab: LabPage, index: int) -> None:
    """Run a cell without waiting for its end, which `window.running` is."""
    lab.page.evaluate(
        """(index) => {
            panel.content.activeCellIndex = index;
            window.running = jupyterapp.commands.execute('notebook:run-cell');
        }""",
        index,
    )
    expect(lab.output(index)).to_contain_text("computing")


def test_a_request_to_a_model_waits_for_the_cell(lab: LabPage) -> None:
    lab.open_cells(STEPPER, TRAIN)
    lab.run_cell(0)
    root = lab.output(0).locator(".vt-stepper")
    # JupyterLab sends the first message to the thread of cells, and those after it to another.
    for head in (3, 1):
        root.get_by_label("head", exact=True).select_option(str(head))
        lab.wait_for_value("view.head", head)
    start_cell(lab, 1)
    root.get_by_role("button", name="Another sentence").click()
    field = root.get_by_label("Sentence", exact=True)
    for text in ("the dog runs", "the white cow does not sleep"):
        field.fill(text)
        field.press("Enter")
    lab.page.evaluate("() => window.running")
    lab.text(1)
    expect(root.locator(".vt-chip.vt-of-query")).to_have_text(
        ["la", "vaca", "blanca", "no", "duerme", "<eos>"]
    )
    lab.wait_for_value("view.text", "the white cow does not sleep")
    assert lab.value("seen") == ("the black cat sleeps", {True})
    assert lab.value("threads") == {"MainThread"}
    assert lab.errors == []


def test_a_request_for_stored_weights_is_answered_while_a_cell_runs(lab: LabPage) -> None:
    lab.open_cells(EXPLORER, UNTIL_ASKED)
    lab.run_cell(0)
    root = lab.output(0).locator(".vt-explorer")
    heads = root.locator(".vt-heads canvas")
    for head in (1, 2):
        heads.press("ArrowRight")
        lab.wait_for_value("view.head", head)
    start_cell(lab, 1)
    for key in ["ArrowRight", "ArrowDown"] * 3:  # beyond the neighbours, which the page may have
        heads.press(key)
    lab.page.evaluate("() => window.running")
    lab.text(1)
    assert lab.value("answered_meanwhile") is True
    expect(root.locator(".vt-title").first).to_contain_text("layer 3 · head 5")
    lab.wait_for_value("(view.layer, view.head)", (3, 5))
    assert lab.errors == []
