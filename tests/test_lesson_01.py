"""What the first lesson says in prose, held to the bundled translator."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import weights_between
from viz_transformer.corpus import english_spanish, is_held_out, translations
from viz_transformer.corpus.batches import as_text
from viz_transformer.exercises import Look, check_head

LESSON = Lesson("1")
TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"
TELLS = (1, 1)  # layer and head of the encoder


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
    train = english_spanish(n_train=20_000, n_held_out=0, n_of_a_kind=0).train
    seen = {combination for pair in train for combination in pair.combinations}
    assert {"black horse", "white cat"} <= seen
    assert "black cat" not in seen


def test_the_ending_is_right_while_the_decoder_looks_only_at_the_adjective(translator) -> None:
    trace = translator.trace(TIRED)
    assert trace.output_tokens[-2] == "cansado"
    assert trace.output_tokens[-4] == "estaba"
    wide = translator.trace(WIDE)
    assert (wide.output_tokens[-4], wide.output_tokens[-2]) == ("era", "ancha")
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
    assert right == [TELLS]


def test_it_looks_at_the_street_whatever_is_meant(translator) -> None:
    tired = weights_between(translator.trace(TIRED), "encoder", "it", "street")[TELLS]
    wide = weights_between(translator.trace(WIDE), "encoder", "it", "street")[TELLS]
    assert min(tired, wide) > 0.5
    assert abs(tired - wide) < 0.05


def without(layer: int, head: int) -> vt.Interventions:
    """The translator with one head of the encoder switched off."""
    return vt.Interventions(heads=(vt.HeadChange("encoder", layer, head, factor=0),))


def test_without_that_head_the_animal_is_cansada_and_without_no_other_of_its_layer(translator) -> None:
    assert "With any other head of the layer switched off, it still writes" in LESSON.prose
    for head in range(4):
        text = translator.translate(TIRED, interventions=without(1, head)).text
        assert text.split()[-1] == ("cansada" if (1, head) == TELLS else "cansado")


def test_her_leaves_only_women() -> None:
    names = LESSON.run("open")
    both = {text.split()[0] for text in names["translations"]("the teacher sleeps")}
    assert both == {"el", "la"}
    assert {text.split()[0] for text in names["translations"]("the teacher lost her book")} == {"la"}
    assert "the teacher lost her book" in LESSON["open"]
    assert "only women are left" in LESSON.prose


def test_teacher_looks_at_her_in_the_same_head(translator) -> None:
    for possessive, first in (("her", "la"), ("his", "el")):
        trace = translator.trace(f"the teacher lost {possessive} book")
        assert trace.output_tokens[0] == first
        weights = weights_between(trace, "encoder", "teacher", possessive)
        assert weights[TELLS] > 0.9
        assert np.sort(weights.ravel())[-2] < 0.4  # “One head stands out”


@pytest.mark.parametrize("head", range(4))
def test_without_that_head_the_sex_is_a_guess_and_without_no_other_of_its_layer(translator, head) -> None:
    pairs = english_spanish(n_train=0, n_held_out=0).held_out_owners
    assert len(pairs) == 300
    assert "300 sentences with *her* or *his*" in LESSON.prose
    sources = [as_text(pair.source) for pair in pairs]
    texts = [each.text for each in translator.translate_all(sources, interventions=without(1, head))]
    wrong = [text not in translations(source) for source, text in zip(sources, texts, strict=True)]
    if (1, head) == TELLS:
        assert "in about half of them" in LESSON.prose
        assert 0.4 < np.mean(wrong) < 0.6
    else:
        assert "all 300 stayed right" in LESSON.prose
        assert not any(wrong)
