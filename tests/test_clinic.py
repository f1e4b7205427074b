"""The repair clinic: each excerpt has the mistake that its text describes, and its numbers hold."""

from __future__ import annotations

import copy
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.support.lessons import Lesson
from viz_transformer.cli.course import find_lesson
from viz_transformer.cli.lessons import SOLUTIONS, read_solutions
from viz_transformer.exercises import course, exercise, exercises_of
from viz_transformer.exercises.answer_types import Function
from viz_transformer.exercises.clinic.decoding import toy_step
from viz_transformer.exercises.clinic.hidden_tests import HiddenTests, Property, WrongAnswer
from viz_transformer.exercises.clinic.training import start_loss
from viz_transformer.exercises.instruments import leak_meter, trace_shapes, who_learns
from viz_transformer.widgets.mask_lab.composition import MISTAKES

ROOT = Path(__file__).parents[1]
LESSON = Lesson("clinic")
CASES = [one.name for one in exercises_of("clinic")]
every_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def solutions() -> dict[str, str]:
    return read_solutions(find_lesson("clinic"), SOLUTIONS)


@pytest.fixture
def room() -> dict[str, Any]:
    """What the notebook's first cell leaves behind."""
    return LESSON.run("instruments")


def answer_of(source: str, room: dict[str, Any]) -> Any:
    """Run an answer cell, and return what it defines."""
    exec(compile(source, "answer", "exec"), room)
    (name,) = re.findall(r"^(?:def|class) (\w+)", source, flags=re.MULTILINE)
    return room[name]


def excerpt(name: str, room: dict[str, Any]) -> Any:
    return answer_of(LESSON[f"answer-{name.replace('.', '-')}"], room)


def test_it_covers_all_five_articles() -> None:
    told = {cell for cell in LESSON.cells if re.fullmatch(r"case-\d+", cell)}
    assert told == {f"case-{number + 1}" for number in range(len(CASES))}
    systems = (ROOT / "docs" / "contributing" / "systems.md").read_text(encoding="utf-8")
    of_article = re.findall(r"^\| ([A-E])\.\d+ \|.*clinic\.ipynb", systems, flags=re.MULTILINE)
    assert set(of_article) == set("ABCDE")
    # The lab of section 2 opens on a mistake that it knows.
    assert "inverted" in MISTAKES
    assert "Some of the cases below are in the list." in LESSON.prose


@every_case
def test_each_excerpt_as_given_out_gets_the_message_of_its_first_mistake(
    name: str,
    room: dict[str, Any],
    solutions: dict[str, str],
    folder_thrown_away: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which test fails at the first check, and why at the second; after a repair the symptom again."""
    monkeypatch.setattr(course, "_symptoms_told", set())
    ill = excerpt(name, room)
    found = exercise(name).check(ill)
    assert not found.passed
    assert found.answered
    assert found.message == exercise(name).wanted.mistakes[0].message
    assert "still" in found.message.lower()
    first, second = (course.check(name, ill).message for _ in range(2))
    assert first.endswith("Run this check again to read why.")
    assert found.message not in first
    assert second == found.message
    assert "[[" not in first, "a table of numbers hides what went wrong"
    assert len(first) < 300
    assert course.check(name, answer_of(solutions[name], room)).passed
    assert course.check(name, ill).message == first


@every_case
def test_the_solutions_heal_every_case(name: str, solutions: dict[str, str], room: dict[str, Any]) -> None:
    one = exercise(name)
    torch.manual_seed(3)
    expected = torch.randn(2)
    torch.manual_seed(3)
    found = one.check(answer_of(solutions[name], room))
    assert found.passed, found.message
    assert found.message
    assert torch.equal(torch.randn(2), expected), "torch's own seed is left alone"
    right = one.wanted.reference if isinstance(one.wanted, Function) else one.wanted.right_answer
    assert one.check(right).passed
    assert len(one.wanted.mistakes) >= 3
    assert len(one.hints) == 2


def test_the_instruments_show_what_is_ill_and_that_the_healthy_one_is_healthy(room: dict[str, Any]) -> None:
    x = room["x"]
    assert not leak_meter(room["healthy"], x).leaks.any()
    learning = who_learns(room["healthy"], x)
    assert not learning.silent
    assert not learning.twins
    shapes = [each.output for each in trace_shapes(room["healthy"], x).steps]
    assert "[1, 2, 4, 4]" in shapes  # “a table of weights for each of two heads”
    assert shapes[-1] == "[1, 4, 8]"
    # 4: the mask the other way round, and in the last row no number.
    excerpt("clinic.4", room)
    exec(LESSON["symptom-4"].rpartition("\n")[0], room)
    measured = leak_meter(room["masked_self_attention"], x)
    assert measured.leaks.sum() == 6
    assert np.isnan(measured.changes[:, -1]).all()
    assert not measured.moved[:-1, :-1][np.triu_indices(3, 1)].any()
    # 5: the gradients are NaN, too.
    excerpt("clinic.5", room)
    exec(LESSON["symptom-5"], room)
    assert room["weights"][1].isnan().all()
    assert room["scores"].grad[1].isnan().all()
    # 9: only the future leaks, the prediction of the four that it offers.
    ill, w_qkv, batch = excerpt("clinic.9", room), torch.randn(8, 24), torch.randn(3, 4, 8)
    assert ill(x, w_qkv, 2).shape == x.shape
    assert leak_meter(lambda x: ill(x, w_qkv, 2), x).leaks.any()
    assert not leak_meter(lambda x: ill(x, w_qkv, 2), batch, between="sentences").leaks.any()
    assert '"no leak from the future",\n    afterwards' in LESSON["predict-merge"]
    # 11: the error is traced.
    trace = trace_shapes(excerpt("clinic.11", room)(8, 2, 16), batch)
    assert trace.error.startswith("TypeError")
    assert trace.steps[0].output == "a tuple of [3, 4, 8] and [4, 3, 3]"


def test_what_is_measured_of_an_excerpt_is_well_when_it_is_mended(solutions, room, capsys) -> None:
    def healed(name: str) -> Any:
        return answer_of(solutions[name], room)

    # 8: a copier is perfect.
    excerpt("clinic.8", room)
    exec(LESSON["symptom-8"], room)
    assert capsys.readouterr().out.split() == ["0.00", "0.00"]
    healed("clinic.8")
    exec(LESSON["symptom-8"], room)
    first, second = map(float, capsys.readouterr().out.split())
    assert first > second > 10
    # 13: it is sure and wrong.
    assert start_loss(excerpt("clinic.13", room)(1000, 256).logits) > 5 * math.log(1000)
    assert f"{math.log(1000):.1f}" in LESSON["predict-3"]
    well = start_loss(healed("clinic.13")(1000, 256).logits)
    assert well == pytest.approx(math.log(1000) + 0.5, abs=0.2)
    # 14: there are more than fifty hypotheses, and three different ones.
    found, well = excerpt("clinic.14", room)(toy_step, 3, 20), healed("clinic.14")(toy_step, 3, 20)
    assert len(found) > 50
    assert len({words for words, _ in found}) == 3
    assert {words for words, _ in found} <= {words for words, _ in well}
    assert len(well) == len({words for words, _ in well})


def test_1_each_axis_mistake_is_named() -> None:
    wrong = {}
    for largest, total, message in (
        (lambda s: s.max(-1).values, lambda part: part.sum(-1), "Both need keepdim=True"),
        (lambda s: s.max(-1).values, lambda part: part.sum(-1, True), "keepdim=True keeps the"),
        (lambda s: s.amax(-1, True), lambda part: part.sum(-1), "keepdim=True keeps the"),
        (lambda s: 0, lambda part: part.sum(-1), "lost keepdim=True"),
        (lambda s: s.amax(0), lambda part: part.sum(0), "axis 0 runs down a column"),
        (lambda s: s.amax(-1, True), lambda part: part.sum(0), "adds up a column"),
        (lambda s: s.max(), lambda part: part.sum(), "its own largest score and its own sum"),
        (lambda s: s.amax(1, True), lambda part: part.sum(1, True), "no axis 1"),
    ):

        def softmax(scores: torch.Tensor, largest: Any = largest, total: Any = total) -> torch.Tensor:
            exponentials = torch.exp(scores - largest(scores))
            return exponentials / total(exponentials)

        found = exercise("clinic.1").check(softmax)
        if found.passed or message not in found.message:
            wrong[message] = str(found)
    assert not wrong


class TestHiddenTests:
    """Other ways to repair an excerpt pass, and other ways to fail are caught."""

    def test_weights_may_be_emptied_by_where(self) -> None:
        def masked_weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            some = mask.any(-1, keepdim=True)
            filled = scores.masked_fill(~mask & some, -math.inf).softmax(-1)
            return torch.where(some, filled, torch.zeros(()))

        assert exercise("clinic.5").check(masked_weights)

    def test_a_block_may_turn_its_axes_itself(self, solutions, room) -> None:
        block = answer_of(solutions["clinic.11"], room)

        class Turned(block):
            def __init__(self, *sizes: int) -> None:
                super().__init__(*sizes)
                self.attention.batch_first = False

            def forward(self, x, may_not=None, padding=None):
                y = x.transpose(0, 1)
                attended, _ = self.attention(y, y, y, padding, True, may_not)
                x = self.norm_1(x + attended.transpose(0, 1))
                return self.norm_2(x + self.feed_forward(x))

        assert exercise("clinic.11").check(Turned)

    def test_a_search_may_keep_finished_hypotheses_if_each_is_recorded_once(self, room) -> None:
        source = LESSON["answer-clinic-14"].replace(
            'if each[0][-1] == "<eos>"]', 'if each[0][-1] == "<eos>" and each not in finished]'
        )
        assert source != LESSON["answer-clinic-14"]
        assert exercise("clinic.14").check(answer_of(source, room))

    def test_logits_over_the_root_of_the_width_are_fine_with_words_as_they_are(self) -> None:
        class Tied(nn.Module):
            def __init__(self, vocab_size: int, d_model: int) -> None:
                super().__init__()
                self.table = nn.Embedding(vocab_size, d_model)

            def embed(self, ids: torch.Tensor) -> torch.Tensor:
                return self.table(ids)

            def logits(self, x: torch.Tensor) -> torch.Tensor:
                return x @ self.table.weight.T / math.sqrt(self.table.weight.shape[1])

        assert exercise("clinic.13").check(Tied)

    def test_layers_that_are_copied_and_drawn_anew_are_fine(self) -> None:
        class Stack(nn.Module):
            def __init__(self, make_layer: Any, n_layers: int) -> None:
                super().__init__()
                layer = make_layer()
                self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n_layers)])
                for each in self.layers:
                    each.reset_parameters()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return nn.Sequential(*self.layers)(x)

        assert exercise("clinic.12").check(Stack)

    def test_an_answer_that_raises_or_never_ends_gets_a_message(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def boom(*_: Any) -> None:
            raise KeyError("oh")

        def endless(*_: Any) -> None:
            while True:
                pass

        assert "raised KeyError" in exercise("clinic.5").check(boom).message
        assert "this is None" in exercise("clinic.5").check(None).message
        monkeypatch.setattr("viz_transformer.exercises.sandbox.LIMIT_S", 0.2)
        assert "never stops" in exercise("clinic.5").check(endless).message

    def test_each_message_belongs_to_one_mistake(self) -> None:
        wanted = HiddenTests(
            (Property("it is even", lambda answer: answer() % 2 == 0, "It is odd."),),
            lambda: 2,
            (WrongAnswer("it is even", lambda: 1), WrongAnswer("it is even", lambda: 3, "It is three.")),
            "Yes.",
            lambda answer: answer(),
        )
        assert wanted.check(lambda: 3).message.startswith("It is three.")
        assert wanted.check(lambda: 5).message.startswith("It is odd.")
        assert wanted.check(lambda: 4).passed
