"""What the fifth lesson says in prose, held to the numbers."""

from __future__ import annotations

import copy
from functools import partial
from inspect import signature

import numpy as np
import pytest
import torch
from transformers import GPT2Config, LlamaConfig, MistralConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention
from transformers.models.mistral.modeling_mistral import MistralAttention

import viz_transformer as vt
from tests.support.lessons import Lesson, flat, table_under
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
    assert 0.18 < mean.pop("animal") < 0.23
    assert 0.23 < mean.pop("was") < 0.28
    assert max(mean.values()) < 0.12
    assert "about a fifth *animal*, about a quarter *was*" in flat(LESSON["mixture"])


def test_the_view_opens_with_the_row_that_is_talked_about() -> None:
    made = run("heads-view")
    view = made["shown"]
    assert (view.kind, view.layer, view.head) == ("encoder", 1, 0)
    assert made["trace"].source_tokens[view.query] == "tired"


def test_heads_cost_nothing() -> None:
    made = run("predict-price")
    counts = {n_heads: made["size"](MultiHeadAttention(64, n_heads)) for n_heads in (1, 2, 4, 8, 16)}
    assert set(counts.values()) == {4 * (64 * 64 + 64)} == {16_640}
    assert "That makes 16,640 **parameters**" in flat(LESSON["mixture"])
    made["shown"].guess = 16_640
    assert made["shown"].score == 1


@pytest.mark.parametrize(
    ("cell", "secrets"),
    [
        ("predict-price", ("cut, not added", "they share", "narrower", "d_head")),
        ("predict-shortcut", ("a single word",)),
        ("predict-name", ("perro*.", "the beginning")),
    ],
)
def test_no_prediction_is_given_away_on_its_screen(cell: str, secrets: tuple[str, ...]) -> None:
    shown = LESSON.on_screen_with(cell)
    assert not [secret for secret in secrets if secret in shown]


def test_the_shortcut_gives_a_head_one_word() -> None:
    made = run("split-view", "predict-shortcut")
    made["shown"].guess = "all the numbers of the first word"
    assert made["shown"].score == 1
    x = torch.arange(32).reshape(4, 8)
    assert torch.equal(x.reshape(4, 4, 2)[0].flatten(), x[0])


def test_after_the_shortcut_nine_of_thirteen_do_not_notice() -> None:
    made = run("who-notices")
    x, changed = made["x"], made["changed"]
    assert x.shape == (13, 64)
    right = (made["by_the_model"](changed) - made["by_the_model"](x)).abs().amax(-1)
    wrong = (made["by_reshape_alone"](changed) - made["by_reshape_alone"](x)).abs().amax(-1)
    assert (right > 1e-3).all()
    assert (wrong == 0).tolist() == [True] * 9 + [False] * 4
    assert "nine of the thirteen don't change at all" in flat(LESSON["nobody-notices"])


def test_the_steps_give_what_the_layer_gives() -> None:
    made = run("who-notices", "shapes", "sum-of-heads")
    shapes = {name: tuple(made[name].shape) for name in ("q", "weights", "heads", "joined")}
    assert shapes == {
        "q": (4, 13, 16),
        "weights": (4, 13, 13),
        "heads": (4, 13, 16),
        "joined": (13, 64),
    }
    torch.testing.assert_close(made["result"], made["by_the_model"](made["x"]))
    added = made["each_head"].sum(0) + made["layer"].w_o.bias
    torch.testing.assert_close(added, made["result"], atol=1e-5, rtol=1e-5)
    # So a head that is switched off is a part of the sum that is left out.
    without = copy.deepcopy(made["layer"])
    without.w_o.weight[:, 3 * 16 :] = 0
    others = made["each_head"][:3].sum(0) + made["layer"].w_o.bias
    x = made["x"][None]
    torch.testing.assert_close(without(x, x)[0][0], others, atol=1e-5, rtol=1e-5)


def test_the_view_stands_at_the_heads_side_by_side() -> None:
    view = run("concat")["shown"]
    assert view.steps.steps[view.step] == "concat"
    assert view.steps.steps[view.step + 1] == "result"
    worked = view.worked()
    assert view.head == 1  # the head that looks at the animal
    assert np.array_equal(worked.concat[1 * 16 : 2 * 16], worked.output)


def test_one_large_multiplication_is_three() -> None:
    made = run("who-notices", "fused-code")
    assert made["same"] == [True, True, True]
    assert made["fused"].shape == torch.nn.MultiheadAttention(64, 4).in_proj_weight.shape
    first, after = exercise("5.4").wanted.value
    keys = made["layer"].w_k(made["x"])[:, 2 * 16 : 3 * 16]
    torch.testing.assert_close(made["qkv"][:, first:after], keys, atol=1e-5, rtol=1e-5)


def test_nine_of_24_heads_have_a_name() -> None:
    made = run("labels")
    house = made["house"]
    named = {
        (kind, layer, head): label.name
        for kind in house.kinds
        for layer, row in enumerate(label_heads(house, kind))
        for head, label in enumerate(row)
        if label is not None
    }
    assert (len(named), made["n_heads"]) == (9, 24)
    assert named.pop(("decoder", 0, 1)) == "same token"
    sinks = [where for where, name in named.items() if name == "last-token sink"]
    assert sinks == [("encoder", 0, head) for head in range(4)]
    assert {named[where] for where in named.keys() - set(sinks)} == {"diagonal alignment"}
    # “Heads 2 and 3 attend to *cross* and *was* in the row of *it*.”
    for head, key in ((2, "cross"), (3, "was")):
        assert weights_between(made["trace"], "encoder", "was", "<eos>")[0, head] > 0.95
        row = made["trace"].encoder_attention[0, head, made["trace"].source_tokens.index("it")]
        assert made["trace"].source_tokens[row.argmax()] == key
        assert row.max() > 0.95
    tired = label_heads(made["trace"], "encoder")
    assert tired[1][1] is None  # “The head that found *animal* has none.”
    evenly = label_heads(house, "encoder")[0][0].uniform  # “1/11 = 0.09”
    assert len(house.source_tokens) == 11
    assert evenly == pytest.approx(1 / 11)


def test_same_token_in_the_decoder_is_the_word_just_read() -> None:
    house = run("labels")["house"]
    label = label_heads(house, "decoder")[0][1]
    assert "its own position, the token just read" in label.sentence
    own = house.decoder_attention[0, 1].diagonal()[2:]  # the rows that the label counts
    assert label.evidence == pytest.approx(own.mean(), abs=1e-6)
    # The row that writes “pequeño” has read “perro”, in the same position.
    read, written = house.target_tokens, house.output_tokens
    assert read[written.index("pequeño")] == "perro"


def test_the_name_foretells_pequeno_and_not_every_row() -> None:
    asked = run("labels", "predict-name")
    house, guess = asked["house"], asked["shown"]
    assert join_tokens(house.output_tokens[:-2]) == "la mujer tiene una casa roja y un perro"
    guess.choice = house.target_tokens.index("perro")
    assert guess.score == 1
    for word in ("mujer", "una"):
        assert weights_between(house, "decoder", word, "<sos>")[0, 1] > 0.9


def test_the_head_without_a_name_decides_what_is_wide_and_who_is_a_doctor(capsys) -> None:
    made = run("without-one")
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line]
    wide = "el animal no cruzó la calle porque era demasiado ancha"
    woman, man = "la doctora perdió su libro", "el doctor perdió su libro"
    assert shown == [
        wide,
        f"without head 0: {wide}",
        f"without head 1: {wide.removesuffix('a')}o",
        f"without head 2: {wide}",
        f"without head 3: {wide}",
        woman,
        f"without head 0: {woman}",
        f"without head 1: {man}",
        f"without head 2: {woman}",
        f"without head 3: {woman}",
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
    assert all(torch.equal(made["starts"][0], each) for each in made["starts"])
    assert len(made["starts"]) == 6
    count = sum(each.numel() for each in made["stack"].parameters())
    assert count == sum(each.numel() for each in made["linear"].parameters()) == 4_160
    config = ModelConfig(vocab_size=9, d_model=8, n_heads=2, n_encoder_layers=3, n_decoder_layers=1, d_ff=8)
    weights = [each.self_attention.w_q.weight for each in Transformer(config).encoder.layers]
    assert not any(torch.equal(weights[0], each) for each in weights[1:])


def test_the_reference_functions_are_those_of_the_model() -> None:
    layer, x = MultiHeadAttention(12, 3), torch.randn(5, 12)
    heads = exercise("5.2").wanted.reference(x, 3)
    torch.testing.assert_close(heads[None], layer._split_heads(x[None]))
    merged = exercise("5.3").wanted.reference(heads)
    torch.testing.assert_close(merged, x)


def test_layers_of_their_own_are_told_from_others() -> None:
    check = exercise("5.5").check
    assert check(exercise("5.5").wanted.right_answer())
    tied = [torch.nn.Linear(8, 8) for _ in range(6)]
    tied[5].weight = tied[0].weight
    assert "one layer several times" in check(tied).message
    almost = [torch.nn.Linear(8, 8) for _ in range(5)]
    assert "copies" in check([*almost, copy.deepcopy(almost[0])]).message
    assert "has 5 layers" in check(almost).message
    assert "Linear(8, 8)" in check([torch.nn.Linear(8, 4)] * 6).message


def test_the_heads_of_real_models_are_those_of_their_published_configurations() -> None:
    rows = table_under(LESSON["real"], "## In a real model")
    ours = vt.load_translator().config
    first = {name: each.default for name, each in signature(torch.nn.Transformer).parameters.items()}
    gpt2, llama, mistral = GPT2Config(), LlamaConfig(), MistralConfig()
    with torch.device("meta"):  # shapes without numbers
        layers = {
            "this translator": (MultiHeadAttention(64, 4), ours.n_heads, ours.n_heads, ours.d_model),
            "the first Transformer, base (table 3)": (
                MultiHeadAttention(first["d_model"], first["nhead"], bias=False),
                first["nhead"],
                first["nhead"],
                first["d_model"],
            ),
            "GPT-2, small": (GPT2Attention(gpt2, layer_idx=0), gpt2.n_head, gpt2.n_head, gpt2.n_embd),
            "Llama, 7B (table 2)": (
                LlamaAttention(llama, 0),
                llama.num_attention_heads,
                llama.num_key_value_heads,
                llama.hidden_size,
            ),
            "Mistral, 7B (table 1)": (
                MistralAttention(mistral, 0),
                mistral.num_attention_heads,
                mistral.num_key_value_heads,
                mistral.hidden_size,
            ),
        }
    for name, (layer, n_heads, n_shared, d_model) in layers.items():
        n_parameters = sum(each.numel() for each in layer.parameters())
        told = [f"{n_heads}", f"{d_model // n_heads}", f"{n_shared}", f"{n_parameters:,}"]
        assert rows[name] == told
    assert rows.keys() == layers.keys()
    assert mistral.num_attention_heads // mistral.num_key_value_heads == 4  # “four heads share each”


def test_the_tour_says_what_each_head_attends_to() -> None:
    tour = vt.lesson_tour(5)
    tokens = tour.view.steps.key_tokens
    told = []
    for step in range(4):
        tour.step = step
        row = tour.view.worked().weights
        assert tour.view.steps.steps[tour.view.step] == "weights"
        told.append((tokens[int(row.argmax())], float(row.max())))
    assert told[0][1] < 0.25
    assert told[1][0] == "animal"
    assert told[2][0] == "was"
    assert min(told[1][1], told[2][1]) > 0.5
    assert told[3][1] < 0.25
