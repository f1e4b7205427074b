"""Exercises in a page without Python: answered, told what went wrong, hinted at, kept by the browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.notebooks import write_notebook
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_windows import kernels_find_this_clone
from viz_transformer.exercises import exercise
from viz_transformer.export.site import write_site

#: A number, a row, a choice, a mask, code as lines, code with faults, and a head that is chosen in a view.
ASKED = ("1.1", "4.1", "6.1", "8.1", "2.2", "clinic.12", "1.2")
SEARCH = """
translator = vt.load_translator()
street = "the animal did not cross the street because it was too"
sentences = {each: translator.trace(f"{street} {each}") for each in ("tired", "wide")}
search = vt.trace_switch(sentences, kind="encoder")
search
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one lesson, whose exercises are not answered, but for one."""
    cells = [
        "import viz_transformer as vt",
        *[f'vt.exercises.check("{name}", ...)' for name in ASKED[:-1]],
        'vt.exercises.check("scoring.1", 256)',
        "vt.exercises.progress(1)",
        SEARCH,
        'vt.exercises.check("1.2", search.explorer)',
    ]
    folder = tmp_path_factory.mktemp("exercises")
    with kernels_find_this_clone():
        return write_site([write_notebook(folder / "01_asked.ipynb", *cells)], folder / "site")


#: Count what is read from the browser's store before the page's first frame.
COUNT_EARLY = """
globalThis.early = 0;
let drawn = false;
requestAnimationFrame(() => { drawn = true; });
const { getItem } = Storage.prototype;
Storage.prototype.getItem = function (name) {
  if (!drawn) early++;
  return getItem.call(this, name);
};
"""


@pytest.fixture
def lesson(page: Page, index: Path) -> Page:
    """The lesson's page, in a browser that has kept no answers."""
    page.context.add_init_script(COUNT_EARLY)
    page.goto(index.with_name("01_asked.html").as_uri())
    return page


def form(page: Page, name: str) -> Locator:
    return page.locator(".vt-exercise-form").nth(ASKED.index(name))


def told(page: Page, name: str) -> Locator:
    return form(page, name).locator(".vt-card > [role=status]")


def test_each_kind_is_answered_checked_and_kept(lesson: Page) -> None:
    errors = errors_of(lesson)
    expect(lesson.locator(".vt-exercise-form")).to_have_count(len(ASKED))
    expect(lesson.locator("main")).to_contain_text("That is the variance.")  # what was answered stays

    counting = exercise("1.1").wanted
    one_kind = next(each for each in counting.mistakes if each.answer == 8)
    field = form(lesson, "1.1").get_by_role("textbox", name="your number")
    for answer, problem in {"": "Write a number first.", "eight": "“eight” is no number"}.items():
        field.fill(answer)
        field.press("Enter")
        expect(form(lesson, "1.1").get_by_role("alert")).to_contain_text(problem)
        expect(form(lesson, "1.1").get_by_text(problem)).to_have_count(1)  # it is said once
        expect(field).to_have_attribute("aria-invalid", "true")
    for answer, message in {
        "2 * 4": f"✗ Not yet. {one_kind.message}",
        "100": "✗ Not yet. 100 is too large.",
        "24": f"✓ Right. {counting.right}",
    }.items():
        field.fill(answer)
        expect(told(lesson, "1.1")).to_have_text("")  # what was said of another number is gone
        field.press("Enter")
        expect(told(lesson, "1.1")).to_have_text(message)

    for place, number in enumerate(("-2", "1", "2")):
        form(lesson, "4.1").get_by_role("textbox", name=f"[{place}]").fill(number)
    form(lesson, "4.1").get_by_role("button", name="Check").click()
    of_three = "✗ Not yet. 2 of 3 values are right; the first wrong one is 2, at [2]."
    expect(told(lesson, "4.1")).to_have_text(of_three)
    invalid = form(lesson, "4.1").locator("[aria-invalid=true]")
    expect(invalid).to_have_attribute("aria-label", "[2]")

    invariant = form(lesson, "6.1").get_by_role("button", name="invariant", exact=True)
    form(lesson, "6.1").get_by_role("button", name="equivariant").click()
    expect(told(lesson, "6.1")).to_contain_text("Not yet. That is true of the vectors")
    invariant.click()
    expect(told(lesson, "6.1")).to_contain_text("Right.")

    lesson.reload()
    expect(field).to_have_value("24")
    expect(told(lesson, "1.1")).to_contain_text("Right.")
    expect(form(lesson, "4.1").get_by_role("textbox", name="[0]")).to_have_value("-2")
    expect(told(lesson, "4.1")).to_have_text(of_three)
    expect(invariant).to_have_attribute("aria-pressed", "true")
    assert errors == []


def test_the_lessons_progress_and_the_contents_follow_the_answers(lesson: Page, index: Path) -> None:
    contents = lesson.context.new_page()
    contents.goto(index.as_uri())
    done = contents.locator(".vt-lessons .vt-done")
    expect(done).to_have_text("0 of 7 answered")
    titles = {name: f"{name} {exercise(name).title}" for name in ("1.1", "1.2")}
    lines = {name: lesson.locator("li", has_text=title) for name, title in titles.items()}
    field = form(lesson, "1.1").get_by_role("textbox", name="your number")
    for answer, mark in (("100", "○"), ("24", "✓"), ("8", "○"), ("24", "✓")):
        field.fill(answer)
        field.press("Enter")
        expect(lines["1.1"]).to_have_text(f"{mark} {titles['1.1']}")
    expect(done).to_contain_text("1 of 7 answered")  # in the tab that was open already
    lesson.reload()
    expect(lines["1.1"]).to_have_text(f"✓ {titles['1.1']}")
    expect(lines["1.2"]).to_have_text(f"○ {titles['1.2']}")
    assert lesson.evaluate("early") == 0  # Chromium would show an empty store, now and then
    lesson.goto(index.as_uri())
    expect(lesson.locator(".vt-lessons .vt-done")).to_contain_text("1 of 7 answered")
    assert lesson.evaluate("early") == 0


def test_a_mask_is_set_from_the_keyboard(lesson: Page) -> None:
    form(lesson, "8.1").get_by_role("button", name="[0, 0]").focus()
    # Row by row, what may be looked at: the first, two, three and three.
    for n_open in (1, 2, 3, 3):
        for _ in range(n_open):
            lesson.keyboard.press("Space")
            lesson.keyboard.press("ArrowRight")
        for _ in range(n_open):
            lesson.keyboard.press("ArrowLeft")
        lesson.keyboard.press("ArrowDown")
    expect(form(lesson, "8.1").get_by_role("button", name="[3, 2]")).to_have_text("True")
    form(lesson, "8.1").get_by_role("button", name="Check").press("Enter")
    expect(told(lesson, "8.1")).to_contain_text("Right.")
    lesson.reload()
    expect(form(lesson, "8.1").get_by_role("button", name="True")).to_have_count(9)


def test_hints_come_one_at_a_time(lesson: Page) -> None:
    asked = form(lesson, "1.1")
    hints = asked.locator(".vt-hints p")
    expect(hints).to_have_count(0)
    asked.get_by_role("button", name="Hint").press("Enter")
    expect(hints).to_have_text([f"Hint 1 of 2: {exercise('1.1').hints[0]}"])
    asked.get_by_role("button", name="Next hint").press("Enter")
    expect(hints).to_have_count(2)
    expect(asked.get_by_role("button", name="hint")).to_have_count(0)
    expect(hints.last).to_be_focused()


def test_a_head_is_chosen_in_the_view_above(lesson: Page) -> None:
    check = form(lesson, "1.2").get_by_role("button", name="Check what is chosen")
    check.press("Enter")
    first = "Not yet. In layer 0, head 0, “tired” gives “animal” only"
    expect(told(lesson, "1.2")).to_contain_text(first)
    heads = lesson.locator(".vt-explorer .vt-heads canvas")
    for key in (*["ArrowRight"] * 3, "ArrowDown", *["ArrowLeft"] * 3):
        heads.press(key)
        check.press("Enter")
        if "Right." in told(lesson, "1.2").text_content():
            break
    expect(told(lesson, "1.2")).to_contain_text("Right. Layer 1, head")
    lesson.reload()
    expect(told(lesson, "1.2")).to_contain_text("Right. Layer 1, head")


def lines_in_order(page: Page) -> list[str]:
    group = form(page, "2.2").get_by_role("group", name="the answer")
    return [text.strip() for text in group.locator("[role=option] > code").all_text_contents()]


LONGEST = "longest = max(map(len, rows))"
RIGHT = "return [row + [pad_id] * (longest - len(row)) for row in rows]"


def test_lines_are_put_in_order_by_keys_and_kept(lesson: Page) -> None:
    asked = form(lesson, "2.2")
    options = asked.get_by_role("option")
    expect(options).to_have_count(4)
    asked.get_by_role("button", name="Check").click()
    expect(told(lesson, "2.2")).to_contain_text("✗ Not yet. You add one <pad> to each short row.")
    expect(asked.locator("[role=option][aria-invalid=true]")).to_have_count(1)
    wrong = [each for each in lines_in_order(lesson) if each not in (LONGEST, RIGHT)]
    for text in wrong:
        options.filter(has_text=text).focus()
        while text in lines_in_order(lesson):
            lesson.keyboard.press("Alt+ArrowDown")
    options.filter(has_text=LONGEST).focus()
    while lines_in_order(lesson)[0] != LONGEST:
        lesson.keyboard.press("Alt+ArrowUp")
    assert lines_in_order(lesson) == [LONGEST, RIGHT]
    asked.get_by_role("button", name="Check").press("Enter")
    expect(told(lesson, "2.2")).to_contain_text("✓ Right.")
    lesson.reload()
    expect(told(lesson, "2.2")).to_contain_text("✓ Right.")
    assert lines_in_order(lesson) == [LONGEST, RIGHT]


def test_lines_are_dragged_with_the_mouse_and_moved_by_buttons(lesson: Page) -> None:
    asked = form(lesson, "2.2")
    expect(asked.get_by_role("option")).to_have_count(4)
    first = lines_in_order(lesson)[0]
    asked.get_by_role("option").filter(has_text=first).hover()
    lesson.mouse.down()
    below = asked.locator(".vt-lines").bounding_box()
    lesson.mouse.move(below["x"] + 40, below["y"] + below["height"] - 2, steps=8)
    lesson.mouse.up()
    assert first not in lines_in_order(lesson)
    asked.get_by_role("button", name="Put back").click()
    assert lines_in_order(lesson)[-1] == first
    asked.get_by_role("button", name="Up").click()
    assert lines_in_order(lesson)[-2] == first
    asked.get_by_role("button", name="Down").click()
    asked.get_by_role("button", name="Leave out").click()
    assert first not in lines_in_order(lesson)


def test_faulty_lines_are_chosen_and_changed_by_keys_and_kept(lesson: Page) -> None:
    asked = form(lesson, "clinic.12")
    check = asked.get_by_role("button", name="Check")
    check.press("Enter")
    expect(asked.get_by_role("alert")).to_have_text(
        "No line is changed yet: choose one, and what should be in its place."
    )
    lines, instead = asked.get_by_role("option"), asked.get_by_role("group", name="in place of the chosen")
    lines.first.focus()
    expect(asked.get_by_text("This line is right: leave it as it is.")).to_have_count(1)
    for _ in range(3):
        lesson.keyboard.press("ArrowDown")
    expect(asked.get_by_role("option", selected=True)).to_contain_text(
        "nn.ModuleList([make_layer()] * n_layers)"
    )
    instead.get_by_role("button", name="copy.deepcopy").press("Enter")
    check.press("Enter")
    expect(told(lesson, "clinic.12")).to_contain_text("✗ Not yet. It still returns None")
    lines.filter(has_text="x = layer(x)").focus()
    instead.get_by_role("button", name="return x").press("Enter")
    check.press("Enter")
    expect(told(lesson, "clinic.12")).to_contain_text("✗ Not yet. There are six layers now, but all have")
    lines.filter(has_text="make_layer()] * n_layers").focus()
    instead.get_by_role("button", name="ModuleList([make_layer() for").press("Enter")
    check.press("Enter")
    expect(told(lesson, "clinic.12")).to_contain_text("✓ Right.")
    lesson.reload()
    expect(told(lesson, "clinic.12")).to_contain_text("✓ Right.")
    expect(lines.filter(has_text="return x").locator("del")).to_have_text("x = layer(x)")
