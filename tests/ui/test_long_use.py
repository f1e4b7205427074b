"""Views that are used for long hold no more than before; a leak would be seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from benchmarks.long_use import used_in_page
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.export import export_html

pytestmark = pytest.mark.slow  # three views, about five seconds each

STOPS = (100, 300)
#: In bytes; less is what the browser makes of scripts that run often.
A_LEAK = 1_000_000
#: Nodes and listeners; fewer may be made later than the first hundred interactions.
SOME = 60
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
    path = export_html(EVERY_VIEW[name](), tmp_path / "page.html")
    (before, after), errors = used_in_page(page, path, STOPS)
    assert errors == []
    assert after.nodes < before.nodes + SOME
    assert after.listeners < before.listeners + SOME
    assert after.heap - before.heap < A_LEAK


def test_a_leak_is_seen(new_page: Callable[..., Page], tmp_path: Path) -> None:
    page = new_page()
    page.add_init_script(LEAK)
    path = export_html(EVERY_VIEW["softmax lab"](), tmp_path / "page.html")
    (before, after), _ = used_in_page(page, path, STOPS)
    assert after.nodes > before.nodes + SOME
    assert after.listeners > before.listeners + SOME
    assert after.heap - before.heap > A_LEAK
