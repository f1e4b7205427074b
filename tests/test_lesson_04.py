"""What the fourth lesson says in prose, held to the numbers."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson, flat
from viz_transformer.analysis import weights_between
from viz_transformer.exercises import exercise, lesson_04
from viz_transformer.model import attend

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("4")
#: Runs cells of the lesson, after the two that the others build on.
run = partial(LESSON.run, "translator", "machines")


@pytest.fixture
def machines():
    return vt.thinking_machines()


def test_the_sums_that_are_written_out(machines) -> None:
    worked, x, w_q = machines.worked(), machines.steps.x, machines.steps.w_q[0]
    assert np.array_equal(x, lesson_04.X)
    for name in ("W_Q", "W_K", "W_V"):  # the exercises are about the numbers of the view
        assert np.array_equal(getattr(machines.steps, name.lower())[0], getattr(lesson_04, name))
    assert x[0].tolist() == [1, -1, 1, 1]
    assert "`[1, -1, 1, 1]`" in LESSON["pencil"]
    for row in w_q[[0, 1, 2]].astype(int).tolist():
        assert str(row) in LESSON["pencil"]
    assert "[0.5, 0, 0]] = [2.5, 1, 2]" in LESSON["pencil"].replace("+ [0.5, 0, 0]", "+ [0.5, 0, 0]]")
    assert (w_q[0] - w_q[1] + w_q[2] + w_q[3]).tolist() == [2.5, 1, 2] == worked.q.tolist()
    assert worked.k.tolist() == [[0, 2, 0], [1, -2, 2]]
    assert worked.scores.tolist() == [2, 4.5]


def test_the_weight_is_shown_after_the_prediction(machines) -> None:
    difference = np.diff(machines.worked().scaled)[0]
    told = LESSON["predict-weight"].partition("afterwards=")[2].replace('"\n    "', "")
    assert f"differ by {difference:.2f}" in told
    assert f"is {math.exp(difference):.1f}." in told
    asked = run("predict-weight")["shown"]
    asked.guess = 0.8
    assert asked.score == 1
    view = asked.revealed["view"]
    assert view.steps.steps[view.step] == "weights"
    assert f"{view.worked().weights[1]:.2f}" == "0.81"
    assert "0.81" not in LESSON.above("predict-weight")


def test_the_values_of_the_second_exercise_are_right(machines) -> None:
    worked = machines.worked()
    for weight in worked.weights:
        assert f"{weight:.3f}" in LESSON["weighted-sum"]
    assert worked.v.tolist() == [[0.5, 1, 2], [2, -2, 0]]
    assert "`[0.5, 1, 2]` and `[2, -2, 0]`" in LESSON["weighted-sum"]
    # With the weights as they are printed, too.
    assert exercise("4.2").check(0.191 * worked.v[0] + 0.809 * worked.v[1])
    assert f"= {0.191 * 0.5 + 0.809 * 2:.2f}$" in LESSON["weighted-sum"]
    machines.query = 1
    assert machines.worked().scores.tolist() == [2, -2]
    assert f"it gives {machines.worked().weights[0]:.2f} to *thinking*" in flat(LESSON["walk"])


def test_the_formula_equals_package_and_torch(machines) -> None:
    made = run("table", "attend")
    assert made["weights"].shape == (2, 2)
    for query in (0, 1):
        machines.query = query
        assert np.allclose(made["output"][query], machines.worked().output, atol=1e-6)
    torch.testing.assert_close(
        torch.nn.functional.scaled_dot_product_attention(*(made[name] for name in "QKV")), made["output"]
    )


def test_the_head_in_the_translator_is_the_one_of_lesson_1() -> None:
    head = LESSON.run("translator")["head"]
    assert (head.steps.d_head, len(head.steps.key_tokens)) == (16, 5)
    added = set(head.steps.steps) - set(vt.thinking_machines().steps.steps)
    assert added == {"masked", "concat", "result"}
    assert head.steps.mask.all()
    trace = vt.load_translator().trace("the black cat sleeps")
    black = weights_between(trace, "cross", "gato", "black")[0]
    assert (black > 0.5).nonzero()[0].tolist() == [head.head]
    used = trace.cross_attention[head.layer, head.head, head.query]
    assert np.allclose(head.worked().weights, used, atol=1e-5)
    assert f"*black* gets {used[1]:.0%} of the weight" in flat(LESSON["saw"])


def test_a_value_changes_the_output_and_no_weight(machines) -> None:
    """What the second prediction and the last point to remember say."""
    made = run("table")
    query, key, value = made["Q"], made["K"], made["V"]
    larger = value * torch.tensor([[1.0], [10.0]])
    (output, weights), (other, same) = attend(query, key, value), attend(query, key, larger)
    assert torch.equal(weights, same)
    assert not torch.allclose(output, other)
    assert f"its weight, {weights[0, 1]:.2f}" in LESSON["predict-value"]


def test_the_reference_function_is_that_of_the_model() -> None:
    query, key, value = lesson_04._vectors(np.random.default_rng(1))
    wanted = attend(query, key, value)
    torch.testing.assert_close(exercise("4.3").wanted.reference(query, key, value), wanted)
