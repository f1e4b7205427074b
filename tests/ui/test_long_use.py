"""Views that are used for long hold no more than before, and many views hold the pixels of a few.

`python -m benchmarks long_use` and `long_use_kernel` do this for every view, 2,000 times each.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.long_use import MARGIN, SEED, growths, use, used_in_page
from benchmarks.long_use_kernel import BACKLOG, make, show, until_answered, used_in_notebook
from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import kernels_find_this_clone
from viz_transformer.export import export_html

pytestmark = pytest.mark.weekly

STOPS = (150, 250, 350, 450)
#: What a view does that forgets nothing: each key and click leaves a node, a listener and an array.
LEAK = """
globalThis.leaked = [];
for (const type of ["keydown", "click", "input"])
    addEventListener(type, () => {
        const node = document.createElement("p");
        node.addEventListener("click", () => leaked.length);
        leaked.push(node, new Float64Array(2000).fill(leaked.length));
    }, true);
"""


def test_the_memory_of_a_view_does_not_grow_with_use(page: Page, tmp_path: Path) -> None:
    for name in ("softmax lab", "explorer"):
        path = export_html(EVERY_VIEW[name](), tmp_path / "page.html")
        rounds, errors = used_in_page(page, path, STOPS)
        assert errors == [], name
        assert max(growths(rounds).values()) < MARGIN, name


def test_a_leak_is_seen(new_page: Callable[..., Page], tmp_path: Path) -> None:
    page = new_page()
    page.add_init_script(LEAK)
    path = export_html(EVERY_VIEW["softmax lab"](), tmp_path / "page.html")
    rounds, _ = used_in_page(page, path, STOPS)
    assert min(growths(rounds).values()) > 2 * MARGIN


def test_the_memory_of_a_kernel_does_not_grow_with_use(lab: LabPage) -> None:
    with kernels_find_this_clone():
        used, backlog = used_in_notebook(lab, "head lab", STOPS)
    assert used.errors == []
    assert used.growth() < MARGIN
    assert backlog < STOPS[0] / 5  # questions that nobody waits for any more are not sent


@pytest.mark.parametrize("name", ["head lab", "beam stepper", "block lab", "architecture"])
def test_outdated_requests_are_not_sent(lab: LabPage, name: str) -> None:
    """A kernel that answers nothing meanwhile: how many messages wait does not depend on its speed."""
    with kernels_find_this_clone():
        make(lab, name)
        show(lab)
        until_answered(lab.page)
        kernel = lab.value("session.pid")
        os.kill(kernel, signal.SIGSTOP)
        try:
            use(lab.page, SEED, STOPS[0])
            waiting = lab.page.evaluate(BACKLOG)
        finally:
            os.kill(kernel, signal.SIGCONT)
        until_answered(lab.page)
    assert 0 < waiting <= 3  # a change, a sentence that was submitted, and a question of the picture's
    assert lab.errors == []


def test_memory_allocated_once_is_no_leak() -> None:
    assert growths([{"heap": 100}, {"heap": 150}, {"heap": 151}, {"heap": 152}]) == {"heap": 0.03}
    assert growths([{"nodes": 100}, {"nodes": 150}, {"nodes": 90}]) == {"nodes": 0}


COUNT = 100
#: All at once, which is harder for the page than a cell each.
HUNDRED = f"""
import ipywidgets, numpy as np
import viz_transformer as vt
tokens = "the black cat that the dog saw is very tired".split()
attention = np.full((4, 8, 10, 10), 0.1, np.float32)
trace = vt.ForwardTrace(source_tokens=tokens, encoder_attention=attention)
box = ipywidgets.VBox([vt.explore(trace, layer=i % 4) for i in range({COUNT})])
box
"""
DRAWN = "[...document.querySelectorAll('.vt-explorer')].filter(({ dataset }) => dataset.vtDrawn > 0).length"
#: Bytes of all canvases in the page, and how many of a view's canvases have pixels.
PIXELS = """(nodes) => nodes.reduce((sum, { width, height }) => sum + 4 * width * height, 0)"""


def test_a_hundred_views_are_all_drawn_and_hold_the_pixels_of_a_few(lab: LabPage) -> None:
    lab.open_cells(HUNDRED)
    lab.run_all()
    lab.page.wait_for_function(f"{DRAWN} === {COUNT}")
    views = lab.page.locator(".vt-explorer")
    canvases = lab.page.locator(".vt-explorer canvas")
    views.first.scroll_into_view_if_needed()
    of_one = views.first.locator("canvas").evaluate_all(PIXELS)
    for number in (0, 49, 99, 10):
        view = views.nth(number)
        view.scroll_into_view_if_needed()
        expect(view.locator(".vt-title").first).to_contain_text(f"layer {number % 4}")
        canvas = view.locator("canvas").first.element_handle()
        lab.page.wait_for_function("(canvas) => canvas.width > 0", arg=canvas)
        assert 0 < canvases.evaluate_all(PIXELS) <= 10 * of_one
    lab.run(f"box.children[{COUNT - 1}].head = 3")
    views.nth(COUNT - 1).scroll_into_view_if_needed()
    expect(views.nth(COUNT - 1).locator(".vt-title").first).to_contain_text("head 3")
    assert lab.errors == []
