"""The course as a whole: what every lesson has, and every check both ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.lessons import ASKS, Lesson, exercise_headings, flat, lessons_kernel, run_notebook
from viz_transformer.cli.course import exercise_cell, find_lesson
from viz_transformer.cli.lessons import SOLUTIONS, read_solutions
from viz_transformer.exercises import exercise, exercises_of, lent
from viz_transformer.exercises.answer_types import Function, evaluate
from viz_transformer.exercises.course import GRADING, LESSONS

EXERCISES = [one for lesson in LESSONS for one in exercises_of(lesson)]
#: Run after a cell that asks for a prediction: whatever is guessed, the answer is then shown.
GUESS = """
from viz_transformer.widgets.prediction import live as kinds

asked = Out[max(Out)]  # a lesson may use the name _ for its own
if isinstance(asked, kinds.NumberPrediction):
    asked.guess = 1
elif isinstance(asked, kinds.ChoicePrediction):
    asked.guess = asked.options[0]
elif isinstance(asked, kinds.RowPrediction):
    asked.guess = [1] * len(asked.labels)
elif isinstance(asked, kinds.Explanation):
    asked.guess = {"sentence": "because", "holds": "no"}
else:
    assert isinstance(asked, kinds.KeyPrediction), f"a prediction must be its cell's last line: {asked!r}"
    asked.choice = 0
assert asked.score is not None
"""
#: Words that give a prediction's answer away; a lesson may say them only after the guess.
SECRETS = {
    "2 predict-padding": ("five columns", "four words"),
    "2 predict-nearest": ("too scared", "used alike"),
    "2 predict-shape": ("replaced by its vector",),
    "3 predict-row": ("equal *factors*",),
    "3 predict-shift": ("So only differences count", "factor cancels"),
    "3 predict-width": ("one key gets 0.95", "22.6"),
    "scoring predict-variance": ("so its variance is `d_k`", "independent numbers add up"),
    "scoring predict-slope": ("at most 0.25", "*undecided*"),
    "scoring predict-shape": ("nine",),
    "4 predict-weight": ("1.44", "4.2"),
    "4 predict-value": ("queries and keys alone", "changes the output, and no weight"),
    "5 predict-price": ("cut, not added", "larger model", "as many parameters as before"),
    "5 predict-shortcut": ("a single word",),
    "head_labels predict-name": ("perro*.",),
    "6 predict-shuffle": ("do not change either", "Self-attention is *equivariant*", "order of its terms"),
    "6 predict-shift": ("four parts", "depends only on the distance"),
    "7 predict-two-models": ("B has 0.92", "1.48"),
    "7 predict-validation": ("At first both losses fall", "memorised"),
    "8 predict-padding": ("gives some of its weight", "The next cell measures it"),
    "8 predict-peeking": ("so the model works", "can be attended to*"),
    "9 predict-ffn": ("position-wise", "nowhere else", "one word at a time"),
    "9 predict-share": ("25 million",),
    "initial_loss predict-likeness": ("cannot be recognised",),
    "initial_loss predict-loss": ("repeats",),
    "masks predict-empty": ("0 / 0", "NaN doesn't", "five ways"),
    "block predict-depth": ("the smaller the gradient", "only a little", "falls"),
    "training p1": ("equally good",),
    "training p2": ("has no pattern",),
    "training p3": ("Five of the six",),
    "training p4": ("floor",),
    "11 p2": ("430",),
    "12 predict-it": ("*it* attends to",),
    "13 predict-prompt": ("may well be complete",),
    "13 predict-repeat": ("One earlier occurrence is enough",),
    "13 predict-cache": ("333,833,500",),
    "clinic predict-1": ("only the first word",),
}
#: The lessons that run solved at every change: cheap ones, with exercises of every kind.
AT_EVERY_CHANGE = {"2", "4", "6", "clinic"}


def solutions(lesson: str) -> dict[str, str]:
    """The solved answer cells of a lesson, by exercise."""
    return read_solutions(find_lesson(lesson), SOLUTIONS)


def test_every_notebook_is_a_lesson_with_exercises() -> None:
    notebooks = (Path(__file__).parents[1] / "notebooks").glob("*.ipynb")
    without = {find_lesson("demonstration").path}
    assert {find_lesson(lesson).path for lesson in LESSONS} == set(notebooks) - without


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_has_all_its_parts(lesson: str) -> None:
    here, found = Lesson(lesson), exercises_of(lesson)
    names = [one.name for one in found]
    assert len(found) >= (3 if lesson.isdigit() else 1)
    assert names == [f"{lesson}.{n + 1}" for n in range(len(found))]
    assert all(one.wanted.mistakes and one.hints for one in found)
    # Every exercise has its answer cell, its check cell, its solution and its title.
    cells = [one for cell_id in here.cells if (one := exercise_cell(cell_id))]
    for kind in ("answer", "check"):
        assert [name for each, name in cells if each == kind] == names
    assert list(solutions(lesson)) == names
    titles = [
        f"{one.name if lesson.isdigit() else one.name.partition('.')[2]} · {one.title}" for one in found
    ]
    assert exercise_headings(here) == titles
    # It begins with a question and ends with what to remember.
    first, *_, last = here.texts
    assert first.startswith("# ")
    assert "**The question:**" in first
    remember = last.partition("## Remember")[2]
    assert re.findall(r"^(\d)\. ", remember, flags=re.MULTILINE) == ["1", "2", "3"]
    assert not lesson.isdigit() or "**Next:**" in remember
    name = lesson if lesson.isdigit() else f'"{lesson}"'
    assert list(here.cells.values())[-1] == f"vt.exercises.progress({name})"


def test_no_prediction_is_given_away_on_its_screen() -> None:
    wrong = {}
    for where, secrets in SECRETS.items():
        lesson, cell = where.split()
        here = Lesson(lesson)
        whole = flat(" ".join(here.cells.values()).replace('"\n    "', ""))
        shown = flat(here.on_screen_with(cell))
        for secret in secrets:
            if secret in shown or secret not in whole:
                wrong[where, secret] = "shown too early" if secret in shown else "no longer said"
    assert not wrong


@pytest.fixture(scope="module")
def grading_kernel() -> Iterator[NotebookClient]:
    """A kernel that grades: there, a check that does not pass is an error of its cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GRADING, "1")
        with lessons_kernel() as client:
            yield client


@pytest.mark.parametrize(
    "lesson",
    [pytest.param(each, marks=[] if each in AT_EVERY_CHANGE else pytest.mark.slow) for each in LESSONS],
)
def test_with_its_solutions_every_check_passes_and_every_prediction_is_scored(
    lesson: str, grading_kernel: NotebookClient, tmp_path: Path
) -> None:
    notebook, solved, run = nbformat.read(find_lesson(lesson).path, as_version=4), solutions(lesson), []
    for cell in notebook.cells:
        kind, name = exercise_cell(cell.id) or ("", "")
        if kind == "answer":
            cell.source = solved[name]
        run.append(cell)
        if cell.cell_type == "code" and ASKS.search(cell.source):
            run.append(nbformat.v4.new_code_cell(GUESS))
    notebook.cells = run
    run_notebook(grading_kernel, notebook, tmp_path)


def test_each_likely_mistake_gets_its_own_message() -> None:
    wrong = {}
    for one in EXERCISES:
        messages = [mistake.message for mistake in one.wanted.mistakes]
        if len(set(messages)) < len(messages):
            wrong[one.name, "two mistakes are told alike"] = messages
        for number, mistake in enumerate(one.wanted.mistakes, start=1):
            answer = mistake.answer if isinstance(one.wanted, Function) else evaluate(mistake.answer)
            found = one.check(answer)
            if found.passed or found.message != mistake.message:
                wrong[one.name, number, mistake.message] = str(found)
    assert not wrong


def test_an_odd_answer_gets_a_message_and_no_error() -> None:
    wrong = {}
    for one in EXERCISES:
        for odd in (None, "text", [], {}, object(), range(3), float("nan")):
            try:
                found = one.check(odd)
            except Exception as error:
                wrong[one.name, repr(odd)] = repr(error)
                continue
            if found.passed or not found.message:
                wrong[one.name, repr(odd)] = str(found)
    assert not wrong


def test_a_value_that_the_library_computes_is_not_accepted_as_an_answer() -> None:
    """The formula is to be written: each of these calls what computes it."""
    import torch
    import torch.nn.functional as F

    from viz_transformer.model import attend

    class TorchsNorm(lent.LayerNorm):
        def forward(self, x):
            return F.layer_norm(x, x.shape[-1:], self.scale, self.shift)

    formula, own = "Write the formula yourself", "torch's own"
    wrong = {}
    for name, said, answers in (
        ("2.4", formula, [lambda a, b: torch.cosine_similarity(a, b, dim=0)]),
        ("3.2", own, [lambda s: s.softmax(-1), torch.nn.Softmax(-1), lambda s: s.log_softmax(-1).exp()]),
        ("4.3", formula, [F.scaled_dot_product_attention, lambda q, k, v: attend(q, k, v)]),
        ("9.1", own, [TorchsNorm]),
    ):
        for number, answer in enumerate(answers):
            found = exercise(name).check(answer)
            if found.passed or said not in found.message:
                wrong[name, number] = str(found)
    assert not wrong
