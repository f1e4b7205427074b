"""A hundred views in one notebook: each is drawn when it is seen, and those out of sight hold no pixels."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.ui_jupyterlab import LabPage

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


@pytest.mark.weekly
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
