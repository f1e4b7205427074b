"""What the fifth lesson says in prose, held to the numbers."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
import torch

from tests.support.lessons import Lesson
from viz_transformer.exercises import exercise
from viz_transformer.model.attention import MultiHeadAttention

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("5")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "heads")


@pytest.fixture(autouse=True)
def _without_gradients():
    """Layers compute faster and their outputs compare as numbers."""
    with torch.no_grad():
        yield


def test_each_head_has_another_row_for_tired() -> None:
    made = run("four-rows")
    tokens = made["trace"].source_tokens
    favourites = [tokens[int(row.argmax())] for row in made["rows"]]
    assert favourites[1:3] == ["animal", "was"]
    assert min(made["rows"][1].max(), made["rows"][2].max()) > 0.7
    assert (made["rows"][[0, 3]].max(axis=-1) < 0.25).all()  # “over many words”
    mean = {token: float(weight) for token, weight in zip(tokens, made["rows"].mean(axis=0), strict=True)}
    assert 0.18 < mean.pop("animal") < 0.23 < mean.pop("was") < 0.28
    assert max(mean.values()) < 0.12
    assert not LESSON.lacks("about a quarter *was*, about a fifth *animal*", cell="mixture")
    view = run()["shown"]
    assert (view.kind, view.layer, view.head, tokens[view.query]) == ("encoder", 1, 0, "tired")


def test_the_predictions_are_scored_by_the_layers() -> None:
    made = run("predict-price")
    counts = {
        sum(each.numel() for each in MultiHeadAttention(64, n_heads).parameters())
        for n_heads in (1, 2, 4, 8, 16)
    }
    assert counts == {4 * (64 * 64 + 64)} == {16_640}
    assert not LESSON.lacks("That makes 16,640 **parameters**", cell="mixture")
    shortcut = run("split-view", "predict-shortcut")["shown"]
    for asked, guess in ((made["shown"], 16_640), (shortcut, "all the numbers of the first word")):
        asked.guess = guess
        assert asked.score == 1


def test_after_a_reshape_alone_nine_of_thirteen_outputs_do_not_change() -> None:
    made = run("who-notices")
    x, changed, layer = made["x"], made["changed"], made["layer"]
    assert x.shape == (13, 64)
    right, wrong = made["changes"]
    assert (right > 1e-3).all()
    assert (wrong == 0).tolist() == [True] * 9 + [False] * 4
    assert not LESSON.lacks("nine of the thirteen don't change at all", cell="compared")
    for each in (x, changed):
        torch.testing.assert_close(made["output"](each, *made["yours"]), layer(each[None], each[None])[0][0])


def test_the_output_is_the_sum_of_what_each_head_adds() -> None:
    made = run("who-notices", "sum-of-heads")
    assert made["shown"]
    # So a head that is switched off is a part of the sum that is left out.
    without = copy.deepcopy(made["layer"])
    without.w_o.weight[:, 3 * 16 :] = 0
    others = made["each_head"][:3].sum(0) + made["layer"].w_o.bias
    x = made["x"][None]
    torch.testing.assert_close(without(x, x)[0][0], others, atol=1e-5, rtol=1e-5)
    # The view shows the heads side by side, and the head that attends to the animal.
    view = run("concat")["shown"]
    assert view.steps.steps[view.step : view.step + 2] == ("concat", "result")
    assert view.head == 1
    assert np.array_equal(view.worked().concat[1 * 16 : 2 * 16], view.worked().output)


def test_the_reference_functions_are_those_of_the_model() -> None:
    layer, x = MultiHeadAttention(12, 3), torch.randn(5, 12)
    heads = exercise("5.2").wanted.reference(x, 3)
    torch.testing.assert_close(heads[None], layer._split_heads(x[None]))
    torch.testing.assert_close(exercise("5.3").wanted.reference(heads), x)
