"""What the project and the demonstration say in prose, held to the models that they show."""

from __future__ import annotations

import re

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.exercises.project import _RIGHT

PROJECT, DEMONSTRATION = Lesson("project"), Lesson("demonstration")


def test_the_projects_example_has_the_numbers_of_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    names = PROJECT.run_whole()
    numbers = re.findall(r"\d\.\d{2,}", capsys.readouterr().out)
    assert not PROJECT.lacks(*numbers, cell="page")
    (sharp, used), whole = names["without"].values(), names["whole"]
    assert abs(sharp - whole) < 0.001
    assert used > 3 * whole
    traces = [names["translator"].trace(source, target) for source, target in names["pairs"]]
    assert np.mean([trace.encoder_attention[0, 0, :, -1].mean() for trace in traces]) > 0.95  # on <eos>
    assert len(re.findall(r"^\| \d+ \|", PROJECT["brief"], flags=re.MULTILINE)) == 10


def test_a_report_of_three_seeds_passes_and_a_loss_that_is_no_number_does_not() -> None:
    seeds = {"losses": [0.3, 0.2, 0.4], "without": [*_RIGHT["without"], _RIGHT["without"][0]]}
    assert vt.exercises.check("project.1", {**_RIGHT, **seeds}).passed
    assert not vt.exercises.check("project.1", {**_RIGHT, "losses": [0.3, float("nan")]}).passed


def test_the_demonstration_takes_90_minutes_and_shows_seven_views() -> None:
    minutes = [int(each) for each in re.findall(r"\((\d+) minutes\)", DEMONSTRATION.prose)]
    assert (len(minutes), sum(minutes)) == (7, 90)
    assert [f"| {each} |" in DEMONSTRATION["question"] for each in minutes] == [True] * 7
    DEMONSTRATION.run_whole()


def test_its_notes_are_borne_out_by_what_is_shown() -> None:
    translator, spanish = vt.load_translator(), "la maestra perdió su libro"
    off, other = (
        vt.Interventions(heads=[vt.HeadChange("encoder", *place, factor=0)]) for place in ((1, 1), (0, 0))
    )
    for word, found in (("his", "el profesor perdió su libro"), ("her", spanish)):
        text = f"the teacher lost {word} book"
        assert translator.translate(text).text == found
        assert vt.analysis.weights_between(translator.trace(text), "encoder", "teacher", word)[1, 1] > 0.9
        assert translator.translate(text, interventions=off).text == spanish
        assert np.exp(translator.log_probs(text, spanish, off)[0]) == pytest.approx(0.46, abs=0.005)
        assert translator.translate(text, interventions=other).text == found
    for width, found in ((1, "el profesor duerme"), (2, "la maestra duerme")):
        search = vt.beam_stepper(
            translator, "the teacher sleeps", beam_width=width, length_penalty=0.0
        ).search
        assert " ".join(search.hypotheses[0].tokens) == found
    scores = np.exp([2, 1, 0.1])
    assert [f"{each:.2f}" for each in scores / scores.sum()] == ["0.66", "0.24", "0.10"]
    assert [f"{each:.2f}" for each in vt.thinking_machines().worked().weights] == ["0.19", "0.81"]
    first = vt.real_trace("gpt").attention("decoder")[:, :, 2:, 0].mean(-1, dtype=float)
    assert (first > 0.5).mean() == pytest.approx(0.5, abs=0.05)
    assert not DEMONSTRATION.lacks(
        "0.66, 0.24 and 0.10", "0.19 and 0.81", "0.46", "*Mary* 0.92", "0.81 of its weight"
    )
