"""Every lesson in JupyterLab: its views appear on the first run, on a laptop and on a projector."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import LAPTOP, SMALL
from tests.ui.lab_page import LabPage

LESSONS = sorted(path.name for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.slow

#: What stands outside its cell's output, or shows nothing: one line for each.
_FAULTS = """
() => {
    const faults = [];
    for (const area of document.querySelectorAll('.jp-Cell .jp-OutputArea')) {
        const box = area.getBoundingClientRect();
        const cell = area.closest('.jp-Cell').dataset.windowedListIndex;
        for (const view of area.querySelectorAll('.vt')) {
            const {width, height, right} = view.getBoundingClientRect();
            const size = `${width} by ${height}`;
            if (width < 50 || height < 30) faults.push(`cell ${cell}: a view of ${size}`);
            if (right > box.right + 1) faults.push(`cell ${cell}: ${right - box.right} cut off`);
        }
        for (const canvas of area.querySelectorAll('.vt canvas')) {
            if (!canvas.width || !canvas.height || !canvas.checkVisibility()) continue;
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            if (!data.some(byte => byte)) faults.push(`cell ${cell}: a blank canvas`);
        }
        if (/Error displaying widget|model not found/.test(area.innerText))
            faults.push(`cell ${cell}: ${area.innerText}`);
    }
    return faults;
}
"""
_SETTLED = """
() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))
"""


def outputs(lab: LabPage) -> list[int]:
    """Return the cells that show something."""
    return lab.page.evaluate(
        """() => panel.content.widgets.flatMap((cell, index) =>
            (cell.model.outputs?.toJSON() ?? []).length ? [index] : [])"""
    )


def check_outputs(lab: LabPage, name: str) -> None:
    """Bring every output into view, hold it to be whole, and keep a picture of it."""
    shown = outputs(lab)
    assert shown
    for index in shown:
        lab.select_cell(index)
        lab.output(index).wait_for()
        lab.page.evaluate(_SETTLED)
        assert lab.page.evaluate(_FAULTS) == [], name
        lab.screenshot(f"{name}-{index:02}")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda name: name.removesuffix(".ipynb"))
def test_its_views_appear_on_the_first_run(lab: LabPage, lesson: str) -> None:
    lab.open(lesson)
    lab.run_all()
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        check_outputs(lab, f"{lesson.removesuffix('.ipynb')}-{theme}")
    assert lab.errors == []
