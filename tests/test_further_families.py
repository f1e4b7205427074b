"""What the lesson on the three families says in prose, held to the models that it shows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.config import ModelConfig, count_parameters, parameter_bill
from viz_transformer.corpus.text_batches import MASKED_SHARE
from viz_transformer.errors import UserError
from viz_transformer.exercises import exercise
from viz_transformer.exercises.instruments import leak_meter
from viz_transformer.experiments.causal_leak import LENGTH, N_WORDS, UNIFORM_LOSS
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.layers import Encoder

LESSON = Lesson("families")
SIZES = {"vocab_size": 16, "d_model": 32, "n_heads": 4, "d_ff": 64}
SIZES |= {"n_encoder_layers": 2, "n_decoder_layers": 2}
IDS = torch.tensor([[1, 2, 3, 4, 5, 6]])
WORDS = ["<sos>", "the", "animal", "was", "too", "tired"]


@pytest.fixture
def encoder_only() -> EncoderOnly:
    torch.manual_seed(0)
    return EncoderOnly(ModelConfig(**SIZES, family="encoder")).eval()


@pytest.fixture
def decoder_only() -> DecoderOnly:
    torch.manual_seed(1)
    return DecoderOnly(ModelConfig(**SIZES, family="decoder")).eval()


def test_a_decoder_only_model_is_a_stack_of_encoder_layers_and_a_mask(
    encoder_only: EncoderOnly, decoder_only: DecoderOnly
) -> None:
    assert isinstance(decoder_only.decoder, Encoder)
    decoder_only.embedding.load_state_dict(encoder_only.embedding.state_dict())
    decoder_only.decoder.load_state_dict(encoder_only.encoder.state_dict())
    read = vt.capture(encoder_only, input_ids=IDS, tokens=WORDS).encoder_attention
    masked, unmasked = (
        vt.capture(decoder_only, input_ids=IDS, tokens=WORDS, interventions=changes).decoder_attention
        for changes in (None, vt.Interventions(causal_mask=False))
    )
    assert abs(read - masked).max() > 0.1
    assert abs(read - unmasked).max() < 1e-6


def test_more_context_raises_the_probability_of_maestra(translator: vt.Translator) -> None:
    english, spanish = "the teacher lost her book", "la maestra perdió su libro"
    decoder_only = vt.load_language_model().next_words("la")["maestra"]
    encoder_only = vt.load_masked_model().fill("la [?] perdió su libro")
    told = float(np.exp(translator.log_probs(english, spanish)[1]))
    assert 2 * decoder_only < encoder_only["maestra"] < 0.5 < 0.9 < told
    people = "vecina cantante amiga maestra alumna doctora médica estudiante profesora"
    assert sum(encoder_only[word] for word in people.split()) > 0.95  # “a person, and no cow”


def test_an_encoder_learns_from_hidden_words_and_a_decoder_from_every_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(LESSON["objectives"], {"vt": vt})
    read, found, heard, written = (line.split()[-6:] for line in capsys.readouterr().out.splitlines())
    words = ["la", "maestra", "perdió", "su", "libro"]
    (hidden,) = [at for at, word in enumerate(found) if word != "·"]
    assert (found[hidden], read[hidden]) == (words[hidden], "<mask>")
    assert heard == ["<sos>", *words]
    assert written == [*words, "<eos>"]
    assert f"BERT hides {MASKED_SHARE:.0%} of the tokens" in LESSON["objectives-said"]


def test_outputs_have_the_shapes_and_the_lottery_the_numbers_that_are_told(
    encoder_only: EncoderOnly, decoder_only: DecoderOnly
) -> None:
    assert encoder_only(IDS).shape == (1, 6, 32)
    assert decoder_only(IDS).shape == (1, 6, 16)
    assert Transformer(ModelConfig(**SIZES))(IDS, IDS).shape == (1, 6, 16)
    with pytest.raises(UserError, match="no classification head"):
        encoder_only.classify(encoder_only(IDS))
    config = ModelConfig(**SIZES | {"d_model": 768}, family="encoder", n_classes=3)
    answer = EncoderOnly(config)(torch.ones(8, 20, dtype=torch.long))
    assert answer.shape == (8, 3)
    assert exercise("families.2").check(tuple(answer.shape)).passed
    # How the two models of the lottery end is measured in test_experiments.
    assert (N_WORDS, LENGTH, f"{UNIFORM_LOSS:.2f}") == (15, 8, "2.71")
    assert not LESSON.lacks("9 words drawn at random from 15", cell="forgotten")
    assert exercise("families.3").check(UNIFORM_LOSS / LENGTH).passed  # the lowest that a cheat can reach


def test_torch_takes_no_encoder_and_no_decoder_as_its_first_two_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"nn": nn}
    exec(LESSON["torch-wrong"], names)
    said = capsys.readouterr().out
    assert said.startswith("TypeError:")
    assert said.endswith("by name: True True\n")
    exec(LESSON["torch-leaks"], names | {"torch": torch, "leak_meter": leak_meter})
    without, with_mask = capsys.readouterr().out.splitlines()
    assert without.startswith("15 of 15 outputs moved")
    assert with_mask.startswith("No leak")


def test_the_table_has_the_published_counts(capsys: pytest.CaptureFixture[str]) -> None:
    exec(LESSON["size-table"], {"ModelConfig": ModelConfig, "count_parameters": count_parameters})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert {name: (*map(int, sizes), count) for name, *sizes, count in rows} == {
        "bert-base": (12, 768, 12, 3072, "109,482,240"),
        "bert-large": (24, 1024, 16, 4096, "335,141,888"),
        "gpt2": (12, 768, 12, 3072, "124,439,808"),
        "gpt2-medium": (24, 1024, 16, 4096, "354,823,168"),
        "gpt2-large": (36, 1280, 20, 5120, "774,030,080"),
    }  # and not DistilBERT, whose number exercise 5 asks for
    assert re.findall(r"\d+,\d{3},\d{3}", LESSON["predict-heads-text"]) == ["109,482,240"]
    distilbert = count_parameters(ModelConfig.preset("distilbert"))
    assert exercise("families.5").check(distilbert).passed
    assert not exercise("families.5").check(distilbert + 1).passed


def test_heads_cost_nothing_layers_grow_straight_and_width_by_its_square() -> None:
    base = ModelConfig.preset("bert-base")

    def in_layers(**changes: int) -> int:
        bill = parameter_bill(replace(base, **changes))
        return bill["attention"] + bill["feed-forward"]

    bert, gpt2 = parameter_bill(base), parameter_bill(ModelConfig.preset("gpt2"))
    for heads in (6, 24):
        assert parameter_bill(replace(base, n_heads=heads)) == bert
    assert in_layers(n_encoder_layers=24) == 2 * in_layers()
    assert in_layers(d_model=1536, d_ff=6144) == pytest.approx(4 * in_layers(), rel=0.01)
    with torch.device("meta"):
        layer = sum(each.numel() for each in EncoderOnly(base).encoder.layers[0].parameters())
    assert f"For BERT-Base one layer is {layer:,}." in LESSON["same-machine"]
    assert {part for part in bert if bert[part] != gpt2[part]} == {"words", "positions", "segments", "pooler"}
    assert gpt2["segments"] == gpt2["pooler"] == 0
    assert "In the layers the two are equal" in LESSON["bills-said"]
