"""What the fifth lesson says in prose, held to the numbers."""

from __future__ import annotations

import copy
from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import label_heads, weights_between
from viz_transformer.config import ModelConfig
from viz_transformer.exercises import exercise
from viz_transformer.model import Transformer
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.vocabulary import join_tokens

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("5")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "heads")


@pytest.fixture(autouse=True)
def _without_gradients():
    """Let no cell switch gradients off for the tests after it."""
    with torch.no_grad():
        yield


def test_tired_looks_elsewhere_in_each_of_the_four_heads() -> None:
    made = run("four-rows", "mean-row")
    tokens = made["trace"].source_tokens
    favourites = [tokens[int(row.argmax())] for row in made["rows"]]
    assert favourites[1:3] == ["animal", "was"]
    assert min(made["rows"][1].max(), made["rows"][2].max()) > 0.7
    assert (made["rows"][[0, 3]].max(axis=-1) < 0.25).all()  # “over many words”
    mean = {token: float(weight) for token, weight in zip(tokens, made["mean"], strict=True)}
    assert 0.18 < mean.pop("animal") < 0.23 < mean.pop("was") < 0.28
    assert max(mean.values()) < 0.12
    assert not LESSON.lacks("about a fifth *animal*, about a quarter *was*", cell="mixture")
    view = run("heads-view")["shown"]
    assert (view.kind, view.layer, view.head, tokens[view.query]) == ("encoder", 1, 0, "tired")


def test_the_predictions_are_scored_by_the_layers() -> None:
    made = run("predict-price")
    counts = {made["size"](MultiHeadAttention(64, n_heads)) for n_heads in (1, 2, 4, 8, 16)}
    assert counts == {4 * (64 * 64 + 64)} == {16_640}
    assert not LESSON.lacks("That makes 16,640 **parameters**", cell="mixture")
    shortcut = run("split-view", "predict-shortcut")["shown"]
    for asked, guess in ((made["shown"], 16_640), (shortcut, "all the numbers of the first word")):
        asked.guess = guess
        assert asked.score == 1


def test_after_the_shortcut_nine_of_thirteen_do_not_notice() -> None:
    made = run("who-notices")
    x, changed = made["x"], made["changed"]
    assert x.shape == (13, 64)
    right = (made["by_the_model"](changed) - made["by_the_model"](x)).abs().amax(-1)
    wrong = (made["by_reshape_alone"](changed) - made["by_reshape_alone"](x)).abs().amax(-1)
    assert (right > 1e-3).all()
    assert (wrong == 0).tolist() == [True] * 9 + [False] * 4
    assert not LESSON.lacks("nine of the thirteen don't change at all", cell="nobody-notices")


def test_the_steps_equal_the_layer() -> None:
    made = run("who-notices", "shapes", "sum-of-heads")
    shapes = {name: tuple(made[name].shape) for name in ("q", "weights", "heads", "joined")}
    assert shapes == {"q": (4, 13, 16), "weights": (4, 13, 13), "heads": (4, 13, 16), "joined": (13, 64)}
    torch.testing.assert_close(made["result"], made["by_the_model"](made["x"]))
    added = made["each_head"].sum(0) + made["layer"].w_o.bias
    torch.testing.assert_close(added, made["result"], atol=1e-5, rtol=1e-5)
    # So a head that is switched off is a part of the sum that is left out.
    without = copy.deepcopy(made["layer"])
    without.w_o.weight[:, 3 * 16 :] = 0
    others = made["each_head"][:3].sum(0) + made["layer"].w_o.bias
    x = made["x"][None]
    torch.testing.assert_close(without(x, x)[0][0], others, atol=1e-5, rtol=1e-5)
    # The view stands where the heads lie side by side, on the head that looks at the animal.
    view = run("concat")["shown"]
    assert view.steps.steps[view.step : view.step + 2] == ("concat", "result")
    assert view.head == 1
    assert np.array_equal(view.worked().concat[1 * 16 : 2 * 16], view.worked().output)


def test_one_large_multiplication_is_three() -> None:
    made = run("who-notices", "fused-code")
    assert made["same"] == [True, True, True]
    assert made["fused"].shape == torch.nn.MultiheadAttention(64, 4).in_proj_weight.shape
    first, after = exercise("5.4").wanted.value
    keys = made["layer"].w_k(made["x"])[:, 2 * 16 : 3 * 16]
    torch.testing.assert_close(made["qkv"][:, first:after], keys, atol=1e-5, rtol=1e-5)


def test_nine_of_24_heads_have_a_name() -> None:
    made = run("labels")
    house, trace = made["house"], made["trace"]
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
    # “*street* to *wide*, *her* to *doctor*.”
    for text, word, decides in ((too_wide, "wide", "street"), ("the doctor lost her book", "doctor", "her")):
        assert weights_between(translator.trace(text), "encoder", word, decides)[1, 1] > 0.8
    # “With *tired* it is not missed.”
    off = vt.Interventions(heads=[vt.HeadChange("encoder", 1, 1, factor=0)])
    assert translator.translate(made["sentence"], interventions=off).text.endswith("cansado")


def test_torchs_encoder_copies_its_layer_and_ours_does_not() -> None:
    made = run("predict-price", "copied", "shared-code")
    assert len(made["starts"]) == 6
    assert all(torch.equal(made["starts"][0], each) for each in made["starts"])
    sizes = [sum(each.numel() for each in made[name].parameters()) for name in ("stack", "linear")]
    assert sizes == [4_160, 4_160]
    config = ModelConfig(vocab_size=9, d_model=8, n_heads=2, n_encoder_layers=3, n_decoder_layers=1, d_ff=8)
    weights = [each.self_attention.w_q.weight for each in Transformer(config).encoder.layers]
    assert not any(torch.equal(weights[0], each) for each in weights[1:])


def test_the_reference_functions_are_those_of_the_model() -> None:
    layer, x = MultiHeadAttention(12, 3), torch.randn(5, 12)
    heads = exercise("5.2").wanted.reference(x, 3)
    torch.testing.assert_close(heads[None], layer._split_heads(x[None]))
    torch.testing.assert_close(exercise("5.3").wanted.reference(heads), x)
