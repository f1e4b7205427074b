"""Exercises in a page without Python: answered, told what went wrong, hinted at, kept by the browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.notebooks import write_notebook
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_windows import LAPTOP, PHONE, keep_picture, kernels_find_this_clone
from viz_transformer.exercises import exercise
from viz_transformer.export.notebook import notebook_html
from viz_transformer.export.site import write_site

#: A number, a row, a choice, a mask, and one that asks for code.
ASKED = ("1.1", "4.1", "6.1", "7.1", "7.2")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook whose exercises are not answered, but for one."""
    checks = [f'vt.exercises.check("{name}", ...)' for name in ASKED]
    answered = 'vt.exercises.check("3.3", 256)'
    progress = "vt.exercises.progress(1)"
    folder = tmp_path_factory.mktemp("exercises")
    return write_notebook(
        folder / "01_asked.ipynb", "import viz_transformer as vt", *checks, answered, progress
    )


@pytest.fixture(scope="module")
def written(notebook: Path) -> Path:
    with kernels_find_this_clone():
        return notebook_html(notebook, execute=True)


def form(page: Page, name: str) -> Locator:
    return page.locator(".vt-exercise-form").nth(ASKED.index(name))


def told(page: Page, name: str) -> Locator:
    return form(page, name).locator("> [role=status]")


def test_each_kind_is_answered_checked_and_kept(page: Page, written: Path) -> None:
    errors = errors_of(page)
    page.goto(written.as_uri())
    expect(page.locator(".vt-exercise-form")).to_have_count(len(ASKED))
    expect(page.locator("main")).not_to_contain_text("Not answered yet.")
    expect(page.locator("main")).to_contain_text("That is the variance.")  # what was answered stays

    counting = exercise("1.1").wanted
    one_kind = next(each for each in counting.mistakes if each.answer == 8)
    field = form(page, "1.1").get_by_role("textbox", name="your number")
    for answer, message in {
        "": "Write a number first.",
        "eight": "“eight” is no number; write one such as 0.25 or 1/4.",
        "2 * 4": f"✗ Not yet. {one_kind.message}",
        "100": "✗ Not yet. 100 is too large.",
        "24": f"✓ Right. {counting.right}",
    }.items():
        field.fill(answer)
        expect(told(page, "1.1")).to_have_text("")  # what was said of another number is gone
        field.press("Enter")
        expect(told(page, "1.1")).to_have_text(message)

    for place, number in enumerate(("-2", "1", "2")):
        form(page, "4.1").get_by_role("textbox", name=f"[{place}]").fill(number)
    form(page, "4.1").get_by_role("button", name="Check").click()
    of_three = "✗ Not yet. 2 of 3 values are right; the first that is not, 2, stands at [2]."
    expect(told(page, "4.1")).to_have_text(of_three)

    form(page, "6.1").get_by_role("button", name="equivariant").click()
    expect(told(page, "6.1")).to_contain_text("Not yet. That is what the vectors are")
    form(page, "6.1").get_by_role("button", name="invariant", exact=True).click()
    expect(told(page, "6.1")).to_contain_text("Right.")
    expect(form(page, "7.2")).to_contain_text("A page can't check this answer")

    page.reload()
    expect(field).to_have_value("24")
    expect(told(page, "1.1")).to_contain_text("Right.")
    expect(form(page, "4.1").get_by_role("textbox", name="[0]")).to_have_value("-2")
    expect(told(page, "4.1")).to_have_text(of_three)
    invariant = form(page, "6.1").get_by_role("button", name="invariant", exact=True)
    expect(invariant).to_have_attribute("aria-pressed", "true")
    assert errors == []


def test_the_lessons_progress_follows_the_answers(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    titles = {name: f"{name} {exercise(name).title}" for name in ("1.1", "1.2")}
    lines = {name: page.locator("li", has_text=title) for name, title in titles.items()}
    field = form(page, "1.1").get_by_role("textbox", name="your number")
    for answer, mark in (("100", "○"), ("24", "✓"), ("8", "○"), ("24", "✓")):
        field.fill(answer)
        field.press("Enter")
        expect(lines["1.1"]).to_have_text(f"{mark} {titles['1.1']}")
    page.reload()
    expect(lines["1.1"]).to_have_text(f"✓ {titles['1.1']}")
    expect(lines["1.2"]).to_have_text(f"○ {titles['1.2']}")


def test_a_mask_is_set_from_the_keyboard(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    form(page, "7.1").get_by_role("button", name="[0, 0]").focus()
    # Row by row, what may be looked at: the first, two, three and three.
    for n_open in (1, 2, 3, 3):
        for _ in range(n_open):
            page.keyboard.press("Space")
            page.keyboard.press("ArrowRight")
        for _ in range(n_open):
            page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
    expect(form(page, "7.1").get_by_role("button", name="[3, 2]")).to_have_text("True")
    check = form(page, "7.1").get_by_role("button", name="Check")
    for _ in range(30):
        if check.evaluate("(node) => node === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(told(page, "7.1")).to_contain_text("Right.")
    page.reload()
    expect(form(page, "7.1").get_by_role("button", name="True")).to_have_count(9)


def test_hints_come_one_at_a_time(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    asked = form(page, "1.1")
    hints = asked.locator(".vt-hints p")
    expect(hints).to_have_count(0)
    asked.get_by_role("button", name="Hint").press("Enter")
    expect(hints).to_have_text([f"Hint 1 of 2: {exercise('1.1').hints[0]}"])
    asked.get_by_role("button", name="Next hint").press("Enter")
    expect(hints).to_have_count(2)
    expect(asked.get_by_role("button", name="hint")).to_have_count(0)
    expect(hints.last).to_be_focused()


def test_a_head_is_chosen_in_the_view_above(page: Page, tmp_path: Path) -> None:
    make = """
import viz_transformer as vt
from viz_transformer.exercises import exercise
translator = vt.load_translator()
street = "the animal did not cross the street because it was too"
sentences = {each: translator.trace(f"{street} {each}") for each in ("tired", "wide")}
search = vt.trace_switch(sentences, kind="encoder")
search
"""
    cells = (make, 'vt.exercises.check("1.2", search.explorer)')
    with kernels_find_this_clone():
        path = notebook_html(write_notebook(tmp_path / "heads.ipynb", *cells), execute=True)
    errors = errors_of(page)
    page.goto(path.as_uri())
    asked = page.locator(".vt-exercise-form")
    check = asked.get_by_role("button", name="Check what is chosen")
    check.press("Enter")
    feedback = asked.locator("> [role=status]")
    expect(feedback).to_contain_text("Not yet. In layer 0, head 0, “tired” gives “animal” only")
    heads = page.locator(".vt-explorer .vt-heads canvas")
    for _ in range(2):
        for _ in range(4):
            if "Right." in (feedback.text_content() or ""):
                break
            heads.focus()
            page.keyboard.press("ArrowRight")
            check.press("Enter")
        else:
            heads.focus()
            page.keyboard.press("ArrowDown")
            for _ in range(4):
                page.keyboard.press("ArrowLeft")
            check.press("Enter")
    expect(feedback).to_contain_text("Right. Layer 1, head")
    page.reload()
    expect(feedback).to_contain_text("Right. Layer 1, head")
    assert errors == []


def test_what_was_kept_of_another_exercise_does_no_harm(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    odd = '{"answers": {"exercise 1.1": [1], "exercise 4.1": ["1"], "exercise 6.1": "A", "exercise 7.1": 3}}'
    page.evaluate("(text) => localStorage.setItem('viz-transformer', text)", odd)
    errors = errors_of(page)
    page.reload()
    for name in ("1.1", "4.1", "6.1", "7.1"):
        expect(form(page, name)).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
        expect(told(page, name)).to_have_text("")
    assert errors == []


def test_the_contents_count_what_was_answered(page: Page, notebook: Path, tmp_path: Path) -> None:
    with kernels_find_this_clone():
        index = write_site([notebook], tmp_path / "site")
    page.goto(index.as_uri())
    done = page.locator(".vt-lessons .vt-done")
    expect(done).to_have_text("0 of 4 answered")  # code is written elsewhere
    lesson = page.context.new_page()
    lesson.goto(index.with_name("01_asked.html").as_uri())
    form(lesson, "1.1").get_by_role("textbox").fill("8")
    form(lesson, "1.1").get_by_role("button", name="Check").click()
    expect(told(lesson, "1.1")).to_contain_text("Not yet.")
    expect(done).to_contain_text("1 of 4 answered")  # in the tab that was open already
    lesson.goto(index.as_uri())
    expect(lesson.locator(".vt-lessons .vt-done")).to_contain_text("1 of 4 answered")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["1280x720", "390x844"])
def test_it_fits_its_window(new_page: Callable[..., Page], written: Path, scheme: str, size: dict) -> None:
    page = new_page(viewport=size, scheme=scheme)
    page.goto(written.as_uri())
    form(page, "1.1").get_by_role("textbox").fill("24")
    form(page, "1.1").get_by_role("button", name="Check").click()
    form(page, "1.1").get_by_role("button", name="Hint").click()
    form(page, "7.1").get_by_role("button", name="[0, 0]").click()
    form(page, "7.1").get_by_role("button", name="Check").click()
    expect(told(page, "7.1")).to_contain_text("8 of 16 values are right")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    keep_picture(page, f"exercises_{size['width']}_{scheme}")
