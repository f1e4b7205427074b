"""What lesson 10, Training, says in prose, held to its own cells and to the recorded trainings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest

import viz_transformer as vt
from tests.support.lessons import Lesson, n_pictures
from viz_transformer.exercises import exercise

ROOT = Path(__file__).parents[1]
LESSON = Lesson("10")


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    with pytest.MonkeyPatch.context() as patch:
        # Hundreds of steps: their shapes are checked elsewhere.
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return LESSON.run_whole(tmp_path_factory.mktemp("lesson"))


def shares(run: vt.TrainingTrace, kind: str = "cross") -> np.ndarray:
    """Entropy shares of a training, [sentence, moment, layer, head]."""
    each = range(len(run.sources))
    return np.stack([vt.analysis.entropy_share_over_training(run, n, kind) for n in each])


def test_the_training_at_the_top_ends_with_all_six_right(lesson: dict) -> None:
    run = lesson["run"]
    assert lesson["n_right"](run.moments[0].translations) == 0
    assert lesson["n_right"](run.moments[-1].translations) == 6
    count = sum(each.numel() for each in lesson["student"].model.parameters())
    assert f"{count:,} numbers" in LESSON["watch-it-learn"]


def test_the_table_of_reading_and_saying_is_that_of_the_batch(lesson: dict) -> None:
    named = lesson["vocabulary"].tokens_of
    for first, ids in (("it reads", lesson["read"]), ("it must say", lesson["say"])):
        row = [first, *(f"`{t}`" if t[0] == "<" else t for t in named(ids[2].tolist()))]
        assert f"| {' | '.join(row)} |" in LESSON.prose
    assert lesson["real"].sum() == 23
    assert "23 questions" in LESSON.prose


def test_a_student_told_the_right_words_is_better_than_alone(lesson: dict) -> None:
    says, say, real, cat = (lesson[name] for name in ("says", "say", "real", "cat"))
    assert 0.7 < (says == say)[real].float().mean() < 0.8  # “three words out of four”
    assert (says == say)[cat][real[cat]].sum() == 4  # “four places out of five”
    assert set(lesson["alone"][cat].split()) == {"el"}
    assert lesson["n_right"](lesson["alone"]) <= 1  # “almost no sentence”


def test_the_copier_has_the_lowest_loss_and_cannot_translate(lesson: dict) -> None:
    end = {name: losses[-1] for name, losses in lesson["names"].items()}
    assert min(end, key=end.get) == "not shifted: the same word"
    assert max(end.values()) < 0.02  # “All three curves look like success.”
    wrote = {
        name: [lesson[name].translate(text, beam_width=1).text for text in lesson["english"]]
        for name in ("student", "copier", "echo")
    }
    assert lesson["n_right"](wrote["student"]) == 6
    assert lesson["n_right"](wrote["copier"]) == 0
    assert len(set(wrote["copier"][3].split())) == 1  # “so it repeats a word”
    assert wrote["echo"] == lesson["english"]


def test_padding_does_not_count_and_random_opinions_are_worse_than_none(lesson: dict) -> None:
    losses = []
    for ids in (lesson["target"], lesson["wider"]):
        logits = lesson["untrained"](lesson["source"], ids[:, :-1])
        losses.append(lesson["token_loss"](logits, ids[:, 1:], pad_id=0)[0].item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[0] > math.log(35)


def test_looking_at_nothing_costs_what_the_exercise_asks_for(lesson: dict) -> None:
    _, counts = lesson["say"][lesson["real"]].unique(return_counts=True)
    assert (len(counts), counts.max(), (counts == 2).sum()) == (16, 6, 2)
    blind = -(counts / 23 * (counts / 23).log()).sum().item()
    assert exercise("10.3").wanted.value == pytest.approx(blind)
    assert f"{blind:.4f}" in LESSON["rate-lab"]


def test_the_large_models_heads_are_blank_and_the_small_ones_are_not(lesson: dict) -> None:
    small, large = lesson["small"], lesson["large"]
    assert shares(large)[:, -1].min() > 0.99
    assert shares(large).shape[2:] == (6, 8)
    assert f"ends at {lesson['sharpest'](small):.2f} for *the cat is black*" in LESSON.prose
    assert large.losses[-1] < small.losses[-1]
    gato = small.moments[-1].traces[2].cross_attention[0, 2, 1]  # [key]
    assert small.sources[2].split()[gato.argmax()] == "is"
    before = " ".join(LESSON.prose.split("### Predict before you look")[:2])
    assert "blank" not in before


def test_the_last_sentence_comes_right_at_the_step_asked_for(lesson: dict) -> None:
    def first_right(run: vt.TrainingTrace, n: int) -> int:
        right = (m.step for m in run.moments if m.translations[n] == run.references[n])
        return next(right)

    small = lesson["small"]
    asked = exercise("10.4").wanted
    assert asked.value == first_right(small, 5) == 16
    at = {moment.step: moment for moment in small.moments}
    assert lesson["n_right"](at[13].translations) == 4
    assert [at[step].translations[5] for step in (10, 13)] == ["te te", "te"]
    assert lesson["n_right"](at[16].translations) == 6
    assert small.moments[10].step == 16
    assert first_right(lesson["large"], 5) == 35
    mean = shares(small).mean((0, 2, 3))  # [moment]
    assert (mean[0] - mean[10]) / (mean[0] - mean[-1]) == pytest.approx(0.5, abs=0.1)
    assert "only half as sharp as they get" in asked.right


def test_the_small_model_does_without_its_looks_and_the_translator_does_not(lesson: dict) -> None:
    assert lesson["right_with_blank_heads"]() == 5
    assert "Five of the six" in LESSON["p3"]
    translator, blank = lesson["translator"], lesson["blank"]
    for text in ("the black cat sleeps", "the white cow does not sleep"):
        right = translator.translate(text).tokens
        assert translator.translate(text, interventions=blank).tokens != right
    config = translator.config
    assert (config.n_decoder_layers, config.n_heads) == (2, 4)
    made_by = json.loads((ROOT / "data" / "en-es" / "made_by.json").read_text())
    assert f"{made_by['n_train']:,} sentences" in LESSON.prose


def test_the_translators_heads_sharpen_after_a_hundred_steps() -> None:
    run = vt.load_training("en-es")
    mean = shares(run)[0].mean((1, 2))  # [moment]
    steps = [moment.step for moment in run.moments]
    assert mean[steps.index(118)] > 0.75
    assert mean[-1] < 0.2
    assert mean[steps.index(395)] < 0.3
    # “writes one frequent word over and over”
    wrote = [run.moments[steps.index(step)].translations[0] for step in (54, 82, 118)]
    assert [set(text.split()) for text in wrote] == [{"no"}, {"la"}, {"el"}]
    wrong = [m.step for m in run.moments if m.translations[0] != run.references[0]]
    assert 118 < max(wrong) < 395


def test_with_smoothing_the_model_is_as_sure_as_it_was_told_to_be(lesson: dict) -> None:
    smooth, wanted = lesson["smooth"], 0.9 + 0.1 / 35
    assert lesson["mean_probability"](smooth) == pytest.approx(wanted, abs=0.02)
    assert lesson["mean_probability"](lesson["student"]) > 0.98
    assert lesson["smooth_losses"][-1] == pytest.approx(lesson["floor"], abs=0.01)
    assert lesson["floor"] == pytest.approx(0.66, abs=0.005)
    assert lesson["n_right"]([smooth.translate(text).text for text in lesson["english"]]) == 6


@pytest.mark.usefixtures("shapes_unchecked", "folder_thrown_away")
@pytest.mark.parametrize("guess", ["p1", "p2", "p3", "p4"])
def test_predictions_are_scored_and_show_what_they_promise(guess: str, lesson: dict) -> None:
    view = LESSON.prediction(guess, lesson)
    view.guess = {
        "p1": "not shifted: the same word",
        "p2": lesson["sharpest"](lesson["large"]),
        "p3": 5,
        "p4": lesson["mean_probability"](lesson["smooth"]),
    }[guess]
    assert view.score == 1
    assert n_pictures(view) == ("reveal" in LESSON[guess])


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_warm_up_saves_the_high_rate(lesson: dict) -> None:
    """At the peak 0.02 these hold by a wide margin however a machine orders its sums."""
    cold, warm = (
        {seed: lesson["losses_with"](0.02, warmup, seed) for seed in (0, 1, 2)} for warmup in (0, 20)
    )
    assert cold[2][15] > exercise("10.3").wanted.value  # “worse than a student who looks at nothing”
    assert 0.7 < cold[2][29] < 1.6  # “near 1”
    assert max(warm[2][29:]) < 0.01  # “from step 30 on the loss is below 0.01”

    def first_below(losses: list[float], level: float) -> int:
        return next(step for step, loss in enumerate(losses, start=1) if loss < level)

    for seed in (0, 1):  # “They come down without a warm-up as well, and sooner with one.”
        assert max(cold[seed][50:]) < 0.03
        assert first_below(warm[seed], 0.03) < first_below(cold[seed], 0.03)
    assert lesson["rates"].values == {"peak": 0.02, "warmup": 0, "seed": 2}
