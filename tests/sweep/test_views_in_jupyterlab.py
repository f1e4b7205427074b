"""Every view once in JupyterLab: one notebook, a cell for each, in light and in dark."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.ui_jupyterlab import LabPage, next_frames
from tests.support.ui_lessons import open_curtains
from tests.support.ui_sweep import ROOT
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LAPTOP, SMALL, kernels_find_this_clone

#: What is wrong with the view of an output: its size, and by how much the output cuts it off.
FAULTS = """(view) => {
    const area = view.closest(".jp-OutputArea").getBoundingClientRect();
    const { width, height, right } = view.getBoundingClientRect();
    if (width < 50 || height < 30) return `a view of ${width} by ${height}`;
    if (right > area.right + 1) return `${right - area.right} pixels are cut off`;
    return "";
}"""


def test_every_view_is_drawn_in_light_and_in_dark(lab: LabPage) -> None:
    first = "from tests.support.ui_views import EVERY_VIEW"
    with kernels_find_this_clone():
        lab.open_cells(first, *(f"EVERY_VIEW[{name!r}]()" for name in EVERY_VIEW))
    lab.run_all()
    faults = {}
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        for index, name in enumerate(EVERY_VIEW, start=1):
            lab.select_cell(index)
            open_curtains(lab.page)  # of the predictions above, which are drawn by now
            view = lab.output(index).locator(ROOT).first
            expect(view).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
            next_frames(view)
            if fault := view.evaluate(FAULTS):
                faults[name, theme] = fault
            ground = view.evaluate("(view) => getComputedStyle(view).backgroundColor")
            is_light = sum(map(float, re.findall(r"[0-9.]+", ground)[:3])) > 400
            if is_light != (theme == "light"):
                faults[name, theme] = f"its background is {ground}"
    assert faults == {}
    assert lab.errors == []
