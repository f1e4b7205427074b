"""Between pictures of the explorer: marks move to their new places, and back from where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.hand_made_traces import make_trace
from tests.support.on_screen import show
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_pages import press
from viz_transformer.widgets.explorer import explore

MOTION_MS = 350
# The clock of motions stands still until it is set, and the curves of the last frame of marks are kept.
WATCHED = """() => {
    const [{bezierCurveTo, clearRect}, now] = [CanvasRenderingContext2D.prototype, performance.now()];
    window.clock = now;
    performance.now = () => window.clock;
    window.curves = [];
    const of = ({canvas}) => canvas.className === 'vt-passage';
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        if (of(this)) window.curves = [];
        return clearRect.apply(this, box);
    };
    CanvasRenderingContext2D.prototype.bezierCurveTo = function (...ends) {
        if (of(this)) window.curves.push([...ends, this.lineWidth]);
        return bezierCurveTo.apply(this, ends);
    };
}"""


def marks_after(root: Locator, ms: float) -> np.ndarray:
    """Let time pass, and return the marks in motion, in the order of their weights: curves and widths."""
    root.page.evaluate("(ms) => { window.clock += ms; }", ms)
    next_frames(root.page)
    return np.array(root.page.evaluate("window.curves"))  # [mark, 7]


@pytest.fixture
def root(kept_page: Page, tmp_path: Path) -> Iterator[Locator]:
    kept_page.emulate_media(reduced_motion="no-preference")
    root = show(kept_page, explore(make_trace(), picture="matrix"), tmp_path, "explorer")
    kept_page.evaluate(WATCHED)
    yield root
    kept_page.emulate_media(reduced_motion="reduce")


def test_marks_move_and_turn_back_from_where_they_are(root: Locator) -> None:
    overlay = root.locator(".vt-passage")
    expect(overlay).to_have_count(0)
    press(root, "Lines")
    expect(overlay).to_have_count(1)
    cells = marks_after(root, 0)
    assert len(cells) == (make_trace().cross_attention[0, 0] >= 0.01).sum()
    assert (cells[:, [1, 3]] == cells[:, [5]]).all()  # they set out as cells, which are level
    halfway = marks_after(root, MOTION_MS / 2)
    assert (np.abs(halfway - cells).max(axis=1) > 20).all()
    press(root, "Matrix")
    expect(root.locator(".vt-head canvas")).to_have_count(1)
    assert marks_after(root, 0) == pytest.approx(halfway, abs=0.5)
    marks_after(root, MOTION_MS)
    expect(overlay).to_have_count(0)
    expect(root.locator(".vt-head canvas")).to_have_css("opacity", "1")


@pytest.mark.parametrize("name", ["Lines", "All heads", "Table", "Linked", "Sentence"])
def test_every_picture_has_its_marks(root: Locator, name: str) -> None:
    for each in (name, "Matrix"):
        press(root, each)
        expect(root.locator(".vt-passage")).to_have_count(1)
        assert len(marks_after(root, MOTION_MS / 2))
        marks_after(root, MOTION_MS)
        expect(root.locator(".vt-passage")).to_have_count(0)


def test_where_motion_is_reduced_nothing_moves(root: Locator) -> None:
    root.page.emulate_media(reduced_motion="reduce")
    press(root, "Lines")
    expect(root.locator(".vt-words canvas")).to_have_count(1)
    assert not len(marks_after(root, 0))
    expect(root.locator(".vt-passage")).to_have_count(0)
