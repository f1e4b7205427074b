"""What a browser has kept for a page: of this page, of another one, of an earlier version, and malformed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
from tests.support.ui_jupyterlab import errors_of
from viz_transformer.exercises import exercise
from viz_transformer.exercises.forms import form_of
from viz_transformer.widgets.exercise_form import ExerciseForm

EARLIER = "viz-transformer"
#: A fitting answer to each question of the page, by the name under which it is kept.
FITTING = {
    "p1": 3,
    "p2": "gato",
    "p3": [0.25, 0.75],
    "p4": 1,
    "3.p1": 24,
    "exercise 1.1": "24",
    "exercise 2.1": ["1", "2", "3", ""],
    "exercise 4.1": ["1/2", "2", "3"],
    "exercise 6.1": "invariant",
    "exercise 8.1": [True] * 16,
    "exercise 1.2": ["cross", 1, 2],
}
#: Each as the answer to every question; and the questions that it does answer.
MALFORMED: list[tuple[Any, set[str]]] = [
    (None, set(FITTING)),  # nothing was answered
    (0, {"p1", "p4", "3.p1"}),
    (1e308, {"p1", "3.p1"}),
    (-1.5, {"p1", "3.p1"}),
    (True, set()),
    ("NaN", {"exercise 1.1"}),  # as one may type it
    ("(" * 2_000, set()),
    ("9" * 50_000, set()),
    ([], set()),
    ([None] * 2, set()),
    ([1e308, 1e308], set()),
    ([[0.25], [0.75]], set()),
    ([["cross"], 1, 2], set()),
    ({"length": 2, "0": 0.5, "1": 0.5}, set()),
    (json.loads("[" * 500 + "]" * 500), set()),
    ({"__proto__": {"value": 3}, "toString": 3}, set()),
]
#: What may stand in place of all that is kept of a page.
NO_RECORD = [
    "no JSON",
    "3",
    '"text"',
    '[{"answers": {}}]',
    '{"answers": ["24"]}',
    '{"answers": "24", "read": "yes", "aside": 3, "theme": 3}',
    '{"answers": null, "read": null, "__proto__": {"answers": {"p1": 3}}}',
]


PUT_ASIDE = "This browser has kept an answer ({}) that may be to another question. It was put aside."
CANNOT_BE_READ = "Some of what this browser has kept for this page cannot be read. It was put aside."
#: What is said of an answer.
JUDGED = ".vt-verdict"

Opened = Callable[..., tuple[Page, Locator]]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """The beginning of the keys of this folder's pages."""
    return f"{EARLIER} 3 {quote(str(tmp_path))}"


def kept_in(page: Page, key: str) -> Any:
    return json.loads(page.evaluate("(key) => localStorage.getItem(key)", key))


#: Wait until a page's script may read what is kept, and until all its views are drawn.
READ = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))"
ALL_DRAWN = """async () => {
    const isDrawn = (view) => view.dataset.vtDrawn > 0;
    for (let n = 0; n < 600 && !Array.from(document.querySelectorAll(".vt-root")).every(isDrawn); n++)
        await new Promise(requestAnimationFrame);
    return document.querySelectorAll(".vt-root:not([data-vt-drawn])").length;
}"""
KEEP = "(kept) => { for (const [key, text] of Object.entries(kept)) localStorage.setItem(key, text); }"


@pytest.fixture
def opened(new_page: Callable[..., Page], tmp_path: Path, folder_thrown_away: None) -> Opened:
    """A function that opens a page of every question where a browser has kept this: the page and its notes.

    It fails if there is an error in the page, or a view that is not drawn.
    """
    shown = vt.explore(make_trace(), kind="cross")
    forms = [form_of(exercise(name)) for name in ("1.1", "2.1", "4.1", "6.1", "8.1")]
    views = [
        vt.predict_number("How many heads?", 8, name="p1"),
        vt.predict_choice("Which word?", ["gato", "el"], "gato", name="p2"),
        vt.predict_row("Where?", ["el", "gato"], [0.1, 0.9], name="p3"),
        vt.prediction(make_trace(), "Where does it look?", kind="cross", layer=0, head=0, query=0, name="p4"),
        vt.predict_number("How many heads has lesson 3?", 24, name="3.p1"),
        *map(ExerciseForm, forms),
        shown,
        ExerciseForm(form_of(exercise("1.2"), in_view=True), shown),
    ]
    page = new_page(viewport={"width": 1280, "height": 6000})  # all views are in sight
    errors = errors_of(page)

    def open_with(kept: dict[str, Any], name: str = "page") -> tuple[Page, Locator]:
        path = tmp_path / f"{name}.html"
        if not path.exists():
            vt.export_html(views, path)
            page.goto(path.as_uri())
        page.evaluate(READ)
        page.evaluate("localStorage.clear()")
        page.evaluate(
            KEEP, {key: each if isinstance(each, str) else json.dumps(each) for key, each in kept.items()}
        )
        page.goto(path.as_uri())
        page.evaluate(READ)
        assert page.evaluate(ALL_DRAWN) == 0
        assert errors == []
        page.evaluate(READ)  # each view reads what is kept after it is drawn
        return page, page.locator(".vt-note")

    return open_with


@pytest.mark.slow
def test_nothing_malformed_is_taken_for_an_answer(opened: Opened, folder: str) -> None:
    for value, answers in MALFORMED:
        page, notes = opened({f"{folder}/page": {"answers": dict.fromkeys(FITTING, value)}})
        expect(notes, str(value)[:60]).to_have_count(len(FITTING) - len(answers))
        expect(page.locator(JUDGED)).to_have_count(0 if value is None else len(answers))
    assert page.evaluate("({}).value") is None


def test_an_answer_that_does_not_fit_its_question_is_put_aside_and_said(opened: Opened, folder: str) -> None:
    page, notes = opened({f"{folder}/page": {"answers": {**FITTING, "p2": "perro"}}})
    expect(notes).to_have_text([PUT_ASIDE.format("perro")])
    expect(page.locator(JUDGED)).to_have_count(len(FITTING) - 1)
    page.reload()
    page.evaluate(READ)
    expect(page.locator(JUDGED)).to_have_count(len(FITTING) - 1)
    expect(notes).to_have_count(0)  # it is said once
    page.get_by_role("button", name="gato").first.click()
    expect(page.locator(JUDGED)).to_have_count(len(FITTING))
    assert kept_in(page, f"{folder}/page") == {"answers": FITTING, "aside": {"p2": "perro"}}


@pytest.mark.slow
def test_what_no_page_keeps_is_put_aside_whole(opened: Opened, folder: str) -> None:
    for key in (EARLIER, f"{folder}/page"):
        for text in NO_RECORD:
            page, notes = opened({key: text})
            expect(notes, f"{key} {text}").to_have_text([CANNOT_BE_READ])
            assert page.locator(JUDGED).count() == 0
            (aside,) = kept_in(page, key).values()
            assert aside == (json.loads(text) if text[0] == "{" else {"text": text})


def test_an_answer_of_another_page_or_an_earlier_version_returns_where_it_was_given(
    opened: Opened, folder: str
) -> None:
    page, notes = opened({f"{folder}/other": {"answers": FITTING}})
    assert (notes.count(), page.locator(JUDGED).count()) == (0, 0)
    answers = {name.replace("8.1", "7.1"): answer for name, answer in FITTING.items()}
    earlier = {"theme": "dark", "read": {"page.html": True}, "answers": answers}
    page, notes = opened({EARLIER: earlier})
    expect(page.locator(JUDGED)).to_have_count(6)  # the exercises, each of which has a name of its own
    expect(notes.first).to_have_text(PUT_ASIDE.format(3))
    assert set(kept_in(page, f"{folder}/page")["aside"]) == {"p1", "p2", "p3", "p4", "3.p1"}
    assert kept_in(page, EARLIER) == earlier
    page, notes = opened({EARLIER: earlier}, "03_lesson")
    expect(page.locator(JUDGED)).to_have_count(7)
    expect(notes).to_have_count(4)


def test_answers_of_the_fourteen_lessons_return_under_their_new_names(opened: Opened, folder: str) -> None:
    second = folder.replace(f"{EARLIER} 3", f"{EARLIER} 2")
    answers = {"exercise 7.1": [True] * 16, "exercise 8.1": [False] * 16, "exercise 1.1": "24"}
    before = {f"{second}/07_masks": {"answers": answers}, f"{second}/08_masks": {"answers": FITTING}}
    page, notes = opened(before, "08_masks")
    expect(page.locator(JUDGED)).to_have_count(1)  # what was 7.1
    expect(notes).to_have_count(0)
    assert kept_in(page, f"{second}/07_masks") == {"answers": answers}
    page, _ = opened({f"{second}/page": {"answers": FITTING}})  # no lesson of the course
    expect(page.locator(JUDGED)).to_have_count(len(FITTING))
