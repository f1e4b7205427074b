"""The whole course as a site: small enough, and each lesson's page alive from a disk, with nobody to ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.exported_pages import check_scripts_have_hashes, page_data
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_lab_questions import QUESTIONS
from tests.support.ui_lessons import FAULTS, LESSONS, check_moves, open_curtains
from tests.support.ui_windows import NARROWEST, kernels_find_this_clone
from viz_transformer.cli import main
from viz_transformer.translator import Translator

pytestmark = pytest.mark.weekly

MAX_SITE_BYTES, MAX_PAGE_BYTES = 25_000_000, 3_000_000


@pytest.fixture(scope="session")
def course_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, which takes minutes to build: every lesson runs once."""
    folder = tmp_path_factory.mktemp("course") / "site"
    with kernels_find_this_clone():
        assert main(["site", str(folder)]) == 0
    return folder


@pytest.fixture
def opened(page: Page, course_site: Path) -> Iterator[Callable[[str], Page]]:
    """A function that opens a lesson's page; its test fails if the page has errors, or asks for anything."""
    errors, asked = errors_of(page), []

    def open_lesson(lesson: str) -> Page:
        address = (course_site / f"{lesson}.html").as_uri()
        page.route(lambda url: url != address, lambda route: route.abort())
        page.on("request", lambda request: asked.append(request.url) if request.url != address else None)
        page.goto(address)
        return page

    yield open_lesson
    assert errors == []
    assert asked == []


def views_of(page: Page) -> list[tuple[int, Locator]]:
    """Each view that stands on a page, by its number, brought into sight and drawn."""
    found = []
    open_curtains(page)
    for place in page.locator("[data-view]").all():
        place.scroll_into_view_if_needed()
        view = place.locator("> .vt-root")
        expect(view).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
        found.append((int(place.get_attribute("data-view")), view))
    return found


def fitting_views_of(page: Page) -> list[tuple[int, Locator]]:
    """The views of a lesson's page, all whole and without a complaint."""
    views = views_of(page)
    assert views
    assert page.evaluate(FAULTS) == []
    expect(page.locator(".vt-failed, .vt-note, .vt-view [role=alert]:visible")).to_have_count(0)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    return views


def predict(view: Locator) -> None:
    """Answer a prediction, whatever its kind, and read what is said of it."""
    field, sliders = view.get_by_role("textbox"), view.get_by_role("slider")
    if field.count():
        field.fill("1")
    if sliders.count():
        sliders.first.press("End")
    view.locator(".vt-answers").get_by_role("button").last.click()  # "Predict", or one of the answers
    expect(view.locator(".vt-card > [role=status]")).to_contain_text(re.compile(r"You(r row| said| chose)"))
    for inner in view.locator(".vt-revealed .vt-root").all():
        expect(inner).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))


def answer_exercise(view: Locator, kind: str) -> None:
    """Answer an exercise, whatever its kind, and read what is said of it."""
    if kind == "repair":
        view.get_by_role("option").first.press("ArrowDown")
        for line in view.get_by_role("option").all():
            line.focus()
            if view.get_by_role("group", name="in place").count():
                view.get_by_role("group", name="in place").get_by_role("button").last.click()
                break
    for field in view.get_by_role("textbox").all():
        field.fill("1")
    check = view.get_by_role("button", name="Check", exact=True)
    (check if check.count() else view.locator(".vt-answers").get_by_role("button").first).click()
    expect(view.locator(".vt-card > [role=status]")).to_contain_text(re.compile(r"^(✓ Right|✗ Not yet)\."))


def test_the_site_and_each_page_are_small_enough_to_carry(course_site: Path) -> None:
    sizes = {path.stem: path.stat().st_size for path in course_site.iterdir()}
    assert sorted(sizes) == sorted([*LESSONS, "index"])
    assert sum(sizes.values()) < MAX_SITE_BYTES, sizes
    assert max(sizes.values()) < MAX_PAGE_BYTES, sizes


def test_each_page_names_its_scripts_by_hash_and_shows_all_of_its_lesson(course_site: Path) -> None:
    for path in course_site.iterdir():
        check_scripts_have_hashes(path)
        assert "Left out" not in path.read_text(encoding="utf-8"), path.name


def test_every_lab_that_the_page_can_answer_is_somewhere_in_the_course(course_site: Path) -> None:
    views = [view for lesson in LESSONS for view in page_data(course_site / f"{lesson}.html")["views"]]
    labs = {view["state"].get("engine", {}).get("lab") for view in views}
    assert labs - {None} == set(QUESTIONS)


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_view_of_a_lesson_is_drawn_fits_and_answers_without_python(
    opened: Callable[[str], Page], course_site: Path, translator: Translator, lesson: str
) -> None:
    """Labs are asked what nobody asked before; exercises and predictions are answered; all others move."""
    page = opened(lesson)
    views = fitting_views_of(page)
    states = [view["state"] for view in page_data(course_site / f"{lesson}.html")["views"]]
    for number, view in views:
        state = states[number]
        if lab := state["engine"].get("lab"):
            QUESTIONS[lab](view, translator)
        elif "truth" in state:
            predict(view)
        elif "asked" in state:
            answer_exercise(view, state["asked"]["kind"])
        else:
            check_moves(view, f"{lesson}, view {number}")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(NARROWEST)
    page.reload()
    fitting_views_of(page)
