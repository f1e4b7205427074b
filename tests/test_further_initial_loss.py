"""What Before the first step says in prose, held to the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis.cosine_similarity import cosines
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.experiments.initial_loss import UntrainedModel
from viz_transformer.model.positional import sinusoidal_encoding

LESSON = Lesson("initial_loss")
D_MODEL = 512


@pytest.fixture(scope="module")
def untrained() -> UntrainedModel:
    return UntrainedModel(seed=0)


def test_words_drown_unless_they_are_multiplied() -> None:
    rows = torch.randn(35, D_MODEL, generator=torch.Generator().manual_seed(0)) * D_MODEL**-0.5
    assert sinusoidal_encoding(8, D_MODEL).norm(dim=1).numpy() == pytest.approx(16)
    assert rows.norm(dim=1).mean().item() == pytest.approx(1, abs=0.01)
    assert "The position's vector is sixteen times as long as the token's." in LESSON.prose
    ids = vocabulary_of(SIX_PAIRS).encode("the cat is black the cat is black")
    quiet, loud = (
        cosines(rows[ids] * factor + sinusoidal_encoding(8, D_MODEL)) for factor in (1, D_MODEL**0.5)
    )
    for place in range(4):
        assert quiet[place, place + 1] > 0.95 > 0.8 > quiet[place, place + 4]
        # “At 22.6 they stand out, …”
        others = np.delete(loud[place], [place, place + 4])
        assert loud[place, place + 4] > 0.9 > 0.5 > others.max()
    # “… a little more like the *cat* beside it than like the *cat* further away.”
    assert loud[0, 5] < loud[0, 1] < loud[0, 5] + 0.2


def test_one_number_decides_the_first_loss(untrained: UntrainedModel) -> None:
    assert untrained.n_parameters == 44_119_552
    large, small = untrained.start(1.0), untrained.start(D_MODEL**-0.5)
    assert large.loss == pytest.approx(292, rel=0.02)
    assert small.loss == pytest.approx(10.8, rel=0.03)
    assert small.loss / math.log(35) == pytest.approx(3, abs=0.15)
    assert large.echo == small.echo == 1
    own = [start.logits[2, 2, untrained.read[2, 2]] for start in (large, small)]
    assert own[0] > 200
    assert 20 < own[0] / own[1] < 35
    assert 20 < large.loss / small.loss < 35
    assert not LESSON.lacks("44 million", "from almost 300 to about 11", "more than 20 times smaller")
    assert not LESSON.lacks("**three times that of a uniform guess**")


def test_too_small_an_initialisation_ignores_the_words(untrained: UntrainedModel) -> None:
    assert all(untrained.start(std).echo == 1 for std in (0.02, 0.1, 0.2, 2.0))
    assert untrained.start(0.02).loss < 1.25 * math.log(35)  # as the tour says
    start = untrained.start(0.005)
    assert start.loss == pytest.approx(math.log(35), abs=0.02)
    assert start.echo < 0.6
    assert np.ptp(start.logits) < 0.1 * np.ptp(untrained.start(D_MODEL**-0.5).logits)
    assert pytest.approx(0.1, abs=0.02) == 0.005 * D_MODEL**0.5
    assert not LESSON.lacks(
        "From a standard deviation of 0.02 upwards",
        "at 0.005, all logits are nearly equal, and the loss is that of a uniform guess",
        "numbers of about 0.1 after the multiplication",
    )
    assert "std=0.005" in LESSON["start-lab"]
    with pytest.raises(vt.UserError, match="choose 'torch' or 'xavier'"):
        UntrainedModel(matrices="he")
    with pytest.raises(vt.UserError, match="must be a number above 0"):
        untrained.start(0)


def test_the_drawn_position_is_the_one_in_the_text(untrained: UntrainedModel, translator) -> None:
    tokens = untrained.vocabulary.tokens
    assert [tokens[i] for i in untrained.read[2, :3]] == ["<sos>", "el", "gato"]
    assert tokens[untrained.wanted[2, 2]] == "es"
    for cell in ("predict-loss", "start-lab"):
        assert "sentence=2, place=2" in LESSON[cell]
    assert f"has `d_model` = {translator.config.d_model}" in LESSON.prose


@pytest.mark.usefixtures("folder_thrown_away")
def test_the_prediction_of_what_is_most_alike_is_scored() -> None:
    names = LESSON.run("start", "lengths", "predict-likeness")
    names["shown"].guess = "the first “the” and “cat” beside it"
    assert names["shown"].score == 1
