"""What the notebook that goes further on training says, held to its cells and the recorded trainings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.corpus import translation_tokens, translations
from viz_transformer.exercises import exercise
from viz_transformer.model.threads import threads

ROOT = Path(__file__).parents[1]
LESSON = Lesson("training")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    with pytest.MonkeyPatch.context() as patch, threads(torch.get_num_threads()):
        # Hundreds of steps: their shapes are checked elsewhere.
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return LESSON.run_whole()


def shares(run: vt.TrainingTrace, kind: str = "cross") -> np.ndarray:
    """Entropy shares of a training, [sentence, moment, layer, head]."""
    each = range(len(run.sources))
    return np.stack([vt.analysis.entropy_share_over_training(run, n, kind) for n in each])


def test_the_training_at_the_top_ends_with_all_six_right(lesson: dict) -> None:
    run = lesson["run"]
    assert lesson["n_right"](run.moments[0].translations) == 0
    assert lesson["n_right"](run.moments[-1].translations) == 6  # “without a mistake”
    count = sum(each.numel() for each in lesson["shifted"].model.parameters())
    assert f"{count:,} parameters" in LESSON["watch-it-learn"]


def test_the_table_of_reading_and_saying_is_that_of_the_batch(lesson: dict) -> None:
    named = lesson["vocabulary"].tokens_of
    for first, ids in (("it reads", lesson["read"]), ("it must predict", lesson["say"])):
        row = [first, *(f"`{t}`" if t[0] == "<" else t for t in named(ids[2].tolist()))]
        assert f"| {' | '.join(row)} |" in LESSON.prose
    assert lesson["real"].sum() == 23
    assert "gives 23 predictions" in LESSON.prose


def test_given_the_right_prefix_more_words_are_right_than_in_free_writing(lesson: dict) -> None:
    says, say, real, cat = (lesson[name] for name in ("says", "say", "real", "cat"))
    assert 0.7 < (says == say)[real].float().mean() < 0.8  # “three words out of four”
    assert (says == say)[cat][real[cat]].sum() == 4  # “four predictions out of five”
    assert set(lesson["alone"][cat].split()) == {"el"}
    assert lesson["n_right"](lesson["alone"]) <= 1  # “almost no sentence”


def test_the_copier_has_the_lowest_loss_and_cannot_translate(lesson: dict) -> None:
    end = {name: losses[-1] for name, losses in lesson["names"].items()}
    assert min(end, key=end.get) == "not shifted: the same word"
    assert max(end.values()) < 0.02  # “All three curves look equally good.”
    wrote = {
        name: [lesson[name].translate(text, beam_width=1).text for text in lesson["english"]]
        for name in ("shifted", "unshifted", "source_only")
    }
    assert lesson["n_right"](wrote["shifted"]) == 6
    assert lesson["n_right"](wrote["unshifted"]) == 0
    assert len(set(wrote["unshifted"][3].split())) == 1  # “so it repeats one of them”
    assert wrote["source_only"] == lesson["english"]


def test_ignoring_the_source_beats_an_untrained_model(lesson: dict) -> None:
    losses = []
    for ids in (lesson["target"], lesson["wider"]):
        logits = lesson["untrained"](lesson["source"], ids[:, :-1])
        losses.append(lesson["token_loss"](logits, ids[:, 1:], pad_id=0)[0].item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)  # padding does not count
    assert losses[0] > math.log(35)
    _, counts = lesson["say"][lesson["real"]].unique(return_counts=True)
    assert (len(counts), counts.max(), (counts == 2).sum()) == (16, 6, 2)
    blind = -(counts / 23 * (counts / 23).log()).sum().item()
    assert exercise("training.2").wanted.value == pytest.approx(blind)
    assert f"{blind:.4f}" in LESSON["rate-lab"]


def test_the_large_models_heads_are_blank_and_the_small_ones_are_not(lesson: dict) -> None:
    small, large = lesson["small"], lesson["large"]
    assert shares(large)[:, -1].min() > 0.99
    assert shares(large).shape[2:] == (6, 8)
    assert f"ends at {lesson['sharpest'](small):.2f} for *the cat is black*" in LESSON.prose
    assert large.losses[-1] < small.losses[-1]


def test_the_last_sentence_comes_right_at_the_step_asked_for(lesson: dict) -> None:
    def first_right(run: vt.TrainingTrace, n: int) -> int:
        return next(m.step for m in run.moments if m.translations[n] == run.references[n])

    small = lesson["small"]
    asked = exercise("training.3").wanted
    assert asked.value == first_right(small, 5) == 16
    at = {moment.step: moment for moment in small.moments}
    assert lesson["n_right"](at[13].translations) == 4
    assert [at[step].translations[5] for step in (10, 13)] == ["te te", "te"]
    assert lesson["n_right"](at[16].translations) == 6
    assert small.moments[10].step == 16
    assert first_right(lesson["large"], 5) == 35
    mean = shares(small).mean((0, 2, 3))  # [moment]
    assert (mean[0] - mean[10]) / (mean[0] - mean[-1]) == pytest.approx(0.5, abs=0.1)
    assert "only half as sharp as at the end" in asked.right


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
    assert f"{made_by['n_train']:,} sentence pairs" in LESSON.prose


def test_the_translators_heads_sharpen_and_then_the_words_come() -> None:
    run = vt.load_training("en-es")
    mean = shares(run)[0].mean((1, 2))  # [moment]
    steps = [moment.step for moment in run.moments]
    assert min(mean[: steps.index(86) + 1]) > 0.8 > 0.5 > mean[steps.index(358)]
    assert mean[-1] < 0.2
    wrote = {moment.step: moment.translations[0] for moment in run.moments}
    early = ["el el el el el el", "el gato", "el gato negro negro", "el gato blanco duerme"]
    assert [wrote[step] for step in (86, 131, 189, 264)] == early
    assert not LESSON.lacks(*(f"*{text}*" for text in early), cell="where-clear")
    right = [step for step, text in wrote.items() if text == run.references[0]]
    assert right == steps[steps.index(358) :]
    assert f"moment={steps.index(358)})" in LESSON["grammar-run"]


def test_the_loss_settles_at_the_entropy_of_the_language(lesson: dict) -> None:
    made_by = json.loads((ROOT / "data" / "en-es" / "made_by.json").read_text())
    training, n_pairs = made_by["training"], made_by["n_train"]
    assert not LESSON.lacks(f"grammar drew {n_pairs:,} pairs", cell="predict-lowest")
    assert f"In its {training['n_steps']:,} steps of {training['batch_size']} pairs" in LESSON.prose
    assert 3 < training["n_steps"] * training["batch_size"] / n_pairs < 4

    curve, mean, level = (line.get_ydata() for line in lesson["draw_learning"]().axes[0].lines)
    assert level[0] == lesson["entropy_of_batches"]() == pytest.approx(0.07, abs=0.005)
    assert min(mean) > level[0]
    assert max(mean[-100:]) < level[0] + 0.025
    assert min(curve) < level[0] / 5  # “A single batch may lie far below the line.”
    long = [text for text in lesson["drawn"] if "because" in text]
    assert min(len(text.split()) for text in long) > np.mean([len(t.split()) for t in lesson["drawn"]])
    assert vt.analysis.lowest_loss(map(translation_tokens, long)) < level[0] / 5


def test_the_lowest_loss_asked_for_is_that_of_the_grammar() -> None:
    asked = translation_tokens("the teacher sleeps")
    assert {len(tokens) + 1 for tokens in asked} == {4}  # with <eos>
    assert exercise("training.5").wanted.value == pytest.approx(vt.analysis.lowest_loss([asked]))
    (most, rest) = translations("the teacher lost her book").values()
    assert most > 0.9 > 0.1 > rest  # “*her* settles nearly everything”
    assert len(translations("the black cat sleeps")) == 1


def test_label_smoothing_sets_the_model_s_confidence(lesson: dict) -> None:
    smooth, wanted = lesson["smooth"], 0.9 + 0.1 / 35
    assert lesson["mean_probability"](smooth) == pytest.approx(wanted, abs=0.02)
    assert lesson["mean_probability"](lesson["shifted"]) > 0.98
    assert lesson["smooth_losses"][-1] == pytest.approx(lesson["floor"], abs=0.01)
    assert lesson["floor"] == pytest.approx(0.66, abs=0.005)
    assert lesson["n_right"]([smooth.translate(text).text for text in lesson["english"]]) == 6


@pytest.mark.usefixtures("shapes_unchecked", "folder_thrown_away")
def test_the_right_guesses_are_scored_and_show_what_they_promise(lesson: dict) -> None:
    guesses = {
        "p1": "not shifted: the same word",
        "p2": lesson["sharpest"](lesson["large"]),
        "p3": 5,
        "p4": lesson["mean_probability"](lesson["smooth"]),
        "p5": "just above the entropy",
    }
    assert not LESSON.mistaken_predictions(guesses, lesson)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_warm_up_saves_the_high_rate(lesson: dict) -> None:
    """At the peak 0.02 these hold by a wide margin however a machine orders its sums."""
    cold, warm = (lesson["losses_with"](0.02, warmup, 2) for warmup in (0, 20))
    assert cold[15] > exercise("training.2").wanted.value  # “higher than that of a model without any input”
    assert max(warm[29:]) < 0.01  # “the loss is below 0.01 from step 30 on”
    rates = lesson["rates"]
    assert (rates.peak, rates.warmup, rates.seed) == (0.02, 0, 2)
    np.testing.assert_allclose(rates.losses, cold, rtol=1e-5)
