"""The picture comes first: it takes most of a view, fills its stage, and has little beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.ui_areas import LEAST, areas_of, too_little
from tests.support.ui_staged import LONG_STAGED, STAGED
from tests.support.ui_sweep import ROOT
from viz_transformer.export import export_html


@pytest.mark.parametrize("name", [*STAGED, *LONG_STAGED])
def test_the_picture_has_most_of_the_view(kept_page: Page, tmp_path: Path, name: str) -> None:
    make = (STAGED | LONG_STAGED)[name]
    kept_page.goto(export_html(make(), tmp_path / "page.html").as_uri())
    root = kept_page.locator(ROOT).first
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    wrong = {}
    for window, (width, height, share) in LEAST.items():
        kept_page.set_viewport_size({"width": width, "height": height})
        if found := too_little(areas_of(root), share):
            wrong[window] = found
    assert wrong == {}, name


def test_what_is_too_little_and_too_much_is_found(kept_page: Page) -> None:
    kept_page.goto("about:blank")
    kept_page.set_viewport_size({"width": 1000, "height": 800})
    kept_page.set_content(
        """<body style="margin: 0"><div class="vt-staged"><div class="vt-zones" style="height: 400px">
        <div class="vt-stage" style="width: 500px; height: 300px; display: flex; flex-direction: column">
        <p class="vt-headline" style="margin: 0; height: 100px">of no account</p>
        <p style="margin: 0">two words</p><button>one</button><button>two</button>
        <div class="vt-picture" style="flex: 1; position: relative">
        <svg width="100" height="20"><rect width="100" height="20"></rect></svg></div></div></div></div>"""
    )
    found = areas_of(kept_page.locator(".vt-staged"))
    assert (round(found.share, 3), found.across, found.words, found.controls) == (0.375, 0.2, 4, 2)
    assert 0.1 < found.down < 0.2
    assert too_little(found, 0.65) == ["share 0.375", "across 0.200", f"down {found.down:.3f}"]
