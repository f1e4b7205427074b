"""What exercises ask for: the right answer passes, and anything else is explained."""

from __future__ import annotations

import functools
import itertools
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import softmax as plain_softmax

import viz_transformer as vt
from tests.support.spanish_models import small_language_model
from viz_transformer.errors import UserError
from viz_transformer.exercises import check, course, exercise, hint, progress, sandbox
from viz_transformer.exercises.answer_types import (
    Array,
    Choice,
    CustomCheck,
    Exercise,
    Function,
    Mistake,
    Number,
)
from viz_transformer.exercises.comparison import all_close
from viz_transformer.exercises.feedback import Check
from viz_transformer.exercises.forbidden import forbidden_name
from viz_transformer.exercises.sandbox import within_time

NUMBER = Number(2.0, (Mistake(4.0, "That is its square."),), right="So it is.")
ARRAY = Array(lambda: np.array([[1.0, 2], [3, 4]]), (Mistake([[1, 3], [2, 4]], "It is transposed."),))
TRUTH = Array(np.array([True, False]))
CHOICE = Choice("query", ("query", "key"), (Mistake("key", "The key is looked at."),))
SCALED = Function(
    lambda row: row / row.sum(),
    lambda rng: (rng.random(3),),
    (
        Mistake(lambda row: row, "It is not scaled."),
        Mistake(lambda row: row @ row.reshape(2, 2), "The shapes do not fit."),
    ),
)
TABLE = Function(
    lambda table: (table.sum(), table.softmax(-1)),
    lambda rng: (torch.from_numpy(rng.random((4, 4))),),
)
MASK = Function(lambda x: x > 0, lambda rng: (rng.normal(size=(3, 5)),))
ONES = Function(lambda x: x * 0 + 1.0, lambda rng: (rng.normal(size=3),))
WORD = Function(lambda number: "ab"[number], lambda rng: (int(rng.integers(2)),))


def told(wanted: Any, answer: Any) -> str:
    return str(Exercise("x.1", "", wanted).check(answer))


def untold(rows: Iterable[tuple[Any, Any, str]]) -> dict[Any, str]:
    """Of what is wanted, answered and to be said about it, the rows for which it is not said."""
    found = {}
    for number, (wanted, answer, message) in enumerate(rows):
        said = told(wanted, answer)
        if message not in said or said.startswith("Right") != message.startswith("Right"):
            found[number, message] = said
    return found


def in_place(row: np.ndarray) -> np.ndarray:
    row /= row.sum()
    return row


def test_a_right_answer_may_come_in_any_form() -> None:
    table = [[1, 2], [3, 4]]
    right = [(NUMBER, answer) for answer in (2, 2.0, 2.01, np.float32(2), torch.tensor(2.0), [2])]
    right += [(ARRAY, answer) for answer in (table, np.array(table, float), torch.tensor(table).float())]
    right += [(TRUTH, [True, False]), (CHOICE, " Query ")]
    right += [(SCALED, lambda row: row / sum(row)), (SCALED, in_place)]  # which changes a copy
    assert not untold((wanted, answer, "Right.") for wanted, answer in right)


def one_nan(table: torch.Tensor) -> torch.Tensor:
    weights = table.softmax(-1)
    weights[1, 2] = torch.nan
    return weights


def raises(row: Any) -> Any:
    raise KeyError("row")


def test_a_wrong_answer_gets_a_message_that_names_the_mistake() -> None:
    numbers = [
        (4, "That is its square."),
        (3, "3 is too large."),
        (1, "1 is too small."),
        ("2", "this is text"),
        ("…", "this is text"),
        (True, "True or False"),
        ([1, 2], "the shape (2,)"),
        (float("nan"), "not a number"),
        (None, "this is None"),
        (int, "the class int"),
        (itertools.count(), "of the type count"),
        ((one for one in [2]), "a generator"),
        (told, "did you mean to call it?"),
        ({"a": 2}, "a dict"),
    ]
    arrays = [
        (torch.tensor([[1.0, 3], [2, 4]], requires_grad=True), "It is transposed."),
        ([1, 2, 3, 4], "It has the shape (4,); it should be (2, 2)."),
        ([[1, 2], [3, 5]], "3 of 4 values are right; the first wrong one is 5, at [1, 1]."),
        ([[1.01, 2], [3, 4]], "round only at the end"),
        ([[1, 2], [3]], "equally long"),
        ([["1", "2"], ["3", "4"]], "without quotation marks"),
        ([[1, 2], [3, None]], "this holds None"),
        ([[1, 2], [3, np.nan]], "NaN"),
        ([[True, True], [True, True]], "not True and False"),
    ]
    choices = [
        ("key", "The key is looked at."),
        ("value", 'Answer with one of "query", "key".'),
        (3, "of the type int"),
    ]
    functions = [
        (lambda row: row, "It is not scaled."),
        (lambda row: row @ row.reshape(2, 2), "The shapes do not fit."),
        (lambda row: ..., "Not answered yet. The function still returns the three dots"),
        (lambda row: None, "returned None: does it end with return?"),
        (lambda row: row[:2], "has the shape (2,); it should be (3,)."),
        (lambda row: 2 * row, "; it should be [0.6721, 0.2847, 0.04323]."),
        (lambda row: row / row.sum() + [0, 0, 2e-4], "]; it should be [0.6721, 0.2847, 0.04323]"),
        (lambda row: row > 0, "but holds True and False; it should hold numbers"),
        (lambda row: iter(row), "of the type iterator"),
        (lambda: 1, "raised TypeError"),
        (raises, "raises(row=[0.637, 0.2698, 0.04097]) raised KeyError: 'row'"),
        (3.0, "Give the function itself"),
    ]
    rows = [(TRUTH, [1, 0], "Give True and False, not numbers.")]
    for wanted, table in ((NUMBER, numbers), (ARRAY, arrays), (CHOICE, choices), (SCALED, functions)):
        rows += [(wanted, answer, message) for answer, message in table]
    assert not untold(rows)


def test_a_message_names_the_first_difference() -> None:
    rows = (
        (TABLE, lambda table: (table.sum(), table.softmax(0)), "[1] has the right shape, but the"),
        (TABLE, lambda table: (table.sum(), one_nan(table)), "1 of 16 places, first at [1, 2]: th"),
        (TABLE, lambda table: (table.sum(), one_nan(table)), "has NaN (“not a number”); it should be 0."),
        (TABLE, lambda table: (table.sum(), table[0]), "[1] has the shape (4,); it should be (4, 4)"),
        (TABLE, lambda table: (table.max(), table), "[0] is 0.9"),
        (TABLE, lambda table: (table.sum() + 2e-3, table), "[0] is 8.122; it should be 8.12."),
        (TABLE, lambda table: (table.sum(),), "is a tuple of 1; it should be a tuple of 2"),
        (TABLE, lambda table: table, "is of the type Tensor; it should be a tuple of 2"),
        (MASK, lambda x: (x > 0).astype(int), "but holds numbers; it should hold True and False"),
        (MASK, lambda x: x < 0, "in 15 of 15 places, first at [0, 0]: there it has False; it should be T"),
        (ONES, lambda x: x * 0 + [1, 1.0003, 1], "first at [1]: there it has 1.0003; it should be 1."),
        (WORD, lambda number: "ba"[number], "is 'a'; it should be 'b'."),
        (WORD, lambda number: number, "is of the type int; it should be 'b'."),
    )
    assert not untold(rows)
    said = [told(wanted, answer) for wanted, answer, _ in rows]
    assert not [each for each in said if re.search(r" is (.+); it should be \1\.", each)]


def test_an_answer_rounded_too_early_gets_its_message() -> None:
    early = [(0.1353, 0.14), (0.1353, 0.1), (-0.1353, -0.14), (33.4, 33), (0.0449, 0.04)]
    otherwise_wrong = [(0.1353, 0.13), (1.6, 2), (0.1353, -0.14), (24, 24.4), (0.5, float("inf"))]
    otherwise_wrong += [(0.1353, 0.0), (0.0449, 0.045)]  # as coarse as a guess, and near enough to be right
    for value, answer in early + otherwise_wrong:
        message = told(Number(value, tolerance=1e-3 if value == 33.4 else 1e-2), answer)
        assert ("rounded too early" in message) == ((value, answer) in early), (value, answer)
    for decimals in (1, 2, 3):
        results = told(SCALED, lambda row, n=decimals: np.round(row / row.sum(), n))
        both = told(TABLE, lambda x, n=decimals: [each.round(decimals=n) for each in TABLE.reference(x)])
        assert "right, but rounded" in results
        assert "right, but rounded" in both
        assert "rounded" not in told(SCALED, lambda row, n=decimals: np.round(row, n))


def test_a_long_call_is_described_by_its_shapes() -> None:
    """What went wrong stands before the shapes, and no numbers before it."""
    projected = Function(
        lambda x, first, second: x @ first @ second,
        lambda rng: (rng.random((2, 3)), rng.random((3, 4)), rng.random((4, 3))),
    )

    def project(x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return x[5]

    assert told(projected, project) == (
        "Not yet. project(x, first, second) raised IndexError: index 5 is out of bounds for axis 0 with "
        "size 2. The shapes: x (2, 3), first (3, 4), second (4, 3)."
    )


def test_a_wrong_axis_of_layer_norm_is_known() -> None:
    for axis in (0, 1, (0, 1)):

        class LayerNorm(torch.nn.Module):
            axes = axis

            def __init__(self, d_model: int) -> None:
                super().__init__()
                self.scale = torch.nn.Parameter(torch.ones(d_model))
                self.shift = torch.nn.Parameter(torch.zeros(d_model))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                variance = x.var(self.axes, keepdim=True, correction=0) + 1e-5
                return (x - x.mean(self.axes, keepdim=True)) / variance.sqrt() * self.scale + self.shift

        said = told(exercise("9.1").wanted, LayerNorm)
        assert "one word" in said.replace("for each", "for one"), axis


def test_a_function_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "LIMIT_S", 0.2)
    turns = []

    def endless(row: np.ndarray) -> None:
        while True:
            with suppress(Exception):
                turns.append(1)

    assert "a loop that never stops" in told(SCALED, endless)
    n_turns = len(turns)
    time.sleep(0.1)
    assert len(turns) == n_turns  # it does not go on behind our back


def test_a_with_block_is_left_properly_when_an_answer_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is the learner's: with torch's gradients off it could not train any more."""
    model, ids = small_language_model().model, torch.tensor([[1, 2, 3]])
    before = model(ids)
    turns: list[int] = []
    monkeypatch.setattr(sandbox, "_computed", lambda: 1000 * len(turns))  # so it is ended in the loop
    monkeypatch.setattr(sandbox, "_ASLEEP_S", 100)

    def endless() -> None:
        with vt.interventions(model, heads=[vt.HeadChange("decoder", layer=0, head=0, factor=0)]):
            while True:
                with torch.no_grad(), suppress(ValueError):
                    torch.ones(3)
                    turns.append(1)

    for _ in range(10):  # at any of its steps
        turns.clear()
        with pytest.raises(TimeoutError):
            within_time(100, endless)
        assert turns
        assert torch.is_grad_enabled()
        assert torch.equal(model(ids), before)


def test_the_stop_of_an_answer_is_not_raised_outside_it() -> None:
    """An answer whose time is up just as it returns: it once ended the kernel instead, and once hung it."""
    rng, ended = Random(0), 0

    def short(turns: int) -> None:
        for _ in range(turns):
            with suppress(BaseException):
                torch.ones(9) @ torch.ones(9)

    for _ in range(150):
        turns = rng.choice([0, rng.randrange(1_000), 10**9])
        try:
            within_time(0, lambda turns=turns: within_time(0, lambda: short(turns)))  # type: ignore[misc]
        except TimeoutError:
            ended += 1
        assert sys.exc_info() == (None, None, None)  # nothing of it is left behind
    assert 0 < ended < 150  # both were met


class Undying:
    def __del__(self) -> None:
        while True:
            try:
                len("")
            except BaseException:
                break


def in_three_withs() -> None:
    while True:
        with suppress(BaseException), suppress(BaseException), suppress(BaseException):
            while True:
                pass


def in_an_endless_exit() -> None:
    class Endless:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            while True:
                pass

    with Endless():
        pass


def in_two_loops() -> None:
    while True:
        try:
            while True:
                try:
                    torch.ones(3)
                except BaseException:
                    continue
        except BaseException:
            continue


def in_a_finaliser() -> None:
    while True:
        Undying()


def asleep() -> None:
    time.sleep(10**6)


def waiting() -> None:
    threading.Event().wait()


@pytest.mark.parametrize(
    "endless", [in_three_withs, in_an_endless_exit, in_two_loops, in_a_finaliser, asleep, waiting]
)
def test_an_answer_that_catches_everything_or_waits_is_ended(endless: Callable[[], None]) -> None:
    before = threading.active_count()
    for seconds in (0, 0.02):
        with pytest.raises(TimeoutError):
            within_time(seconds, endless)
    assert threading.active_count() == before


class FakeClock:
    """A processor of which the work gets a share at every look, and the looks themselves a little."""

    def __init__(self, share: Callable[[float], float]) -> None:
        self.share, self.now, self.work, self.looking = share, 0.0, 0.0, 0.0

    def wait(self, seconds: float) -> bool:
        """Let time pass; the work is never over, and once it is to be ended it ends."""
        if seconds == sandbox._TELL_S:
            return True
        self.work += self.share(self.now) * seconds
        self.now, self.looking = self.now + seconds, self.looking + 0.01 * seconds
        return False

    def process_time(self) -> float:
        return self.work + self.looking

    def thread_time(self) -> float:
        return self.looking


def test_a_sleeping_answer_is_stopped_and_a_waiting_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, share, ended in (
        ("computes", lambda _: 1, 3),
        ("sleeps", lambda _: 0, 4),
        ("wakes up now and then, to ask whether it may go on", lambda now: 0.001 * (now % 0.5 < 0.1), 4),
        ("sleeps after it has computed", lambda now: now < 0.9, 5),
        ("waits for its turn among thirty busy kernels on two processors", lambda _: 1 / 15, 12),
        ("waits for a turn that takes 1.5 s", lambda now: now % 1.5 > 1.4, 12),
    ):
        clock, limit = FakeClock(share), sandbox._Limit()
        monkeypatch.setattr(sandbox, "time", clock)
        monkeypatch.setattr(sandbox, "_limits", [limit])
        limit.is_over = clock  # type: ignore[assignment]
        limit.watch(3)
        assert limit.is_up, name
        assert clock.now == pytest.approx(ended, abs=0.2), name


def test_the_innermost_limit_stops_a_sleeping_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the check around it can say more of it than that it has no end."""
    monkeypatch.setattr(sandbox, "_ASLEEP_S", 0.2)
    assert isinstance(within_time(30, lambda: sandbox.call_each(asleep, [()]))[-1], TimeoutError)
    with pytest.raises(TimeoutError):
        within_time(30, asleep)
    # What `waiting` raises while it is ended, as it releases its condition twice, is no answer.
    assert [type(each) for each in sandbox.call_each(waiting, [(), ()])] == [TimeoutError]


def test_an_answer_outside_the_main_thread_has_no_limit() -> None:
    """A signal reaches the main thread only."""
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(within_time(0, lambda: sum(range(10**6)))))
    other.start()
    other.join()
    assert found == [499_999_500_000]


def test_values_agree_by_what_they_hold() -> None:
    alike = [((1, [2.0, 3.0]), (1, np.array([2, 3]))), ({"a": 1}, {"a": 1.0}), (["a", "b"], ("a", "b"))]
    alike += [(ValueError("a"), ValueError("b"))]
    different = [({"a": 1}, {"b": 1.0}), (["a"], ["a", "b"]), ([True], [1]), (None, 0)]
    different += [(ValueError("a"), KeyError("a"))]
    assert [pair for pair in alike if not all_close(*pair, 1e-6)] == []
    assert [pair for pair in different if all_close(*pair, 1e-6)] == []


class OwnModule(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.softmax(-1)


def by_hand(x: torch.Tensor) -> torch.Tensor:
    power = x.exp()
    return power / power.sum(-1, keepdim=True)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """A function of this name that is the learner's own."""
    return by_hand(x)


def imported_inside(x: torch.Tensor) -> torch.Tensor:
    from torch import softmax as other_name

    return other_name(x, -1)


def helped(x: torch.Tensor) -> torch.Tensor:
    return OwnModule()(x)


def enclosed() -> Any:
    scale = torch.softmax
    return lambda x: scale(x, -1)


FORBIDDING = Function(
    by_hand,
    lambda rng: (torch.from_numpy(rng.random((2, 3))),),
    forbidden={"einsum": "No einsum.", "softmax": "Write it out."},
)


def test_a_forbidden_name_is_found_wherever_it_is_used() -> None:
    answers = (
        lambda x: torch.softmax(x, -1),
        lambda x: torch.softmax(x, 0),  # wrong besides: of the forbidden name it is told first
        lambda x: F.softmax(x, -1),
        lambda x: x.softmax(-1),
        lambda x: torch.stack([row.softmax(-1) for row in x]),
        lambda x: plain_softmax(x, -1),
        functools.partial(torch.softmax, dim=-1),
        torch.softmax,
        functools.partial(F.softmax, dim=-1),
        torch.nn.Softmax(dim=-1),
        OwnModule(),
        imported_inside,
        helped,
        enclosed(),
    )
    assert [forbidden_name(each, FORBIDDING.forbidden) for each in answers] == ["softmax"] * len(answers)
    assert {told(FORBIDDING, each) for each in answers} == {"Not yet. Write it out."}
    assert told(FORBIDDING, lambda x: torch.einsum("ij->ji", x)) == "Not yet. No einsum."
    # A function of one's own may have any name.
    for own in (by_hand, softmax, lambda softmaxes: by_hand(softmaxes)):
        assert told(FORBIDDING, own) == "Right."


@pytest.fixture
def small_course(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    small = (
        Exercise("7.1", "A number", NUMBER, ("the first", "the second")),
        Exercise("7.2", "Its own", CustomCheck(lambda given: Check(given == 3, "Three?"), 3)),
    )
    monkeypatch.setattr(course, "LESSONS", ("7",))
    monkeypatch.setattr(course, "exercises_of", lambda lesson: small)
    course._hints_given.clear()


@pytest.mark.usefixtures("small_course")
def test_an_exercise_is_checked_by_its_name_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    unanswered = check("7.1")
    assert not unanswered.answered
    assert str(unanswered).startswith("Not answered yet.")
    assert course.kept.solved() == set()  # what is not answered is no try
    assert str(progress(7)) == "○ 7.1 A number\n○ 7.2 Its own"
    assert str(check("7.1", 2)) == "Right. So it is."
    assert str(check("7.2", 4)) == "Not yet. Three?"
    assert str(progress(7)) == "✓ 7.1 A number\n○ 7.2 Its own"
    assert str(progress()) == "○ Lesson 7  1 of 2"
    assert "✓ 7.1" in progress(7)._repr_html_()
    # Hints come one by one.
    hints = ["Hint 1 of 2: the first", "Hint 2 of 2: the second", "Hint 2 of 2: the second"]
    assert [str(hint("7.1")) for _ in range(3)] == hints
    assert "no hint" in str(hint("7.2"))
    with pytest.raises(UserError, match=r"no exercise '7.9'; this lesson has 7.1, 7.2"):
        exercise("7.9")
    # Where answers are graded, a wrong one is an error.
    monkeypatch.setenv(course.GRADING, "1")
    assert check("7.1", 2)
    for answer, message in ((3, "Not yet"), (..., "Not answered")):
        with pytest.raises(AssertionError, match=message):
            check("7.1", answer)


def test_an_unknown_lesson_is_refused() -> None:
    with pytest.raises(UserError, match="there is no lesson '99'"):
        exercise("99.1")
