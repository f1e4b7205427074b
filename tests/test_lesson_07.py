"""What lesson 7 says in prose, held to the losses that it speaks of."""

from __future__ import annotations

import math

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson, table_under
from viz_transformer.exercises import exercise, lent
from viz_transformer.experiments.overfitting import losses_by_data, pairs_for

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("7")


def test_the_first_curve_begins_above_a_uniform_guess_and_the_translation_comes_together() -> None:
    run = vt.load_training("en-es")
    assert f"starts at {run.losses[0]:.2f}" in LESSON.prose
    assert math.log(761) < run.losses[0] < math.log(761) + 0.5  # “a little above the uniform guess”
    right = run.references[0]
    first = next(moment for moment in run.moments if moment.translations[0] == right)
    assert f"at step {first.step} the translation is right" in LESSON.prose
    assert len(set(run.moments[0].translations[0].split())) == 1  # “one word again and again”
    below_one = next(step for step, loss in zip(run.steps, run.losses, strict=True) if loss < 1)
    nearly = [moment.translations[0] for moment in run.moments if below_one <= moment.step <= first.step]
    assert "gato" in nearly[0]


def test_the_worked_sums_are_right(translator: vt.Translator) -> None:
    assert not LESSON.lacks("(0.105 + 2.303) / 2 = 1.204", cell="surprise")
    assert [round(-math.log(p), 3) for p in (0.9, 0.1)] == [0.105, 2.303]
    assert round(-(math.log(0.9) + math.log(0.1)) / 2, 3) == 1.204
    (la, *_) = translator.log_probs("the teacher sleeps", "la maestra duerme")
    assert math.exp(la) < 0.5  # “*la* gets less than half of the probability”
    a, b = ([0.9] * 9 + [0.000001], [0.4] * 10)
    losses = [sum(-math.log(p) for p in each) / 10 for each in (a, b)]
    assert [round(each, 2) for each in losses] == [1.48, 0.92]
    assert "B has 0.92 and A has 1.48" in LESSON["predict-two-models"].replace('"\n    "', "")
    assert -math.log(0.000001) == pytest.approx(13.8, abs=0.02)
    assert -math.log(0.000001) > 9 * -math.log(0.9) + 10 * losses[1]


def test_a_small_model_memorises_and_the_validation_loss_turns() -> None:
    found = {n: losses_by_data(n) for n in (20, 100, 400)}
    assert found[100].training[-1] < 0.05
    assert found[100].validation[-1] > found[100].even_bet  # “worse than a uniform guess”
    assert found[400].best_step > found[20].best_step
    assert min(found[400].validation) < min(found[20].validation)
    for each in found.values():
        assert each.validation[-1] > min(each.validation) + 0.1
        assert each.training[-1] < min(each.training) + 0.05
    rows = table_under(LESSON["principle"], "### Exercise 7.4")
    at = [found[400].steps.index(step) for step in (0, 100, 200, 300)]
    for name in ("training", "validation"):
        told = [float(each) for each in rows[f"{name} loss"]]
        assert told == pytest.approx([getattr(found[400], name)[index] for index in at], abs=0.05)
    assert exercise("7.4").check(200).passed
    training, validation = pairs_for(400)
    assert not {pair.source for pair in training} & {pair.source for pair in validation}


def test_the_loss_is_that_of_torch() -> None:
    logits, targets = torch.randn(2, 3, 5), torch.tensor([[1, 2, 0], [3, 4, 1]])
    theirs = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(lent.loss(logits, targets, 0), theirs)
