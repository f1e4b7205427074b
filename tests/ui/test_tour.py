"""Guided tours in a real browser: in an exported page without Python, and in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.support.hand_made_traces import HOSTILE, make_trace
from tests.support.ui_jupyterlab import LabPage, errors_of, next_frames
from tests.support.ui_rooms import wait_until_whole
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LOOKS, ROOT, SMALL
from viz_transformer.export import export_html
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.tour import Tour, tour

FONT_SIZE = "(node) => parseFloat(getComputedStyle(node).fontSize)"
DRAWN = re.compile(r"[1-9]\d*")
EVIL = f"<img src=x onerror='window.pwned=1'></p><script>window.pwned=2</script> {HOSTILE[0]}"
STEPS = [
    {"caption": "Where “gato” looks.", "state": {"kind": "cross", "layer": 1, "head": 2, "query": 1}},
    {"caption": EVIL, "state": {"kind": "encoder", "layer": 0, "head": 3, "query": None}},
    {"caption": "", "state": {"kind": "decoder", "layer": 1, "head": 0, "search": "ga"}},
]
TITLES = [
    "Cross-attention · layer 1 · head 2",
    "Encoder self-attention · layer 0 · head 3",
    "Decoder self-attention · layer 1 · head 0",
]


def open_tour(page: Page, folder: Path, shown: Tour | None = None) -> Locator:
    """Open the page of a tour from disk and return its root, drawn."""
    shown = shown or tour(explore(make_trace()), STEPS)
    page.goto(export_html(shown, folder / "tour.html", title="A tour").as_uri())
    root = page.locator(".vt-tour")
    expect(root.locator(".vt-tour-view [data-vt-drawn]").first).to_have_attribute("data-vt-drawn", DRAWN)
    return root


def steps_of(root: Locator) -> Locator:
    """Return the timeline of the tour, which has the keyboard."""
    return root.locator(".vt-tour-steps .vt-track")


def stands_at(root: Locator, step: int) -> None:
    """Wait until the timeline shows a step."""
    expect(steps_of(root)).to_have_attribute("aria-valuenow", str(step))


def is_at(root: Locator, step: int) -> None:
    """Wait until timeline, caption and view are those of a step."""
    stands_at(root, step)
    expect(root.locator("p.vt-tour-caption")).to_have_text(STEPS[step]["caption"])
    expect(root.locator(".vt-title")).to_have_text(TITLES[step])


def test_keys_and_buttons_step_through_a_page_without_python(page: Page, tmp_path: Path) -> None:
    errors = errors_of(page)
    root = open_tour(page, tmp_path)
    is_at(root, 0)
    for name in ("Remember this state", "Replace this step", "Remove this step"):  # a page keeps nothing
        expect(root.get_by_role("button", name=name)).to_have_count(0)
    expect(root.locator("textarea")).to_be_hidden()

    panel = root.locator(".vt-tour-steps")
    steps_of(root).focus()
    keys = ("ArrowRight", "PageDown", "ArrowRight", "Home", "ArrowLeft", "End", "ArrowUp")
    for key, step in zip(keys, (1, 2, 2, 0, 0, 2, 1), strict=True):
        page.keyboard.press(key)
        is_at(root, step)
    for name in ("Play", "What am I looking at?", "Present"):  # those of the tour, not of the view as well
        expect(page.get_by_role("button", name=name)).to_have_count(1)
    panel.get_by_role("button", name="Forward").click()
    is_at(root, 2)
    page.keyboard.press("ArrowLeft")  # the button is off at the end, and the timeline has its keys
    is_at(root, 1)
    assert page.evaluate("window.pwned") is None
    assert root.locator(".vt-band :is(img, script)").count() == 0

    page.keyboard.press("Home")
    root.locator(".vt-heads canvas").press("ArrowLeft")  # the view's own keys stay the view's
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 1")
    stands_at(root, 0)
    steps_of(root).press("Escape")  # the view as the step has it
    is_at(root, 0)
    assert errors == []


def test_the_steps_of_a_live_view_are_answered_without_it(page: Page, tmp_path: Path) -> None:
    """Two heads changed at once, and another sentence: no page of the view alone has them."""
    changes = [
        {"kind": "cross", "layer": 0, "head": 1, "factor": 0.5},
        {"kind": "cross", "layer": 1, "head": 0, "factor": 0.0},
    ]
    steps = [{"caption": "a", "state": {}}, {"caption": "b", "state": {"factors": changes}}]
    root = open_tour(page, tmp_path, tour(EVERY_VIEW["head lab"](), steps))
    steps_of(root).press("End")
    expect(root.locator(".vt-head-lab")).to_contain_text("0.5")
    expect(root).not_to_contain_text("needs the running notebook")

    steps = [
        {"state": {"kind": "cross", "layer": 0}},
        {"state": {"text": "the white cow sleeps", "kind": "encoder", "layer": 1, "step": 2}},
    ]
    root = open_tour(page, tmp_path, tour(EVERY_VIEW["stepper"](), steps))
    steps_of(root).press("End")
    expect(root.locator(".vt-title")).to_contain_text("Encoder")
    expect(root.locator(".vt-chips")).to_contain_text("cow")
    expect(root).not_to_contain_text("needs the running notebook")


def test_presenting_fills_the_screen_and_escape_ends_it(page: Page, tmp_path: Path) -> None:
    root = open_tour(page, tmp_path)
    small = root.locator("p.vt-tour-caption").evaluate(FONT_SIZE)
    root.get_by_role("button", name="Present").click()
    expect(root).to_have_class(re.compile("vt-presenting"))
    expect(page.locator(".vt-tour:fullscreen")).to_have_count(1)
    assert root.locator("p.vt-tour-caption").evaluate(FONT_SIZE) > small
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
    root = open_tour(page, tmp_path)
    root.get_by_role("button", name="Present").click()
    expect(root).to_have_class(re.compile("vt-presenting"))
    box = root.bounding_box()
    assert (box["x"], box["y"], box["width"]) == (0, 0, page.viewport_size["width"])
    root.get_by_role("button", name="Stop presenting").click()
    expect(root).not_to_have_class(re.compile("vt-presenting"))
    assert errors == []


def test_a_presented_view_fits_every_screen_grows_and_answers_the_pointer(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    """Against the same view in a column of text: all that is drawn is larger, and nothing is scrolled."""
    steps = [*STEPS[:1], {"caption": "A caption of two lines. " * 6, "state": {"query": 1}}]
    large = {"width": 1920, "height": 1080}
    for scheme, window in [*LOOKS, ("light", large)]:
        page = new_page(viewport=window, scheme=scheme)
        root = open_tour(page, tmp_path, tour(explore(make_trace()), steps))
        expect(root).to_have_attribute("data-theme", scheme)
        page.evaluate("document.querySelector('main').style.maxWidth = '760px'")
        expect(root).to_have_js_property("clientWidth", 760)
        matrix, chip = root.locator(".vt-place canvas"), root.locator(".vt-chip").first
        next_frames(root)
        column, letters = matrix.bounding_box(), chip.evaluate(FONT_SIZE)
        root.get_by_role("button", name="Present").click()
        expect(page.locator(":fullscreen")).to_have_count(1)
        for key in ("End", "Home"):
            steps_of(root).press(key)
            wait_until_whole(page)
            expect(matrix).to_be_in_viewport(ratio=1)
        next_frames(root)
        grown = matrix.bounding_box()
        assert chip.evaluate(FONT_SIZE) >= max(20, 1.25 * letters)
        assert grown["width"] * grown["height"] > 1.25 * column["width"] * column["height"], window
    assert grown["height"] > 1.3 * column["height"]
    matrix.click(position={"x": grown["width"] * 0.6, "y": grown["height"] - 20})  # in the last row
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
    lab.open_cells(MAKE, "tour")
    lab.run_all()
    root = lab.output(1).locator(".vt-tour")
    expect(root.locator(".vt-title")).to_have_text(TITLES[0])

    root.locator(".vt-heads canvas").focus()
    lab.page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 3")
    root.get_by_role("button", name="Remember this state").click()
    stands_at(root, 1)
    expect(root.locator("textarea")).to_be_focused()
    lab.page.keyboard.type(EVIL)
    lab.wait_for_value("tour.steps[1]['caption']", EVIL)
    assert lab.value("tour.steps[1]['state']['head']") == 3

    lab.page.keyboard.press("Escape")  # out of the caption, into the panel
    expect(steps_of(root)).to_be_focused()
    lab.page.keyboard.press("ArrowLeft")
    expect(root.locator(".vt-title")).to_have_text(TITLES[0])
    lab.wait_for_value("(tour.step, view.head)", (0, 2))
    assert lab.page.evaluate("panel.content.activeCellIndex") == 1, "JupyterLab took the key"

    lab.run("tour.step = 1")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 3")
    again = "vt.tour(vt.explore(make_trace()), tour.save('made.json'))"
    assert lab.run(f"print({again}.steps[1]['caption'])") == EVIL + "\n"
    assert lab.page.evaluate("window.pwned") is None
    root.get_by_role("button", name="Options").first.click()
    root.get_by_role("button", name="Remove this step").click()
    lab.wait_for_value("len(tour.steps)", 1)
    assert lab.errors == []


def test_in_jupyterlab_fast_keys_end_where_they_should_and_a_restart_ends_nothing(lab: LabPage) -> None:
    lab.page.set_viewport_size(SMALL)
    lab.open_cells(MAKE, MANY, "tour")
    lab.run_all()
    root = lab.output(2).locator(".vt-tour")
    expect(root.locator(".vt-headline")).to_be_visible()
    steps_of(root).focus()
    expect(steps_of(root)).to_be_focused()
    for _ in range(30):
        lab.page.keyboard.press("ArrowRight")
    stands_at(root, 30)
    lab.wait_for_value("(tour.step, view.layer, view.head, view.query)", (30, 0, 2, 0))
    lab.page.wait_for_timeout(500)  # whatever is still on its way has come
    stands_at(root, 30)
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 0 · head 2")

    lab.restart_kernel()
    steps_of(root).press("ArrowLeft")
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 1")
    lab.run_all()
    root = lab.output(2).locator(".vt-tour")
    expect(root).to_have_count(1)
    steps_of(root).press("End")
    lab.wait_for_value("(tour.step, view.head)", (30, 2))
