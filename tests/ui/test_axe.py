"""Accessibility: axe-core finds nothing serious in any view, whatever it has open, in any colours.

axe-core (MPL-2.0, tests/ui/vendor) reads what the browser has laid out. What is drawn on a canvas
it cannot read; the views' own tests hold their colours and their readouts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.ui_views import EVERY_VIEW, class_names
from tests.support.ui_windows import LAPTOP, keep_picture
from viz_transformer.export import export_html

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
SERIOUS = ["serious", "critical"]
#: The colours in which a view is opened, and those that the reader then switches to.
COLOURS = {
    "light": [{"color_scheme": "light"}],
    "dark": [{"color_scheme": "dark"}, {"color_scheme": "dark", "forced_colors": "active"}],
}
#: Waits until what was changed is drawn.
FRAMES = "async () => { for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame); }"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that exports a kind of view, once."""
    folder = tmp_path_factory.mktemp("axe")

    def export(name: str) -> Path:
        path = folder / f"{name}.html"
        return path if path.exists() else export_html(EVERY_VIEW[name](), path, title=name)

    return export


def findings(page: Page) -> list[dict[str, Any]]:
    """What axe-core holds for serious or critical, with the elements that it is about."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{AXE.read_text(encoding='utf-8')};\nnull")  # null: axe itself is no answer
    return page.evaluate(
        """async (serious) => {
            const { violations } = await axe.run({ resultTypes: ["violations"] });
            return violations.filter(({ impact }) => serious.includes(impact)).map((found) => ({
                rule: found.id,
                elements: found.nodes.slice(0, 5).map((node) => node.html.slice(0, 160)),
                why: found.nodes[0].failureSummary,
            }));
        }""",
        SERIOUS,
    )


def open_all(page: Page) -> None:
    """Press every button that shows or hides a part."""
    page.evaluate(
        """() => {
            const closed = ".vt button[aria-expanded='false'], .vt details:not([open]) > summary";
            document.querySelectorAll(closed).forEach((button) => button.click());
        }"""
    )


def check(page: Page, colours: str) -> None:
    """Hold a page to what axe-core asks, in one set of colours after the other."""
    for each in COLOURS[colours]:
        page.emulate_media(**each)
        page.evaluate(FRAMES)
        assert (found := findings(page)) == [], json.dumps(found, indent=1)


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EVERY_VIEW)
def test_axe_finds_nothing_serious(page: Page, pages: Callable[[str], Path], name: str, colours: str) -> None:
    page.set_viewport_size(LAPTOP)
    page.emulate_media(**COLOURS[colours][0])
    page.goto(pages(name).as_uri())
    view = page.locator(".vt").first
    expect(view).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    check(page, colours)
    open_all(page)
    check(page, colours)
    keep_picture(page, f"axe_{name.replace(' ', '_')}_{colours}")


def test_every_class_of_view_is_tried() -> None:
    made = {type(make()).__name__ for make in EVERY_VIEW.values()}
    assert made == set(class_names()), "tests/ui/every_view.py makes one of each class of view"


def test_axe_finds_what_is_wrong(page: Page) -> None:
    """The tests above are worth what axe-core finds."""
    page.set_content(
        "<html lang=en><title>t</title><main><h1>t</h1><button></button>"
        "<p style='color: #aaa; background: #fff'>pale</p><img src='data:,'>"
    )
    assert {found["rule"] for found in findings(page)} == {
        "button-name",
        "color-contrast",
        "image-alt",
    }
