"""Views that are used for long hold no more than before; a leak would be seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from benchmarks.long_use import MARGIN, used_in_page
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.export import export_html

pytestmark = pytest.mark.slow  # three views, about five seconds each

STOPS = (100, 300)
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


@pytest.mark.parametrize("name", ["softmax lab", "explorer"])
def test_what_a_view_holds_does_not_grow_with_use(page: Page, tmp_path: Path, name: str) -> None:
    before, after = used_in_page(page, export_html(EVERY_VIEW[name](), tmp_path / "page.html"), STOPS)
    assert after.nodes <= before.nodes
    assert after.listeners <= before.listeners
    assert after.growth(before) <= MARGIN


def test_a_leak_is_seen(new_page: Callable[..., Page], tmp_path: Path) -> None:
    page = new_page()
    page.add_init_script(LEAK)
    before, after = used_in_page(
        page, export_html(EVERY_VIEW["softmax lab"](), tmp_path / "page.html"), STOPS
    )
    assert after.nodes > before.nodes + 50
    assert after.listeners > before.listeners + 50
    assert after.growth(before) > MARGIN
