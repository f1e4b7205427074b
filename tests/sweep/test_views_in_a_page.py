"""Every view, exported and opened once: all that should hold of any view is asked of it there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import viz_transformer as vt
from tests.support import ui_sweep
from tests.support.ui_jupyterlab import TIMEOUT_S, guard, next_frames
from tests.support.ui_rooms import wait_until_whole
from tests.support.ui_sweep import WINDOW, OpenedView, findings, wrong_with
from tests.support.ui_views import EVERY_VIEW, class_names
from tests.support.ui_windows import ELSEWHERE_ASKED, SMALL
from viz_transformer.export import export_html
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.tour import tour

#: In the order in which they are asked: first of the view as it opens, then unfolded, then typed into.
QUESTIONS = (
    ui_sweep.rooms,
    ui_sweep.on_paper,
    ui_sweep.in_light,
    ui_sweep.tab,
    ui_sweep.arrows,
    ui_sweep.unfolded_in_dark,
    ui_sweep.typed_markup,
    ui_sweep.fetched,
    ui_sweep.went_wrong,
)
MORE_COLOURS = (
    ui_sweep.in_forced_colours,
    ui_sweep.unfolded_in_light,
    ui_sweep.in_forced_colours,
    ui_sweep.went_wrong,
)
#: What differs from another of these views by its model or its step only is asked before each landing.
VARIANTS = {
    "architecture at work",
    "architecture of a masked language model",
    "beam stepper of a language model",
    "beam stepper of draws",
    "head lab of a masked language model",
    "mask lab of a masked language model",
}
#: A tour goes through the view inside them.
HOLDERS = {"tour", "translation lab", *(name for name in EVERY_VIEW if "studio" in name)}
LONG = "the wolf did not cross the park because it was too slow"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Return a page held to this machine, in which one view after the other is opened."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    asked = guard(context)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_S * 1000)
    yield page
    context.close()
    assert asked == [], ELSEWHERE_ASKED


def opened(page: Page, folder: Path, view: View, title: str) -> OpenedView:
    """Export a view and open its page."""
    return OpenedView(page, export_html(view, folder / "page.html", title=title))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in VARIANTS else []) for name in EVERY_VIEW],
)
def test_a_view_in_its_page(page: Page, tmp_path: Path, name: str) -> None:
    view = opened(page, tmp_path, EVERY_VIEW[name](), name)
    wrong = wrong_with(view, QUESTIONS)
    assert wrong == {}, f"{name}: {json.dumps(wrong, indent=1)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_VIEW)
def test_a_view_in_more_colours_and_presented(
    page: Page, new_page: Callable[..., Page], tmp_path: Path, name: str
) -> None:
    view = opened(page, tmp_path, EVERY_VIEW[name](), name)
    wrong = wrong_with(view, MORE_COLOURS)
    assert wrong == {}, f"{name}: {json.dumps(wrong, indent=1)}"
    if name in HOLDERS:
        return
    shown = tour(EVERY_VIEW[name](), [{"caption": "What a professor says of it, in one line.", "state": {}}])
    page = new_page()
    root = opened(page, tmp_path, shown, name).root
    page.set_viewport_size(SMALL)
    root.get_by_role("button", name="Present").click()
    if root.locator(".vt-staged").count():
        wait_until_whole(page)
    next_frames(root)
    assert root.evaluate("(node) => node.scrollWidth - node.clientWidth") == 0


def test_long_sentences_fit_a_phone_and_paper(page: Page, tmp_path: Path) -> None:
    translator = vt.load_translator()
    views = {
        "beam stepper": vt.beam_stepper(translator, LONG),
        "architecture": vt.architecture(translator, LONG),
        "mask lab": vt.mask_lab(translator, [LONG, "the cat sleeps"]),
    }
    wrong = {}
    for name, made in views.items():
        view = opened(page, tmp_path, made, name)
        wrong |= {f"{name}, {what}": each for what, each in wrong_with(view, [ui_sweep.on_paper]).items()}
        page.set_viewport_size({"width": 390, "height": 844})
        next_frames(view.root)
        next_frames(view.root)
        if too_wide := page.evaluate("document.documentElement.scrollWidth - 390"):
            wrong[name] = f"{too_wide} pixels too wide"
    assert wrong == {}


def test_a_figure_is_whole_in_a_narrow_window_and_larger_with_larger_text(page: Page, tmp_path: Path) -> None:
    view = opened(page, tmp_path, EVERY_VIEW["figure lab"](), "figure lab")
    page.set_viewport_size({"width": 320, "height": 640})
    figure, hint = view.root.get_by_role("img"), view.root.locator(".vt-hint")
    expect(hint).to_be_visible()
    expect(figure).to_be_in_viewport(ratio=1)
    small = figure.bounding_box()["width"]
    view.root.get_by_role("button", name="Text size").click()
    expect(hint).to_be_hidden()
    assert figure.bounding_box()["width"] > 2 * small
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.set_viewport_size(WINDOW)
    next_frames(view.root)
    before = view.root.bounding_box()
    view.root.get_by_role("slider").press("End")
    expect(figure).to_have_attribute("alt", re.compile("cat 0.881"))
    assert view.root.bounding_box() == before, "the page would jump"


def test_every_class_of_view_is_tried() -> None:
    made = {type(make()).__name__ for make in EVERY_VIEW.values()}
    assert made >= set(class_names()), "tests/support/ui_views.py makes one of each class of view"


#: Pages in which one thing is wrong each, and the question that must find it.
WRONG = {
    "in_light": "<button></button><p style='color: #aaa; background: #fff'>pale</p><img src='data:,'>",
    "unfolded_in_light": "<details><summary>more</summary><img src='data:,'></details>",
    "unfolded_in_dark": "<p>white in the dark</p>",
    "rooms": "<div style='width: 350px; height: 700px'>large</div>",
    "tab": "<button>first</button><button onfocus='this.blur()' tabindex=0>never</button><input>",
    "arrows": "<div role=grid tabindex=0>dead</div>",
    "on_paper": "<div style='overflow-x: auto; width: 90px'><p style='width: 900px'>wide</p></div>",
    "typed_markup": "<input onchange='nextSibling.innerHTML = value'><p></p>",
    "fetched": "<img src='elsewhere.png'>",
    "went_wrong": "<script>throw new Error('no')</script>",
}


@pytest.mark.parametrize("asked", WRONG)
def test_each_question_finds_what_is_wrong(page: Page, tmp_path: Path, asked: str) -> None:
    path = tmp_path / "page.html"
    style = "background: #fff; min-height: 20px"
    path.write_text(
        f"<!doctype html><html lang=en><title>t</title><body style='margin: 0'><main><h1>t</h1>"
        f"<div data-vt-drawn=1 style='{style}'>{WRONG[asked]}</div></main></html>"
    )
    view = OpenedView(page, path)
    assert wrong_with(view, (getattr(ui_sweep, asked),)), asked


def test_axe_finds_what_is_wrong(page: Page) -> None:
    page.set_content(f"<html lang=en><title>t</title><main><h1>t</h1>{WRONG['in_light']}</main>")
    assert {found["rule"] for found in findings(page)} == {"button-name", "color-contrast", "image-alt"}
