"""Every lesson in JupyterLab: its views appear on the first run, on a laptop and on a projector."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import LAPTOP, SMALL
from tests.ui.lab_page import LabPage

LESSONS = sorted(path.name for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

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


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda name: name.removesuffix(".ipynb"))
def test_its_views_appear_on_the_first_run(lab: LabPage, lesson: str) -> None:
    lab.open(lesson)
    lab.run_all()
    name = lesson.removesuffix(".ipynb")
    outputs = lab.page.evaluate(
        """() => panel.content.widgets.flatMap((cell, index) =>
            (cell.model.outputs?.toJSON() ?? []).length ? [index] : [])"""
    )
    assert outputs
    for theme, size in (("light", LAPTOP), ("dark", SMALL)):
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        for index in outputs:
            lab.select_cell(index)
            lab.output(index).wait_for()
            lab.page.evaluate(_SETTLED)
            assert lab.page.evaluate(_FAULTS) == [], f"{theme}, {size}"
            lab.screenshot(f"{name}-{index:02}-{theme}")
    assert lab.errors == []
