"""What the fourth lesson says in prose, held to the numbers."""

from __future__ import annotations

import math
import re
from functools import partial

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson, flat
from viz_transformer import compare_scorings
from viz_transformer.analysis import weights_between
from viz_transformer.exercises import exercise, lesson_04
from viz_transformer.model import attend
from viz_transformer.model.scoring import AdditiveScore

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("4")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "machines")


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
    machines.query = 1
    assert machines.worked().scores.tolist() == [2, -2]
    assert f"{machines.worked().weights[0]:.2f} goes to *thinking*" in LESSON["try"]
    machines.scale = False
    assert f"becomes {machines.worked().weights[0]:.2f}" in LESSON["try"]


def test_the_formula_equals_package_and_torch(machines) -> None:
    made = run("thinking-query", "table", "attend")
    assert made["weights"].shape == (2, 2)
    for query in (0, 1):
        machines.query = query
        assert np.allclose(made["output"][query], machines.worked().output, atol=1e-6)
    torch.testing.assert_close(
        torch.nn.functional.scaled_dot_product_attention(*made["tensors"]), made["output"]
    )


def test_the_head_in_the_translator_is_the_one_of_lesson_1() -> None:
    head = run("translator")["head"]
    assert (head.steps.d_head, len(head.steps.key_tokens)) == (16, 5)
    added = set(head.steps.steps) - set(vt.thinking_machines().steps.steps)
    assert added == {"masked", "concat", "result"}
    assert head.steps.mask.all()
    trace = vt.load_translator().trace("the black cat sleeps")
    black = weights_between(trace, "cross", "gato", "black")[0]
    assert (black > 0.5).nonzero()[0].tolist() == [head.head]
    used = trace.cross_attention[head.layer, head.head, head.query]
    assert np.allclose(head.worked().weights, used, atol=1e-5)


def test_how_far_the_scores_spread() -> None:
    widths = [int(n) for n in re.search(r'"d_k": \[(.+?)\]', LESSON["scorings"])[1].split(",")]
    spreads = {d_k: {k: v.std() for k, v in compare_scorings(d_k).items()} for d_k in widths}
    dots = [spreads[d_k]["dot"] for d_k in widths]
    assert dots == sorted(dots)
    assert all(0.7 < spreads[d_k]["scaled dot"] < 1.4 for d_k in widths)
    assert all(spreads[d_k]["additive"] < 1 for d_k in widths)
    wide = torch.tensor(compare_scorings(256)["dot"]).softmax(-1)
    assert int((wide.amax(-1) > 0.95).sum()) == 7
    assert "At `d_k` = 256, seven of the eight queries" in flat(LESSON["compared"])


@torch.no_grad()
def test_additive_scores_keep_their_spread_because_v_starts_small_and_not_because_of_tanh() -> None:
    assert "\\sqrt{3 / d_k}" in LESSON["compared"]
    torch.manual_seed(0)
    spreads = {}
    for d_k in (16, 1024):
        score = AdditiveScore(1, d_k)
        assert score.v.abs().max().item() == pytest.approx(math.sqrt(3 / d_k), rel=0.2)
        query, key = torch.randn(2, 1, 1, 64, d_k)
        spreads[d_k] = score(query, key).std().item()
        score.v.normal_()  # of size 1 instead
        unscaled = score(query, key)
        spreads[d_k, "unscaled"] = unscaled.std().item()
        assert unscaled.abs().max() > 1  # tanh does not bound the score
    assert spreads[1024] < 2 * spreads[16]
    assert spreads[1024, "unscaled"] > 4 * spreads[16, "unscaled"]


def test_the_wrong_sum_is_silent_and_every_row_alike() -> None:
    made = run("three-words", "predict-shape")
    made["shown"].guess = "[3]"
    assert made["shown"].score == 1
    wrong = torch.tanh(made["queries"] + made["keys"]) @ made["v"]
    right = exercise("4.5").wanted.reference(made["queries"], made["keys"], made["v"])
    assert (wrong.shape, right.shape) == ((3,), (3, 3))
    torch.testing.assert_close(right.diagonal(), wrong)  # three pairs of nine
    weights = (wrong + torch.zeros(3, 3)).softmax(-1)
    torch.testing.assert_close(weights, weights[:1].expand(3, 3))
    with pytest.raises(RuntimeError):
        made["queries"] + torch.randn(5, 4)


def test_the_reference_function_is_that_of_the_model() -> None:
    query, key, value = lesson_04._vectors(np.random.default_rng(1))
    wanted = attend(query, key, value)[0]
    torch.testing.assert_close(exercise("4.3").wanted.reference(query, key, value), wanted)
