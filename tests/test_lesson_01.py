"""What the first lesson says in prose, held to the bundled translator."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson, flat
from viz_transformer.analysis import weights_between
from viz_transformer.corpus import english_spanish, translations
from viz_transformer.corpus.batches import as_text

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("1")
TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"


def test_words_of_the_prose_set_the_first_picture_to_what_they_say(translator) -> None:
    first = LESSON.run("start")["first"]
    explorer = first.explorer
    assert (explorer.kind, explorer.layer, explorer.head) == ("cross", 1, 1)
    assert [list(map(tuple, explorer.written["next"][1])), explorer.before["next"][1]] == [
        [("maestra", pytest.approx(0.96, abs=0.005)), ("profesora", pytest.approx(0.045, abs=0.005))],
        [["profesor", pytest.approx(0.58, abs=0.005)], ["maestro", pytest.approx(0.42, abs=0.005)]],
    ]
    assert not LESSON.lacks("*maestra* 96%", "*profesor* 58% and *maestro* 42%", cell="opening")
    links = re.findall(r"\[([^]]+)\]\(#set:([^)]+)\)", LESSON["opening"])
    assert [flat(word) for word, _ in links] == ["his", "her", "encoder head 1·1", "cross head 1·1"]
    for _, traits in links:
        for name, value in parse_qsl(traits, strict_parsing=True):
            view = first if first.has_trait(name) else first.explorer
            assert view.has_trait(name)
            view.set_trait(name, int(value) if value.isdigit() else value)
        if "his" in traits:
            assert first.translation.text == "el profesor perdió su libro"
    assert first.translation.text == "la maestra perdió su libro"
    assert (first.explorer.kind, first.explorer.layer, first.explorer.head) == ("cross", 1, 1)
    assert first.explorer.trace.query_tokens("cross")[first.explorer.query] == "maestra"
    said = "*teacher* gives *her* 92% of its attention", "gives *teacher* more than 99%"
    assert not LESSON.lacks(*said, cell="opening")
    assert round(100 * weights_between(first.trace, "encoder", "teacher", "her")[1, 1]) == 92
    assert weights_between(first.trace, "cross", "maestra", "teacher")[1, 1] > 0.99


def test_most_rows_of_encoder_layer_0_attend_to_the_end(translator) -> None:
    assert not LESSON.lacks("In layer 0 of the encoder, 19 of the 20 rows", cell="sinks")
    asked = LESSON.run("start", "search", "predict-sink")["shown"]
    asked.guess = "<eos>"
    assert asked.score == 1
    rows = translator.trace("the black cat sleeps").encoder_attention[0].reshape(20, -1)
    assert (rows.argmax(-1) == 4).sum() == 19


def test_the_head_writes_the_same_at_it_in_both_sentences(translator) -> None:
    assert not LESSON.lacks("differs by less than 0.1%", cell="no-proof")
    written = []
    layer = translator.model.encoder.layers[1].self_attention
    for text in (TIRED, WIDE):
        values: list[torch.Tensor] = []
        watching = layer.w_v.register_forward_hook(lambda _, __, out, kept=values: kept.append(out.detach()))
        trace = translator.trace(text)
        watching.remove()
        of_it = trace.encoder_attention[1, 1, trace.source_tokens.index("it")]  # [key]
        assert trace.source_tokens[of_it.argmax()] == "did"
        of_head = values[-1][0].unflatten(-1, (4, -1))[:, 1]  # [key, d_head]
        written.append(torch.tensor(of_it) @ of_head)
    assert (written[0] - written[1]).norm() < 0.001 * written[0].norm()


def test_without_the_head_his_and_her_give_the_same_person(translator) -> None:
    names = LESSON.run("start", "predict-off")
    for text in (names["hers"], names["his"]):
        found = translator.translate(text, interventions=names["off"]).text
        assert found == "la maestra perdió su libro"
    names["shown"].guess = found
    assert names["shown"].score == 1


def test_the_language_model_finishes_the_sentence_with_an_adjective() -> None:
    names = LESSON.run("start", "finish")
    text = "el animal no cruzó la calle porque estaba demasiado"
    assert f'"{text}"' in LESSON["finish"]
    assert list(names["language_model"].next_words(text))[:3] == ["cansado", "asustado", "enfermo"]


def test_gato_looks_at_cat_in_every_head_of_layer_1(translator) -> None:
    count = sum(parameter.numel() for parameter in translator.model.parameters())
    assert f"{count:,} **parameters**" in LESSON.prose
    trace = translator.trace("the black cat sleeps")
    for word, looked_at in (("gato", "cat"), ("negro", "black")):
        assert (weights_between(trace, "cross", word, looked_at)[1] > 0.99).all()
    assert weights_between(trace, "cross", "gato", "cat")[0].max() < 0.5


def test_the_switch_opens_on_the_crossed_diagonal_with_gato_chosen() -> None:
    search = LESSON.run("start", "search")["search"]
    assert (search.kind, search.layer, search.head, search.picture) == ("cross", 1, 0, "matrix")
    assert search.trace.query_tokens("cross")[search.query] == "gato"
    weights = search.trace.cross_attention[1, 0]  # [query, key]
    assert weights.argmax(-1).tolist() == [0, 2, 1, 3, 4]
    said = ("*cat*, the **third** English word", "*black*, the **second**")
    assert not LESSON.lacks(*said, cell="reading")


def test_the_ending_is_right_while_the_decoder_looks_only_at_the_adjective(translator) -> None:
    trace, wide = translator.trace(TIRED), translator.trace(WIDE)
    assert (trace.output_tokens[-4], trace.output_tokens[-2]) == ("estaba", "cansado")
    assert (wide.output_tokens[-4], wide.output_tokens[-2]) == ("era", "ancha")
    words = ("tired", "animal", "it")
    tired, animal, it = (weights_between(trace, "cross", "cansado", word)[1, 0] for word in words)
    assert tired > 0.99 > 0.01 > max(animal, it)
    # The prediction's screen does not name the adjective.
    asked = LESSON.on_screen_with("predict").split("## Which head carries the gender?")[1]
    words = asked.replace("    tired,\n", "").replace("… too tired", "")  # the trace, a button
    assert "cansado" in words
    assert "tired" not in words


def test_one_head_distinguishes_wide_from_whom_and_her_from_his(translator) -> None:
    """Without head (1, 1) the street is *ancho*, and the sex is a guess; no other head matters."""
    pairs = english_spanish(n_train=0, n_held_out=0).held_out_owners
    assert len(pairs) == 300
    said = ("300 sentences with *her* or *his*", "In about half of them", "all 300 stayed right")
    assert not LESSON.lacks(*said, cell="no-proof")
    sources = [as_text(pair.source) for pair in pairs]
    for head in range(4):
        off = vt.Interventions(heads=(vt.HeadChange("encoder", 1, head, factor=0),))
        ending = translator.translate(WIDE, interventions=off).text.split()[-1]
        texts = [each.text for each in translator.translate_all(sources, interventions=off)]
        wrong = [text not in translations(source) for source, text in zip(sources, texts, strict=True)]
        if head == 1:
            assert ending == "ancho"
            assert 0.4 < np.mean(wrong) < 0.6
        else:
            assert ending == "ancha", head
            assert not any(wrong), head
