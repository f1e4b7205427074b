"""What *Going further* says about labels of heads, held to the numbers."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import label_heads, weights_between
from viz_transformer.exercises import exercise
from viz_transformer.vocabulary import join_tokens

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("head_labels")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "heads")
#: The sentence of lesson 5.
TIRED = "the animal did not cross the street because it was too tired"


def test_nine_of_24_heads_have_a_name() -> None:
    made = run("labels")
    house, trace = made["house"], made["translator"].trace(TIRED)
    named = Counter(
        (kind, layer, label.name)
        for kind in house.kinds
        for layer, row in enumerate(label_heads(house, kind))
        for label in row
        if label is not None
    )
    assert (named.total(), made["n_heads"]) == (9, 24)
    assert (named["decoder", 0, "same token"], named["encoder", 0, "last-token sink"]) == (1, 4)
    assert {name for _, _, name in named} == {"same token", "last-token sink", "diagonal alignment"}
    # “Heads 2 and 3 attend to *cross* and *was* in the row of *it*.”
    for head, key in ((2, "cross"), (3, "was")):
        assert weights_between(trace, "encoder", "was", "<eos>")[0, head] > 0.95
        row = trace.encoder_attention[0, head, trace.source_tokens.index("it")]
        assert trace.source_tokens[row.argmax()] == key
        assert row.max() > 0.95
    assert label_heads(trace, "encoder")[1][1] is None  # “The head that found *animal* has none.”
    assert len(house.source_tokens) == 11
    assert label_heads(house, "encoder")[0][0].uniform == pytest.approx(1 / 11)  # “1/11 = 0.09”


def test_same_token_in_the_decoder_is_the_word_just_read() -> None:
    made = run("labels", "predict-name")
    house, guess = made["house"], made["shown"]
    label = label_heads(house, "decoder")[0][1]
    assert "its own position, the token just read" in label.sentence
    own = house.decoder_attention[0, 1].diagonal()[2:]  # the rows that the label counts
    assert label.evidence == pytest.approx(own.mean(), abs=1e-6)
    # The row that writes “pequeño” has read “perro”, in the same position; not every row is so.
    read, written = house.target_tokens, house.output_tokens
    assert read[written.index("pequeño")] == "perro"
    assert join_tokens(written[:-2]) == "la mujer tiene una casa roja y un perro"
    guess.choice = read.index("perro")
    assert guess.score == 1
    for word in ("mujer", "una"):
        assert weights_between(house, "decoder", word, "<sos>")[0, 1] > 0.9


def test_the_unlabelled_head_decides_wide_and_doctor(capsys) -> None:
    made = run("without-one")
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line]
    wide = "el animal no cruzó la calle porque era demasiado ancha"
    woman, man = "la doctora perdió su libro", "el doctor perdió su libro"
    assert shown == [
        wide,
        *(f"without head {head}: {wide[:-1] + 'o' if head == 1 else wide}" for head in range(4)),
        woman,
        *(f"without head {head}: {man if head == 1 else woman}" for head in range(4)),
    ]
    translator, too_wide = made["translator"], made["too_wide"]
    # “*wide* to *street*, *doctor* to *her*.”
    for text, word, decides in ((too_wide, "wide", "street"), ("the doctor lost her book", "doctor", "her")):
        assert weights_between(translator.trace(text), "encoder", word, decides)[1, 1] > 0.8
    # “With *tired*, removing it changes no word.”
    off = vt.Interventions(heads=[vt.HeadChange("encoder", 1, 1, factor=0)])
    assert translator.translate(TIRED, interventions=off).text.endswith("cansado")
    assert exercise("head_labels.1").check(1).passed


def test_black_cat_was_held_out_and_the_teacher_may_be_a_woman_or_a_man() -> None:
    names = LESSON.run("held-out", "open")
    held = {phrase: names["is_held_out"](phrase) for phrase in ("black cat", "black horse", "white cat")}
    assert held == {"black cat": True, "black horse": False, "white cat": False}
    assert {text[:2] for text in names["translations"]("the teacher sleeps")} == {"la", "el"}
    assert {text[:2] for text in names["translations"]("the teacher lost her book")} == {"la"}
