"""What the fourth lesson says in prose, held to the numbers."""

from __future__ import annotations

import math
import re
from functools import partial
from inspect import signature

import numpy as np
import pytest
import torch
from transformers import GPT2Config, LlamaConfig

import viz_transformer as vt
from tests.support.lessons import Lesson, flat, table_under
from viz_transformer.analysis import weights_between
from viz_transformer.exercises import exercise, lesson_04
from viz_transformer.labs import compare_scorings
from viz_transformer.model import attend
from viz_transformer.model.scoring import AdditiveScore

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("4")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "machines")


@pytest.fixture
def machines():
    return vt.thinking_machines()


def test_the_exercises_are_about_the_numbers_of_the_view(machines) -> None:
    steps = machines.steps
    assert np.array_equal(steps.x, lesson_04.X)
    for name in ("W_Q", "W_K", "W_V"):
        assert np.array_equal(getattr(steps, name.lower())[0], getattr(lesson_04, name))


def test_the_sums_that_are_written_out(machines) -> None:
    worked, x, w_q = machines.worked(), machines.steps.x, machines.steps.w_q[0]
    assert x[0].tolist() == [1, -1, 1, 1]
    assert "`[1, -1, 1, 1]`" in LESSON["pencil"]
    for row in w_q[[0, 1, 2]].astype(int).tolist():
        assert str(row) in LESSON["pencil"]
    assert "[0.5, 0, 0]] = [2.5, 1, 2]" in LESSON["pencil"].replace("+ [0.5, 0, 0]", "+ [0.5, 0, 0]]")
    assert (w_q[0] - w_q[1] + w_q[2] + w_q[3]).tolist() == [2.5, 1, 2] == worked.q.tolist()
    assert worked.k.tolist() == [[0, 2, 0], [1, -2, 2]]
    assert worked.scores.tolist() == [2, 4.5]
    assert (2.5 * 0 + 1 * 2 + 2 * 0, 2.5 * 1 + 1 * (-2) + 2 * 2) == (2, 4.5)


def test_the_weight_that_is_predicted(machines) -> None:
    scaled = machines.worked().scaled
    difference = scaled[1] - scaled[0]
    told = LESSON["predict-weight"].partition("afterwards=")[2].replace('"\n    "', "")
    assert f"differ by {difference:.2f}" in told
    assert f"is {math.exp(difference):.1f}." in told
    assert f"{math.exp(difference):.1f}" not in LESSON.on_screen_with("predict-weight")
    assert f"{math.exp(difference):.1f} times as much weight" not in LESSON.prose
    weights = machines.worked().weights
    assert weights[1] / weights[0] == pytest.approx(math.exp(difference))


def test_the_prediction_shows_the_softmax_after_the_guess_and_not_before() -> None:
    asked = run("predict-weight")["shown"]
    asked.guess = 0.8
    assert asked.score == 1
    view = asked.revealed["view"]
    assert view.steps.steps[view.step] == "weights"
    assert f"{view.worked().weights[1]:.2f}" not in LESSON.above("predict-weight")
    assert f"{view.worked().weights[1]:.2f}" == "0.81"


def test_what_there_is_to_try(machines) -> None:
    machines.query = 1
    assert machines.worked().scores.tolist() == [2, -2]
    assert f"{machines.worked().weights[0]:.2f} goes to *thinking*" in LESSON["try"]
    machines.scale = False
    assert f"becomes {machines.worked().weights[0]:.2f}" in LESSON["try"]


def test_the_weights_and_values_of_the_second_exercise(machines) -> None:
    worked = machines.worked()
    for weight in worked.weights:
        assert f"{weight:.3f}" in LESSON["weighted-sum"]
    assert worked.v.tolist() == [[0.5, 1, 2], [2, -2, 0]]
    assert "`[0.5, 1, 2]` and `[2, -2, 0]`" in LESSON["weighted-sum"]
    assert exercise("4.2").check(worked.output)
    # With the weights as they are printed, too.
    assert exercise("4.2").check(0.191 * worked.v[0] + 0.809 * worked.v[1])


def test_the_formula_is_what_the_package_and_torch_compute(machines) -> None:
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
    assert set(head.steps.steps) - set(vt.thinking_machines().steps.steps) == {
        "masked",
        "concat",
        "result",
    }
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
    for d_k in widths:
        assert 0.7 < spreads[d_k]["scaled dot"] < 1.4
        assert spreads[d_k]["additive"] < 1
    wide = torch.tensor(compare_scorings(256)["dot"]).softmax(-1)
    assert int((wide.amax(-1) > 0.95).sum()) == 7
    assert "At `d_k` = 256, seven of the eight queries" in flat(LESSON["compared"])


def test_additive_scores_keep_their_spread_because_v_starts_small_and_not_because_of_tanh() -> None:
    assert "\\sqrt{3 / d_k}" in LESSON["compared"]
    torch.manual_seed(0)
    spreads = {}
    with torch.no_grad():
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


def test_the_shape_that_is_asked_for_is_not_given_away_on_its_screen() -> None:
    for secret in ("three scores", "row by row", "nine", "broadcasting", "[3]"):
        asked = LESSON.on_screen_with("predict-shape").partition("## Spot the mistake")[2]
        assert secret not in asked.replace("that broadcasting hides", "").replace('"[3]", "[3, 4]"', "")
    assert "*three* pairs were scored, and there are nine" in LESSON["predict-shape"]


def test_the_matrices_of_real_heads_are_those_of_their_published_configurations() -> None:
    rows = table_under(LESSON["in-a-real-model"], "## In a real model")
    ours, gpt2, llama = vt.load_translator().config, GPT2Config(), LlamaConfig()
    first = {name: each.default for name, each in signature(torch.nn.Transformer).parameters.items()}
    for name, d_model, d_k in (
        ("thinking machines", *vt.thinking_machines().steps.w_q[0].shape),
        ("our translator", ours.d_model, ours.d_head),
        ("the first Transformer, base (table 3)", first["d_model"], first["d_model"] // first["nhead"]),
        ("GPT-2, small", gpt2.n_embd, gpt2.n_embd // gpt2.n_head),
        ("Llama, 7B (table 2)", llama.hidden_size, llama.hidden_size // llama.num_attention_heads),
    ):
        assert rows[name] == [f"{d_model:,}", f"{d_k}", f"{3 * d_model * d_k:,}"]


def test_attention_that_others_wrote_is_no_answer() -> None:
    for answer in (
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        lambda q, k, v: attend(q, k, v)[0],
    ):
        found = exercise("4.3").check(answer)
        assert not found.passed
        assert "Write the formula yourself" in found.message


def test_the_second_prediction_is_scored() -> None:
    asked = run("three-words", "predict-shape")["shown"]
    asked.guess = "[3]"
    assert asked.score == 1


def test_the_wrong_sum_is_silent_and_every_row_alike() -> None:
    made = run("three-words")
    wrong = torch.tanh(made["queries"] + made["keys"]) @ made["v"]
    assert wrong.shape == (3,)
    right = exercise("4.5").wanted.reference(made["queries"], made["keys"], made["v"])
    assert right.shape == (3, 3)
    torch.testing.assert_close(right.diagonal(), wrong)  # three pairs of nine
    weights = (wrong + torch.zeros(3, 3)).softmax(-1)
    torch.testing.assert_close(weights, weights[:1].expand(3, 3))
    with pytest.raises(RuntimeError):
        made["queries"] + torch.randn(5, 4)


def test_the_reference_functions_are_those_of_the_model() -> None:
    rng = np.random.default_rng(1)
    query, key, value = lesson_04._vectors(rng)
    wanted = attend(query, key, value)[0]
    torch.testing.assert_close(exercise("4.3").wanted.reference(query, key, value), wanted)
    assert exercise("4.4").check(640_000)
    sizes = {lesson_04._pairs(rng)[0].shape[0] - lesson_04._pairs(rng)[1].shape[0] for _ in range(9)}
    assert sizes != {0}


def test_the_tour_shows_what_it_says() -> None:
    tour = vt.lesson_tour(4)
    worked = []
    for step in range(len(tour.steps)):
        tour.step = step
        worked.append(tour.view.worked())
    told = [step["caption"] for step in tour.steps]
    assert worked[1].scores.tolist() == [2, 4.5]
    assert "2 and 4.5" in told[1]
    for weight in worked[3].weights:
        assert f"{weight:.2f}" in told[3]
    for step in (5, 6):
        assert f"{worked[step].weights[0]:.2f}" in told[step]
