"""What the first lesson says in prose, held to the bundled translator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import weights_between
from viz_transformer.corpus import english_spanish, is_held_out
from viz_transformer.exercises import Look, check_head
from viz_transformer.recipes import exact_match

LESSON = Lesson("1")
TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"


def test_the_model_has_as_many_numbers_as_it_says(translator) -> None:
    count = sum(parameter.numel() for parameter in translator.model.parameters())
    assert f"{count:,} numbers" in LESSON.prose


def test_gato_looks_at_cat_in_every_head_of_layer_1(translator) -> None:
    trace = translator.trace("the black cat sleeps")
    cat = weights_between(trace, "cross", "gato", "cat")
    black = weights_between(trace, "cross", "negro", "black")
    assert (cat[1] > 0.99).all()
    assert (black[1] > 0.99).all()
    # “The heads of layer 0 do not agree yet: one already leans towards cat, others elsewhere.”
    assert (cat[0] > 0.5).sum() == 1
    assert (cat[0] < 0.1).sum() >= 2


def test_black_cat_was_never_read_but_black_horse_and_white_cat_were() -> None:
    assert is_held_out("black cat")
    train = english_spanish(n_train=20_000, n_held_out=0, n_held_out_reasons=0).train
    seen = {combination for pair in train for combination in pair.combinations}
    assert {"black horse", "white cat"} <= seen
    assert "black cat" not in seen


def test_the_ending_is_right_while_the_decoder_looks_only_at_the_adjective(translator) -> None:
    trace = translator.trace(TIRED)
    assert trace.output_tokens[-2] == "cansado"
    assert translator.trace(WIDE).output_tokens[-2] == "ancha"
    assert weights_between(trace, "cross", "cansado", "tired")[1, 0] > 0.99
    for word in ("animal", "it"):
        assert weights_between(trace, "cross", "cansado", word)[1, 0] < 0.01


def test_the_prediction_is_not_given_away_by_the_cells_that_ask_for_it() -> None:
    asked = LESSON["who-is-tired"].split("### Predict before you look")[1] + LESSON["predict"]
    words = asked.replace("    tired,\n", "")  # the trace that is asked about
    assert "cansado" in words
    assert "tired" not in words


def test_exactly_one_encoder_head_answers_the_exercise(translator) -> None:
    looks = [
        Look(translator.trace(TIRED), "encoder", "tired", "animal"),
        Look(translator.trace(WIDE), "encoder", "wide", "street"),
    ]
    right = [
        (layer, head)
        for layer, head in np.ndindex(2, 4)
        if check_head(looks, kind="encoder", layer=layer, head=head)
    ]
    assert right == [(1, 3)]


def test_it_looks_at_the_animal_whatever_is_meant(translator) -> None:
    tired = weights_between(translator.trace(TIRED), "encoder", "it", "animal")[1, 3]
    wide = weights_between(translator.trace(WIDE), "encoder", "it", "animal")[1, 3]
    assert min(tired, wide) > 0.5
    assert abs(tired - wide) < 0.05


@pytest.mark.usefixtures("shapes_unchecked")
def test_that_head_decides_and_no_other_of_its_layer_does() -> None:
    """Its part of W_O set to zero, a head says nothing."""
    translator = vt.load_translator()
    weight = translator.model.encoder.layers[1].self_attention.w_o.weight
    d_head = translator.config.d_head
    failures = []
    for head in range(4):
        kept = weight.detach().clone()
        with torch.no_grad():
            weight[:, head * d_head : (head + 1) * d_head] = 0
        score = exact_match("", translator, english_spanish(n_train=0).held_out_reasons)
        failures.append(1 - score.share)
        with torch.no_grad():
            weight.copy_(kept)
    assert failures[:3] == [0, 0, 0]
    assert "fails in three out of four sentences" in LESSON.prose
    assert failures[3] == pytest.approx(3 / 4, abs=0.05)
