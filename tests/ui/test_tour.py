"""Guided tours in a real browser: in an exported page without Python, and in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.hand_made_traces import HOSTILE, make_trace
from tests.support.ui_jupyterlab import LabPage, errors_of
from tests.support.ui_rooms import wait_until_whole
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LOOKS, ROOT, SMALL, keep_picture
from viz_transformer.export import export_html
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.tour import Tour, tour

DRAWN = re.compile(r"[1-9]\d*")
EVIL = f"<img src=x onerror='window.pwned=1'></p><script>window.pwned=2</script> {HOSTILE[0]}"
STEPS = [
    {
        "caption": "Where “gato” looks.",
        "state": {"kind": "cross", "layer": 1, "head": 2, "query": 1},
    },
    {"caption": EVIL, "state": {"kind": "encoder", "layer": 0, "head": 3, "query": None}},
    {"caption": "", "state": {"kind": "decoder", "layer": 1, "head": 0, "search": "ga"}},
]
TITLES = [
    "Cross-attention · layer 1 · head 2",
    "Encoder self-attention · layer 0 · head 3",
    "Decoder self-attention · layer 1 · head 0",
]


def open_tour(page: Page, shown: Tour, folder: Path) -> Locator:
    """Open a tour's page from disk and return its root, drawn."""
    page.goto(export_html(shown, folder / "tour.html", title="A tour").as_uri())
    root = page.locator(".vt-tour")
    expect(root.locator(".vt-tour-view [data-vt-drawn]").first).to_have_attribute("data-vt-drawn", DRAWN)
    return root


def is_at(root: Locator, step: int) -> None:
    """Wait until place, caption and view are those of a step."""
    expect(root.locator(".vt-tour-place")).to_have_text(f"step {step + 1} of {len(STEPS)}")
    caption = root.locator("p.vt-tour-caption")
    if STEPS[step]["caption"]:
        expect(caption).to_have_text(STEPS[step]["caption"])
    else:
        expect(caption).to_be_hidden()
    expect(root.locator(".vt-title")).to_have_text(TITLES[step])


def test_keys_and_buttons_step_through_a_page_without_python(page: Page, tmp_path: Path) -> None:
    errors = errors_of(page)
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    is_at(root, 0)
    root.locator(".vt-tour-panel").focus()
    for key, step in (
        ("ArrowRight", 1),
        ("PageDown", 2),
        ("ArrowRight", 2),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("End", 2),
        ("ArrowUp", 1),
    ):
        page.keyboard.press(key)
        is_at(root, step)
    root.get_by_role("button", name="Next").click()
    is_at(root, 2)
    page.keyboard.press("ArrowLeft")  # on the button, which stands in the panel
    is_at(root, 1)
    assert page.evaluate("window.pwned") is None
    assert root.locator(".vt-tour-panel :is(img, script)").count() == 0
    assert errors == []


def test_escape_puts_the_view_back_as_the_step_has_it(page: Page, tmp_path: Path) -> None:
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    root.locator(".vt-heads canvas").focus()
    page.keyboard.press("ArrowLeft")  # the view's own keys stay the view's
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 1")
    expect(root.locator(".vt-tour-place")).to_have_text("step 1 of 3")
    root.locator(".vt-tour-panel").focus()
    page.keyboard.press("Escape")
    is_at(root, 0)


def test_a_page_offers_nothing_that_nobody_would_keep(page: Page, tmp_path: Path) -> None:
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    for name in ("Remember this state", "Replace this step", "Remove this step"):
        expect(root.get_by_role("button", name=name)).to_have_count(0)
    expect(root.locator("textarea")).to_be_hidden()


def test_the_steps_of_a_live_view_are_answered_without_it(page: Page, tmp_path: Path) -> None:
    """Two heads changed at once, and another sentence: no page of the view alone has them."""
    lab = EVERY_VIEW["head lab"]()
    changes = [
        {"kind": "cross", "layer": 0, "head": 1, "factor": 0.5},
        {"kind": "cross", "layer": 1, "head": 0, "factor": 0.0},
    ]
    steps = [{"caption": "a", "state": {}}, {"caption": "b", "state": {"factors": changes}}]
    root = open_tour(page, tour(lab, steps), tmp_path)
    root.locator(".vt-tour-panel").press("End")
    expect(root.locator(".vt-head-lab")).to_contain_text("0.5")
    expect(root).not_to_contain_text("needs the running notebook")

    stepper = EVERY_VIEW["stepper"]()
    steps = [
        {"state": {"kind": "cross", "layer": 0}},
        {"state": {"text": "the white cow sleeps", "kind": "encoder", "layer": 1, "step": 2}},
    ]
    root = open_tour(page, tour(stepper, steps), tmp_path)
    root.locator(".vt-tour-panel").press("End")
    expect(root.locator(".vt-title")).to_contain_text("Encoder")
    expect(root.locator(".vt-looking")).to_contain_text("cow")
    expect(root).not_to_contain_text("needs the running notebook")


def test_presenting_fills_the_screen_and_escape_ends_it(page: Page, tmp_path: Path) -> None:
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    small = root.locator("p.vt-tour-caption").evaluate("(node) => getComputedStyle(node).fontSize")
    root.get_by_role("button", name="Present").click()
    expect(root).to_have_class(re.compile("vt-presenting"))
    expect(page.locator(".vt-tour:fullscreen")).to_have_count(1)
    large = root.locator("p.vt-tour-caption").evaluate("(node) => getComputedStyle(node).fontSize")
    assert float(large[:-2]) > float(small[:-2])
    page.keyboard.press("ArrowRight")
    is_at(root, 1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("PageDown")  # as a remote sends it, wherever the focus went
    is_at(root, 2)
    page.keyboard.press("Escape")
    expect(root).not_to_have_class(re.compile("vt-presenting"))
    expect(page.locator(":fullscreen")).to_have_count(0)
    is_at(root, 2)


def test_where_the_full_screen_is_refused_the_window_is_filled(page: Page, tmp_path: Path) -> None:
    page.add_init_script("Element.prototype.requestFullscreen = () => Promise.reject(new Error('no'));")
    errors = errors_of(page)
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    root.get_by_role("button", name="Present").click()
    expect(root).to_have_class(re.compile("vt-presenting"))
    box = root.bounding_box()
    assert (box["x"], box["y"], box["width"]) == (0, 0, page.viewport_size["width"])
    root.get_by_role("button", name="Stop presenting").click()
    expect(root).not_to_have_class(re.compile("vt-presenting"))
    assert errors == []


@pytest.mark.parametrize(("scheme", "window"), LOOKS)
def test_it_fits_a_projector(
    new_page: Callable[..., Page], tmp_path: Path, scheme: str, window: dict[str, int]
) -> None:
    page = new_page(viewport=window, scheme=scheme)
    steps = [{"caption": "A caption of two lines. " * 6, "state": {"query": 1}}, *STEPS]
    root = open_tour(page, tour(explore(make_trace()), steps), tmp_path)
    assert root.get_attribute("data-theme") == scheme
    name = f"tour_{window['width']}_{scheme}"
    keep_picture(page, name)
    root.get_by_role("button", name="Present").click()
    expect(page.locator(":fullscreen")).to_have_count(1)
    expect(root.locator(".vt-head canvas")).to_be_in_viewport(ratio=1)
    assert root.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    keep_picture(page, f"{name}_presented")


def test_a_presented_picture_grows_and_answers_the_pointer(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = new_page(viewport={"width": 1920, "height": 1080})
    root = open_tour(page, tour(explore(make_trace()), STEPS), tmp_path)
    matrix = root.locator(".vt-head canvas")
    before = matrix.bounding_box()
    root.get_by_role("button", name="Present").click()
    expect(page.locator(":fullscreen")).to_have_count(1)
    wait_until_whole(page)
    after = matrix.bounding_box()
    assert after["height"] > 1.3 * before["height"]
    matrix.click(position={"x": after["width"] * 0.6, "y": after["height"] - 20})  # in the last row
    page.mouse.move(0, 0)
    expect(root.locator(".vt-detail")).to_contain_text("trace.cross_attention[1, 2, 4, ")


MAKE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
view = vt.explore(make_trace())
tour = vt.tour(view, {STEPS[:1]!r})
"""

MANY = """
tour.steps = [
    {"caption": str(n), "state": {"layer": n % 2, "head": n % 4, "query": n % 5}} for n in range(31)
]
"""


def test_in_jupyterlab_states_are_remembered_stepped_and_saved(lab: LabPage) -> None:
    errors = errors_of(lab.page)
    lab.open_cells(MAKE, "tour")
    lab.run_all()
    root = lab.output(1).locator(".vt-tour")
    expect(root.locator(".vt-title")).to_have_text(TITLES[0])

    root.locator(".vt-heads canvas").focus()
    lab.page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 3")
    root.get_by_role("button", name="Remember this state").click()
    expect(root.locator(".vt-tour-place")).to_have_text("step 2 of 2")
    expect(root.locator("textarea")).to_be_focused()
    lab.page.keyboard.type(EVIL)
    lab.wait_for_value("tour.steps[1]['caption']", EVIL)
    assert lab.value("tour.steps[1]['state']['head']") == 3

    lab.page.keyboard.press("Escape")  # out of the caption, into the panel
    expect(root.locator(".vt-tour-panel")).to_be_focused()
    lab.page.keyboard.press("ArrowLeft")
    expect(root.locator(".vt-title")).to_have_text(TITLES[0])
    lab.wait_for_value("(tour.step, view.head)", (0, 2))
    assert lab.page.evaluate("panel.content.activeCellIndex") == 1, "JupyterLab took the key"

    lab.run("tour.step = 1")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 3")
    again = "vt.tour(vt.explore(make_trace()), tour.save('made.json'))"
    assert lab.run(f"print({again}.steps[1]['caption'])") == EVIL + "\n"
    assert lab.page.evaluate("window.pwned") is None

    root.get_by_role("button", name="Remove this step").click()
    lab.wait_for_value("len(tour.steps)", 1)
    assert errors == []


def test_thirty_fast_presses_in_jupyterlab_end_where_they_should(lab: LabPage) -> None:
    lab.open_cells(MAKE, MANY, "tour")
    lab.run_all()
    root = lab.output(2).locator(".vt-tour")
    expect(root.locator(".vt-title")).to_be_visible()
    root.locator(".vt-tour-panel").focus()
    expect(root.locator(".vt-tour-panel")).to_be_focused()
    for _ in range(30):
        lab.page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-tour-place")).to_have_text("step 31 of 31")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 0 · head 2")
    lab.wait_for_value("(tour.step, view.layer, view.head, view.query)", (30, 0, 2, 0))
    lab.page.wait_for_timeout(500)  # whatever is still on its way has come
    expect(root.locator(".vt-tour-place")).to_have_text("step 31 of 31")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 0 · head 2")


def test_after_a_restart_the_tour_on_screen_goes_on_and_runs_again(lab: LabPage) -> None:
    lab.page.set_viewport_size(SMALL)
    lab.open_cells(MAKE, f"tour.steps = {STEPS!r}\ntour")
    lab.run_all()
    root = lab.output(1).locator(".vt-tour")
    expect(root.locator(".vt-title")).to_have_text(TITLES[0])
    lab.restart_kernel()
    root.locator(".vt-tour-panel").focus()
    lab.page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-title")).to_have_text(TITLES[1])
    lab.run_all()
    root = lab.output(1).locator(".vt-tour")
    expect(root).to_have_count(1)
    root.locator(".vt-tour-panel").focus()
    lab.page.keyboard.press("End")
    expect(root.locator(".vt-title")).to_have_text(TITLES[2])
    lab.wait_for_value("(tour.step, view.kind)", (2, "decoder"))
    for theme in ("light", "dark"):
        lab.set_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        lab.screenshot(f"tour-lab-{theme}")
