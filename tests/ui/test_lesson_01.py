"""The first lesson as a learner works through it: typing, clicking, predicting, answering."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, expect

from tests.support.on_screen import type_text
from tests.support.ui_explorer import Explorer, places
from tests.support.ui_jupyterlab import LabPage

pytestmark = pytest.mark.slow

LESSON = "01_which_head_attends_where.ipynb"
SENTENCE = "the black cat sleeps"
#: The encoder head of layer 1 that exercise 1.2 asks for.
TELLS = 1


def cell(lab: LabPage, name: str) -> int:
    """Return the index of the lesson's cell with this id."""
    return lab.page.evaluate("(id) => panel.content.widgets.findIndex((cell) => cell.model.id === id)", name)


def output(lab: LabPage, name: str) -> Locator:
    """Bring a cell into view and return its output."""
    index = cell(lab, name)
    lab.select_cell(index)
    return lab.output(index)


@pytest.fixture(scope="module")
def opened(kept_lab: LabPage) -> LabPage:
    """Return the lesson after its first run, from top to bottom."""
    kept_lab.open(LESSON)
    kept_lab.run_all()
    return kept_lab


@pytest.fixture
def lesson(opened: LabPage) -> Iterator[LabPage]:
    """Return the lesson with its first sentence, and hold each test to a page without errors."""
    opened.set_theme("light")
    opened.value(f"setattr(first, 'sentence', {SENTENCE!r})")
    opened.value("first.explorer.set_trait('query', None), first.explorer.set_trait('key', None)")
    opened.errors.clear()
    yield opened
    assert opened.errors == []


def type_sentence(lesson: LabPage, sentence: str) -> Locator:
    """Type into the lesson's field and press Enter; returns the output that it stands in."""
    shown = output(lesson, "start")
    type_text(shown, sentence)
    return shown


def test_a_typed_sentence_changes_the_translation_and_the_picture(lesson: LabPage) -> None:
    shown = type_sentence(lesson, "the white cow does not sleep")
    expect(shown).to_contain_text("la vaca blanca no duerme")
    lesson.wait_for_value("first.translation.text", "la vaca blanca no duerme")
    # The page drew the trace that it made itself, and Python sent none in its place.
    lesson.wait_for_value("first.explorer.data['traces'][0]['sourceTokens'][1]", "white")
    assert lesson.value("first.explorer.data['version']").startswith("vt-")
    lesson.run("first.explorer.query, first.explorer.key = 1, 2")
    weight = lesson.value("float(vt.analysis.weights_between(first.trace, 'cross', 'vaca', 'cow')[1, 1])")
    expect(Explorer(output(lesson, "start")).pair).to_contain_text(f"vaca to cow: {weight:.2f}")


def test_the_exercise_reads_the_click_and_flipping_keeps_the_head(lesson: LabPage) -> None:
    check = cell(lesson, "check-1-2")
    expect(output(lesson, "check-1-2")).to_contain_text("That head belongs to cross-attention")

    explorer = Explorer(output(lesson, "answer-1-2"))
    canvas = explorer.heads
    found = places(canvas, step=4)
    row = [place for place in found if place["y"] == found[-1]["y"]]  # of the last layer, all three kinds
    wide = next(n for n, (one, other) in enumerate(pairwise(row), start=1) if other["x"] - one["x"] > 30)
    canvas.click(position=row[int((TELLS + 0.5) / 4 * wide)])  # the encoder stands on the left
    expect(explorer.title).to_have_text(f"Encoder self-attention · layer 1 · head {TELLS}")
    lesson.run_cell(check)
    expect(output(lesson, "check-1-2")).to_contain_text(f"Right. Layer 1, head {TELLS}: tired → animal")

    # Flipping between the sentences keeps the head.
    lesson.run("search.shown, search.kind = '… too tired', 'encoder'")
    lesson.run("search.explorer.query = 11")
    shown = output(lesson, "answer-1-2")
    explorer = Explorer(shown)
    lesson.run("search.explorer.key = 6")
    output(lesson, "answer-1-2")
    expect(explorer.pair).to_contain_text("tired to street: 0.0")
    shown.get_by_role("button", name="… too wide").click()
    expect(explorer.pair).to_contain_text(re.compile(r"wide to street: (1\.00|0\.9\d)"))
    expect(explorer.title).to_have_text(f"Encoder self-attention · layer 1 · head {TELLS}")


def test_thirty_fast_sentences_end_on_the_last(lesson: LabPage) -> None:
    shown = type_sentence(lesson, SENTENCE)
    shown.get_by_role("button", name="Another sentence").click()
    shown.get_by_label("English").evaluate(
        """(field) => {
            const nouns = ["dog", "cow", "horse"];
            for (let turn = 0; turn < 30; turn++) {
                field.value = `the ${nouns[turn % 3]} ${turn % 2 ? "runs" : "sleeps"}`;
                field.dispatchEvent(new InputEvent("input", {bubbles: true}));
                field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
            }
        }"""
    )
    expect(shown).to_contain_text("el caballo corre")
    lesson.wait_for_value("first.translation.text", "el caballo corre")
    assert lesson.value("first.explorer.trace is first.trace")
