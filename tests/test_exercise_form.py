"""Exercises that a page checks: each answer gets the words that Python gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.hand_made_traces import make_trace
from tests.support.javascript import answers_in_node
from tests.support.lessons import Lesson
from viz_transformer.exercises import check, exercise, exercises_of, lent
from viz_transformer.exercises.answer_types import (
    Array,
    Choice,
    Exercise,
    Function,
    Mistake,
    Number,
    evaluate,
)
from viz_transformer.exercises.comparison import as_array
from viz_transformer.exercises.course import LESSONS
from viz_transformer.exercises.forms import form_of
from viz_transformer.widgets.exercise_form import ExerciseForm
from viz_transformer.widgets.explorer import explore

EVERY = [each for lesson in LESSONS for each in exercises_of(lesson)]
IN_PAGE = [each for each in EVERY if isinstance(each.wanted, Number | Array | Choice)]
SCRIPTS = {"check": "widgets/exercise_form/checking.ts"}
#: What the forms make of answers: verdict and message, or why one is not checked.
ANSWER = """(forms) => forms.map(({ asked, answers }) => answers.map((answer) => {
  const { passed, message } = check(asked, answer);
  return passed === undefined ? message : `${passed ? "Right." : "Not yet."} ${message}`.trim();
}))"""


@cache
def form_in_page(name: str) -> dict[str, Any] | None:
    """The form of an exercise of the course; the clinic's take a second each."""
    return form_of(exercise(name))


def answers_to(wanted: Number | Array | Choice) -> Iterator[Any]:
    """The right answer, each mistake's, and some that nobody foresaw."""
    yield evaluate(wanted.value)
    for mistake in wanted.mistakes:
        yield evaluate(mistake.answer)
    if isinstance(wanted, Number):
        value = float(evaluate(wanted.value))
        yield from (0, -1, 1.5 * value, value + 1, -value, 1e300, -7.25e-5, 123456.789, 1000.5, 1001.5, 2 / 3)
        yield from (value * (1 + 0.9 * wanted.tolerance), value * (1 - 1.1 * wanted.tolerance))
        yield from (float("nan"), float("inf"), -float("inf"))
        yield from (round(value, n) for n in range(5))
    if isinstance(wanted, Array):
        value = as_array(evaluate(wanted.value))
        rng = np.random.default_rng(0)
        yield from (np.zeros_like(value), np.ones_like(value), rng.random(value.shape) < 0.5)
        if value.dtype.kind != "b":
            yield from (value + 0.5 * wanted.tolerance, value + 2 * wanted.tolerance, value * 1.01)
            yield from (value[:-1], value[:1], value * np.nan, np.where(value == value[0], np.inf, value))
            yield rng.normal(size=value.shape).astype(np.float32)


def typed(asked: dict[str, Any], answer: Any) -> Any:
    """An answer as it stands in the fields; None where they have no place for it."""
    if asked["kind"] == "choice":
        return answer
    if asked["kind"] == "number":
        return repr(float(answer))
    array = as_array(answer)
    fits = array.ndim == 1 if asked["kind"] == "row" else list(array.shape) == asked["value"]["shape"]
    truth = isinstance(asked["value"]["data"][0], bool)
    if not fits or array.size > asked["n_fields"] or truth != (array.dtype.kind == "b"):
        return None
    if truth:
        return array.ravel().tolist()
    texts = [repr(value) for value in array.ravel().tolist()]
    return texts + [""] * (asked["n_fields"] - len(texts))


def as_python_reads(asked: dict[str, Any], fields: Any) -> Any:
    """What stands in the fields, as one would write it in a notebook."""
    if asked["kind"] == "number":
        return float(fields)
    if asked["kind"] == "row":
        numbers = [float(text) for text in fields if text]
        return [int(each) for each in numbers] if all(map(float.is_integer, numbers)) else numbers
    return np.reshape(fields, asked["value"]["shape"]) if asked["kind"] == "table" else fields


def test_every_answer_gets_python_s_words() -> None:
    forms = []
    for one in IN_PAGE:
        asked = form_of(one)
        answers = [typed(asked, each) for each in answers_to(one.wanted)]
        forms.append({"asked": asked, "answers": [each for each in answers if each is not None]})
    wrong = {}
    for one, form, told in zip(IN_PAGE, forms, answers_in_node(SCRIPTS, ANSWER, forms), strict=True):
        asked, answers = form["asked"], form["answers"]
        by_python = [str(one.check(as_python_reads(asked, each))) for each in answers]
        foreseen = {each.message for each in one.wanted.mistakes}
        if asked["kind"] == "table":  # its cells have no place for mistakes of another shape
            foreseen = set()
        unsaid = foreseen - {each.removeprefix("Not yet. ") for each in told}
        if told != by_python or not told[0].startswith("Right.") or unsaid:
            wrong[one.name] = [pair for pair in zip(told, by_python, strict=True) if len(set(pair)) > 1]
    assert not wrong


def test_every_exercise_of_the_course_has_a_form() -> None:
    without = {each.name for each in EVERY if not form_in_page(each.name)}
    assert without == {"1.2"}  # a head is chosen in the view that the lesson shows
    assert form_of(Exercise("x.1", "Many", Array(np.zeros(41)))) is None
    # How long a row is may be the question: 2.1 has three ids, and one of its mistakes four.
    asked = form_of(exercise("2.1"))
    assert (asked["kind"], asked["value"]["shape"], asked["n_fields"]) == ("row", [3], 4)


@pytest.mark.usefixtures("folder_thrown_away")
def test_an_unanswered_check_has_a_form_which_keeps_the_answer_and_does_not_tell_it() -> None:
    unanswered, title = check("1.1", ...), EVERY[0].title
    assert unanswered.as_form() == (form_of(EVERY[0]), None)
    told = (repr(unanswered), str(unanswered), unanswered._repr_html_())
    assert not any("24" in text for text in told)
    assert not hasattr(check("1.1", 8), "as_form")
    form = ExerciseForm(form_of(EVERY[0]))
    assert form.keeps == {"name": "exercise 1.1", "trait": "answer"}
    assert form.alt_text() == f"Exercise 1.1: {title}."
    form.answer = "24"
    assert form.alt_text() == f"Exercise 1.1: {title}. The answer given: 24."
    assert form.figure() is None


@pytest.mark.usefixtures("folder_thrown_away")
def test_a_choice_in_a_view_is_judged_before_python_is_asked() -> None:
    """A page asks the view, and finds what Python says of each head."""
    one = exercise("1.2")
    view = explore(make_trace(), kind="cross")
    asked, shown = check("1.2", view).as_form()
    assert shown is view
    assert asked == form_of(one, in_view=True)
    answers = [values for values, _, _ in asked["checks"]]
    assert len(answers) == 3 * 2 * 4
    (told,) = answers_in_node(SCRIPTS, ANSWER, [{"asked": asked, "answers": answers}])
    for (kind, layer, head), said in zip(answers, told, strict=True):
        assert said == str(one.check(SimpleNamespace(kind=kind, layer=layer, head=head)))
    assert sum(said.startswith("Right.") for said in told) == 1
    assert ExerciseForm(asked, shown).keeps["name"] == "exercise 1.2"
    assert not hasattr(check("1.2", (1, 3)), "as_form")
    assert check("1.2", ...).as_form() is None  # there is no view to choose in


#: Which orders of the lines a page accepts.
ACCEPTED = "(forms) => forms.map(({ asked, orders }) => orders.filter((each) => check(asked, each).passed))"


def rescaled(x: Tensor, scale: float) -> Tensor:
    """Return a sum of a few steps, of which the first three may change places."""
    total = 0
    mean = x.mean()
    spread = x.std()
    for each in x - mean:  # [position]
        each = each * scale
        total = total + each / spread
    return total


def by_the_variance(x: Tensor, scale: float) -> Tensor:
    total = 0
    mean = x.mean()
    spread = x.var()
    for each in x - mean:  # [position]
        each = each * scale
        total = total + each / spread
    return total


def numbers(rng: np.random.Generator) -> tuple[Any, ...]:
    return torch.from_numpy(rng.normal(size=4)), float(rng.normal())


STEPS = Exercise("x.1", "Steps", Function(rescaled, numbers, (Mistake(by_the_variance, "Squared."),)))


def test_lines_are_right_in_every_order_in_which_python_computes_the_same() -> None:
    forms, asked = [], []
    for one in (STEPS, *EVERY):
        form = form_of(one) if one is STEPS else form_in_page(one.name) or {}
        right = [at for at, (_, wrong) in enumerate(form.get("lines", [])) if wrong is None]
        if 0 < len(right) < 8:
            forms.append({"asked": form, "orders": list(permutations(right))})
            asked.append(one)
    assert len(forms) > 4
    accepted = answers_in_node(SCRIPTS, ACCEPTED, forms)
    assert len(accepted[0]) == 6
    for one, form, orders in zip(asked, forms, accepted, strict=True):
        assert orders, one.name
        for order in orders:
            head, lines = form["asked"]["head"], form["asked"]["lines"]
            names = {**vars(lent), "__name__": "an answer", "np": np}
            exec("\n".join([head, *(lines[at][0] for at in order)]), names)
            assert one.check(names[head.split("(")[0].split()[-1]]).passed, (head, order)


def test_a_wrong_order_is_explained() -> None:
    asked = form_of(STEPS)
    assert asked["head"] == "def rescaled(x, scale):"
    at = {line.strip(): place for place, (line, _) in enumerate(asked["lines"])}
    mean, spread, squared = at["mean = x.mean()"], at["spread = x.std()"], at["spread = x.var()"]
    opening = "for each in x - mean:  # [position]"
    total, loop, end = at["total = 0"], at[opening], at["return total"]
    inside = [at["each = each * scale"], at["total = total + each / spread"]]
    answers = {
        "Right.": [spread, total, mean, loop, *inside, end],
        "Not yet. Squared.": [total, mean, squared, loop, *inside, end],
        "Not yet. A line that the code needs is left out.": [total, mean, spread, loop, *inside],
        f"Not yet. “{opening}” needs mean, which “mean = x.mean()” sets.": [
            *(total, spread, loop),
            *(*inside, mean, end),
        ],
        "Not yet. What comes after “return total” is not run.": [end, total, mean, spread, loop, *inside],
        f"Not yet. The lines that are indented below “{opening}” follow it, one after another.": [
            *(total, mean, spread),
            *(*inside, loop, end),
        ],
    }
    (told,) = answers_in_node(SCRIPTS, ANSWER, [{"asked": asked, "answers": list(answers.values())}])
    assert told == list(answers)


def test_code_with_gaps_is_a_choice_in_each() -> None:
    first = Choice("-1", ["0", "-1"], [Mistake("0", "Along the keys.")])
    second = Choice("@", ["*", "@"], [])
    one = Exercise(
        "x.1", "Gaps", Function(abs, lambda _: ()), lines="s.softmax(___) ___ v", gaps=(first, second)
    )
    asked = form_of(one)
    assert (asked["kind"], asked["code"]) == ("gaps", "s.softmax(___) ___ v")
    answers = {
        ("", "@"): "Gap 1 is still empty.",
        ("0", "*"): "Not yet. Along the keys.",
        ("-1", "*"): "Not yet. Gap 2 is not right yet.",
        ("-1", "@"): "Right.",
    }
    (told,) = answers_in_node(SCRIPTS, ANSWER, [{"asked": asked, "answers": list(answers)}])
    assert told == list(answers.values())


def filled(code: str, chosen: list[str]) -> str:
    for each in chosen:
        code = code.replace("___", each, 1)
    return code


def given_by(one: Exercise, code: str) -> Any:
    """Run code, and return the function or the value that it makes; a method as one of its class."""
    names: dict[str, Any] = {**vars(lent), "__name__": "an answer", "np": np, "page": "word " * 200}
    exec(code, names)
    made = ast.parse(code).body[-1]
    if not isinstance(made, ast.FunctionDef | ast.ClassDef):
        return [*names.values()][-1]
    if made.name == "forward":
        lesson, _, number = one.name.partition(".")
        exec(Lesson(lesson)[f"answer-{lesson}-{number}"], names)
        names[one.part].forward = names["forward"]
        return names[one.part]
    return names[made.name]


#: Choices that Python accepts, whose results are the same, or which a person judges.
ALSO_ACCEPTED = {
    *(("10.2", 0, "target"), ("10.2", 3, "batch_loss"), ("12.1", 0, "heads")),
    ("project.1", 3, '"Head 1·0 matters more: without it the loss is 0.52."'),
    ("project.1", 3, '"Neither head matters."'),
}


def test_gaps_are_right_where_python_says_so_and_each_other_choice_is_told_why() -> None:
    wrong = {}
    for one, form in [(each, form_in_page(each.name)) for each in EVERY if each.gaps]:
        right = [gap["value"] for gap in form["gaps"]]
        for at, gap in enumerate(form["gaps"]):
            if {each for each, _ in gap["mistakes"]} != {*gap["options"]} - {gap["value"]}:
                wrong[one.name, at] = gap["mistakes"]
            for option in gap["options"] if one.name != "block.4" else ():  # its lines are names, not code
                code = filled(form["code"], [*right[:at], option, *right[at + 1 :]])
                accepted = option == gap["value"] or (one.name, at, option) in ALSO_ACCEPTED
                if one.check(given_by(one, code)).passed != accepted:
                    wrong[one.name, at] = option
    assert not wrong


@pytest.mark.usefixtures("folder_thrown_away")
def test_an_excerpt_that_is_as_it_was_given_has_a_form() -> None:
    as_given, another, *_ = exercise("clinic.2").wanted.mistakes
    found = check("clinic.2", as_given.answer)
    assert (found.answered, found.as_form()) == (True, (form_in_page("clinic.2"), None))
    assert not hasattr(check("clinic.2", another.answer), "as_form")


def test_a_fault_is_repaired_by_changing_its_lines() -> None:
    """Each combination of changes gets Python's words; leaving the excerpt as it is gets none."""
    clinic = exercises_of("clinic")
    forms = [{"asked": form_in_page(one.name), "answers": []} for one in clinic]
    for form in forms:
        form["answers"] = [chosen for chosen, _, _ in form["asked"]["checks"]]
    for one, form, told in zip(clinic, forms, answers_in_node(SCRIPTS, ANSWER, forms), strict=True):
        _, (passed, *_), messages = zip(*form["asked"]["checks"], strict=True)
        assert not passed
        assert told[0] == "No line is changed yet: choose one, and what should be in its place."
        assert any(each.startswith("Right.") for each in told)
        assert messages[0] == one.wanted.mistakes[0].message  # of the excerpt as it was handed out
        foreseen = {each.message for each in one.wanted.mistakes} - {messages[0]}
        assert len(foreseen & {each.removeprefix("Not yet. ") for each in told}) >= 2, one.name
