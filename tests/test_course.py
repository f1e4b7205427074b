"""The course as a whole: what every lesson has, and every check both ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.lessons import Lesson, exercise_headings, lessons_kernel, run_notebook
from viz_transformer.cli.assignment import SOLUTIONS, read_solutions
from viz_transformer.cli.course import exercise_cell, find_lesson
from viz_transformer.exercises import exercises_of
from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, evaluate
from viz_transformer.exercises.course import GRADING, LESSONS

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
EXERCISES = [one for lesson in LESSONS for one in exercises_of(lesson)]
MISTAKES = [
    pytest.param(one, mistake, id=f"{one.name}-{number}")
    for one in EXERCISES
    for number, mistake in enumerate(one.wanted.mistakes, start=1)
]
#: In the source of a cell that asks for a prediction.
ASKS = re.compile(r"\bvt\.predict(ion|_number|_choice|_row)\(")
#: Run after a cell that asks for a prediction: whatever is guessed, the answer is then shown.
GUESS = """
from viz_transformer.labs.predictions import (
    ChoicePrediction,
    KeyPrediction,
    NumberPrediction,
    RowPrediction,
)

asked = Out[max(Out)]  # a lesson may use the name _ for its own
if isinstance(asked, NumberPrediction):
    asked.guess = 1
elif isinstance(asked, ChoicePrediction):
    asked.guess = asked.options[0]
elif isinstance(asked, RowPrediction):
    asked.guess = [1] * len(asked.labels)
else:
    assert isinstance(asked, KeyPrediction), f"a prediction must be its cell's last line: {asked!r}"
    asked.choice = 0
assert asked.score is not None
"""

#: These train or search for 15 seconds and more.
LONGEST = {"11", "12", "13", "14"}

every_lesson = pytest.mark.parametrize("lesson", LESSONS)


def solutions(lesson: str) -> dict[str, str]:
    """The solved answer cells of a lesson, by exercise."""
    return read_solutions(find_lesson(lesson), SOLUTIONS)


def test_every_notebook_is_a_lesson_with_exercises() -> None:
    assert {find_lesson(lesson).path for lesson in LESSONS} == set(NOTEBOOKS.glob("*.ipynb"))


@every_lesson
def test_a_lesson_has_at_least_three_exercises_each_with_mistakes_and_hints(lesson: str) -> None:
    found = exercises_of(lesson)
    assert len(found) >= 3
    assert [one.name for one in found] == [f"{lesson}.{n + 1}" for n in range(len(found))]
    assert all(one.wanted.mistakes and one.hints for one in found)


@every_lesson
def test_every_exercise_has_its_answer_cell_its_check_cell_and_its_solution(lesson: str) -> None:
    names = [one.name for one in exercises_of(lesson)]
    found = [one for cell_id in Lesson(lesson).cells if (one := exercise_cell(cell_id))]
    assert [name for kind, name in found if kind == "answer"] == names
    assert [name for kind, name in found if kind == "check"] == names
    assert list(solutions(lesson)) == names


@every_lesson
def test_an_exercise_is_called_in_its_heading_as_in_its_check(lesson: str) -> None:
    titles = [f"{one.name.removeprefix('clinic.')} · {one.title}" for one in exercises_of(lesson)]
    assert exercise_headings(Lesson(lesson)) == titles


@every_lesson
def test_a_lesson_asks_and_says_what_to_remember(lesson: str) -> None:
    here = Lesson(lesson)
    first, *_, last = here.texts
    assert first.startswith("# ")
    assert "**The question:**" in first
    remember = last.partition("## Remember")[2]
    assert re.findall(r"^(\d)\. ", remember, flags=re.MULTILINE) == ["1", "2", "3"]
    assert lesson == "clinic" or "**Next:**" in remember
    name = lesson if lesson.isdigit() else f'"{lesson}"'
    assert list(here.cells.values())[-1] == f"vt.exercises.progress({name})"


@every_lesson
def test_a_lesson_asks_for_predictions_and_folds_their_code(lesson: str) -> None:
    """The answer stands in it."""
    cells = nbformat.read(find_lesson(lesson).path, as_version=4).cells
    asking = [cell for cell in cells if cell.cell_type == "code" and ASKS.search(cell.source)]
    assert asking
    assert all(cell.metadata.get("jupyter") == {"source_hidden": True} for cell in asking)


@pytest.fixture(scope="module")
def grading_kernel() -> Iterator[NotebookClient]:
    """A kernel that grades: there, a check that does not pass is an error of its cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GRADING, "1")
        with lessons_kernel() as client:
            yield client


@pytest.mark.parametrize(
    "lesson",
    [pytest.param(lesson, marks=[pytest.mark.slow] if lesson in LONGEST else []) for lesson in LESSONS],
)
def test_with_its_solutions_every_check_passes_and_every_prediction_is_scored(
    lesson: str, grading_kernel: NotebookClient, tmp_path: Path
) -> None:
    notebook = nbformat.read(find_lesson(lesson).path, as_version=4)
    solved = solutions(lesson)
    run = []
    for cell in notebook.cells:
        kind, name = exercise_cell(cell.id) or ("", "")
        if kind == "answer":
            cell.source = solved[name]
        run.append(cell)
        if cell.cell_type == "code" and ASKS.search(cell.source):
            run.append(nbformat.v4.new_code_cell(GUESS))
    notebook.cells = run
    run_notebook(grading_kernel, notebook, tmp_path)


@pytest.mark.parametrize(("one", "mistake"), MISTAKES)
def test_each_likely_mistake_gets_its_own_message(one: Exercise, mistake: Mistake) -> None:
    is_function = isinstance(one.wanted, Function)
    answer = mistake.answer if is_function else evaluate(mistake.answer)
    found = one.check(answer)
    assert not found.passed
    assert found.message == mistake.message


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.name)
def test_no_two_mistakes_of_an_exercise_are_told_alike(one: Exercise) -> None:
    messages = [mistake.message for mistake in one.wanted.mistakes]
    assert len(set(messages)) == len(messages)


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.name)
@pytest.mark.parametrize("odd", [None, "text", [], {}, object(), range(3), float("nan")])
def test_whatever_is_given_there_is_a_message_and_no_error(one: Exercise, odd: object) -> None:
    assert not one.check(odd).passed
    assert one.check(odd).message
