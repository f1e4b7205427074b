"""What the first lesson says in prose, held to the bundled translator."""

from __future__ import annotations

from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BertConfig, GPT2Config, LlamaConfig

import viz_transformer as vt
from tests.support.lessons import Lesson, table_under
from viz_transformer.analysis import weights_between
from viz_transformer.corpus import english_spanish, is_held_out, translations
from viz_transformer.corpus.batches import as_text
from viz_transformer.exercises import exercise

LESSON = Lesson("1")
TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"
TELLS = (1, 1)  # layer and head of the encoder


def test_the_model_has_as_many_numbers_as_it_says(translator) -> None:
    count = sum(parameter.numel() for parameter in translator.model.parameters())
    assert f"{count:,} **parameters**" in LESSON.prose


def test_gato_looks_at_cat_in_every_head_of_layer_1(translator) -> None:
    trace = translator.trace("the black cat sleeps")
    cat = weights_between(trace, "cross", "gato", "cat")
    black = weights_between(trace, "cross", "negro", "black")
    assert (cat[1] > 0.99).all()
    assert (black[1] > 0.99).all()
    # “In layer 0 they don't agree yet: head 3 leans towards black, and the others look elsewhere.”
    assert "head 3 leans towards *black*" in LESSON.prose
    of_gato = trace.cross_attention[0, :, 1]  # [head, key]
    assert trace.source_tokens[of_gato[3].argmax()] == "black"
    assert 0.6 < of_gato[3].max() < 0.9
    assert not {"black", "cat"} & {trace.source_tokens[row.argmax()] for row in of_gato[:3]}


def test_it_opens_on_the_crossed_diagonal_with_gato_chosen() -> None:
    explorer = LESSON.run("start", "lab")["explorer"]
    assert (explorer.kind, explorer.layer, explorer.head) == ("cross", 1, 0)
    assert explorer.trace.query_tokens("cross")[explorer.query] == "gato"
    weights = explorer.trace.cross_attention[1, 0]  # [query, key]
    assert weights.argmax(-1).tolist() == [0, 2, 1, 3, 4]
    assert "*cat*, the **third** English word" in LESSON["reading"]
    assert "*black*, the **second**" in LESSON["reading"]
    assert "in the middle two of them have changed places" in LESSON.prose


def test_the_head_that_python_chooses_is_the_one_that_leans_towards_black() -> None:
    chosen = LESSON.run("start", "lab", "select")["shown"]
    assert (chosen.kind, chosen.layer, chosen.head, chosen.query) == ("cross", 0, 3, 1)


def test_black_cat_was_never_read_but_black_horse_and_white_cat_were() -> None:
    assert is_held_out("black cat")
    train = english_spanish(n_train=20_000, n_held_out=0, n_of_a_kind=0).train
    seen = {combination for pair in train for combination in pair.combinations}
    assert {"black horse", "white cat"} <= seen
    assert "black cat" not in seen
    assert "*black horse* and *white cat*" in LESSON["no-memory"]


def test_the_ending_is_right_while_the_decoder_looks_only_at_the_adjective(translator) -> None:
    trace = translator.trace(TIRED)
    assert trace.output_tokens[-2] == "cansado"
    assert trace.output_tokens[-4] == "estaba"
    wide = translator.trace(WIDE)
    assert (wide.output_tokens[-4], wide.output_tokens[-2]) == ("era", "ancha")
    assert weights_between(trace, "cross", "cansado", "tired")[1, 0] > 0.99
    for word in ("animal", "it"):
        assert weights_between(trace, "cross", "cansado", word)[1, 0] < 0.01


def test_the_prediction_is_not_given_away_on_the_screen_that_asks_for_it() -> None:
    asked = LESSON.on_screen_with("predict").split("### Predict before you look")[1]
    words = asked.replace("    tired,\n", "").replace("… too tired", "")  # the trace, a button
    assert "cansado" in words
    assert "tired" not in words
    assert "*tired*" in LESSON["predict"].partition("afterwards=")[2]


def test_exactly_one_encoder_head_answers_the_exercise() -> None:
    check = exercise("1.2").check
    right = [
        (layer, head)
        for layer, head in np.ndindex(2, 4)
        if check(SimpleNamespace(kind="encoder", layer=layer, head=head))
    ]
    assert right == [TELLS]


def test_it_attends_to_did_whatever_is_meant(translator) -> None:
    looks = [weights_between(translator.trace(text), "encoder", "it", "did")[TELLS] for text in (TIRED, WIDE)]
    assert min(looks) > 0.8
    assert abs(looks[0] - looks[1]) < 0.05


def without(layer: int, head: int) -> vt.Interventions:
    """The translator with one head of the encoder switched off."""
    return vt.Interventions(heads=(vt.HeadChange("encoder", layer, head, factor=0),))


def test_without_that_head_the_street_is_ancho_and_without_no_other_of_its_layer(translator) -> None:
    assert "Switch off any other head of the layer instead, and it still writes" in LESSON.prose
    for head in range(4):
        text = translator.translate(WIDE, interventions=without(1, head)).text
        assert text.split()[-1] == ("ancho" if (1, head) == TELLS else "ancha")


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
        assert "In about half of them" in LESSON.prose
        assert 0.4 < np.mean(wrong) < 0.6
    else:
        assert "all 300 stayed right" in LESSON.prose
        assert not any(wrong)


def test_the_heads_of_real_models_are_those_of_their_published_configurations() -> None:
    rows = table_under(LESSON["real"], "## In a real model")
    config = vt.load_translator().config
    bert, gpt2, llama = BertConfig(), GPT2Config(), LlamaConfig()
    first = {name: each.default for name, each in signature(torch.nn.Transformer).parameters.items()}
    for name, layers, heads in (
        ("this translator", config.n_encoder_layers, config.n_heads),
        ("BERT, base (section 3)", bert.num_hidden_layers, bert.num_attention_heads),
        ("GPT-2, small", gpt2.n_layer, gpt2.n_head),
        ("Llama, 7B (table 2)", llama.num_hidden_layers, llama.num_attention_heads),
        ("the first Transformer, base (table 3)", first["num_encoder_layers"], first["nhead"]),
    ):
        assert [int(each) for each in rows[name][1:3]] == [layers, heads], name
    for kinds, layers, heads, in_all in rows.values():
        assert f"{int(kinds) * int(layers) * int(heads):,}" == in_all


def test_the_tour_shows_what_it_says() -> None:
    tour = vt.lesson_tour(1)
    for step in tour.steps[1:4]:
        state = step["state"]
        trace = tour.view.trace
        row = trace.attention(state["kind"])[state["layer"], state["head"], state["query"]]  # [key]
        for word in (trace.output_tokens[state["query"]], trace.source_tokens[row.argmax()]):
            assert f"“{word}”" in step["caption"]
    cat = weights_between(tour.view.trace, "cross", "gato", "cat")
    black = weights_between(tour.view.trace, "cross", "gato", "black")
    assert black[0, 3] > 0.6 > 0.1 > black[0, 0]  # “Head 3 leans towards black”, “head 0 looks elsewhere”
    assert cat[0, 0] < 0.1
