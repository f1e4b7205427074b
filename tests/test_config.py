"""Configurations: what they refuse, the published sizes, and parameters counted without building anything."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig, TrainConfig, count_parameters, parameter_bill
from viz_transformer.config.presets import PRESETS
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer

MODELS = {"encoder-decoder": Transformer, "encoder": EncoderOnly, "decoder": DecoderOnly}


@st.composite
def configs(draw: st.DrawFn) -> ModelConfig:
    """Any configuration at all, of any family."""
    family = draw(st.sampled_from(sorted(MODELS)))
    n_heads = draw(st.integers(1, 4))
    choices = {
        "family": family,
        "vocab_size": draw(st.integers(1, 30)),
        "d_model": n_heads * draw(st.sampled_from([2, 4, 6])),
        "n_heads": n_heads,
        "n_encoder_layers": draw(st.integers(1, 3)),
        "n_decoder_layers": draw(st.integers(1, 3)),
        "d_ff": draw(st.integers(1, 9)),
        "max_length": draw(st.integers(1, 9)),
        "norm": draw(st.sampled_from(["post", "pre"])),
        "positional": draw(st.sampled_from(["sinusoidal", "sinusoidal_halves", "learned", "rotary", "none"])),
        "scoring": draw(st.sampled_from(["scaled_dot", "dot", "additive"])),
        "dropout": draw(st.floats(0, 0.99)),
        "bias": draw(st.booleans()),
        "tie_embeddings": draw(st.booleans()),
        "scale_embeddings": draw(st.booleans()),
    }
    if family == "encoder":
        choices["n_segments"] = draw(st.integers(0, 3))
        choices["n_classes"] = draw(st.integers(0, 3))
        choices["predicts_words"] = not choices["n_classes"] and draw(st.booleans())
        choices["pooler"] = draw(st.sampled_from(["none", "tanh", "relu"]))
    else:
        choices["output_bias"] = draw(st.booleans())
    if family == "encoder-decoder":
        choices["target_vocab_size"] = draw(st.none() | st.integers(1, 30))
    else:
        choices["embedding_norm"] = draw(st.booleans())
        choices["pad_id"] = draw(st.sampled_from([0, None]))
    return ModelConfig(**choices)


@given(configs())
def test_a_configuration_goes_to_json_and_back_and_cannot_change(config: ModelConfig) -> None:
    assert ModelConfig.from_json(config.to_json()) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 8
    with pytest.raises(TypeError):  # given by position, 2048 would become the number of encoder layers
        ModelConfig(1000, 512, 8, 6, 2048)  # type: ignore[misc]
    training = TrainConfig(n_steps=7, learning_rate=0.01)
    assert TrainConfig.from_json(training.to_json()) == training


def test_a_wrong_configuration_names_valid_values() -> None:
    for changes, message in (
        ({"vocab_size": 0}, "vocab_size=0 must be a whole number of at least 1"),
        ({"d_ff": 2.5}, "d_ff=2.5 must be a whole number"),
        ({"n_encoder_layers": True}, "n_encoder_layers=True must be"),
        ({"d_model": 30, "n_heads": 4}, r"n_heads=4 does not divide d_model=30.*\[1, 2, 3"),
        ({"d_model": 7, "n_heads": 7}, "d_model=7 is odd.*use 8"),
        ({"dropout": 1.0}, "dropout=1.0 must be a number from 0.0 up to"),
        ({"norm": "both"}, "norm='both' is unknown; choose one of"),
        ({"positional": "circular"}, "positional='circular' is unknown"),
        ({"activation": "tanh"}, "activation='tanh' is unknown"),
        ({"pad_id": 37_000}, "pad_id=37000 must be.*at most 36999"),
        ({"pad_id": None}, "pad_id=None must be a whole number"),
        ({"target_vocab_size": 5, "pad_id": 5}, "pad_id=5 must be.*at most 4"),
        ({"start_id": 37_000}, "start_id=37000 must be.*at most 36999"),
        ({"target_vocab_size": 0}, "target_vocab_size=0 must be"),
        ({"layer_norm_eps": -1.0}, "layer_norm_eps=-1.0 must be a number from 0.0"),
        ({"family": "both"}, "family='both' is unknown; choose one of"),
        ({"family": "encoder", "n_encoder_layers": 0}, "n_encoder_layers=0 must be"),
        ({"family": "decoder", "n_decoder_layers": 0}, "n_decoder_layers=0 must be"),
        ({"family": "encoder", "pooler": "sigmoid"}, "pooler='sigmoid' is unknown"),
        ({"n_classes": 2}, "n_classes=2 has no meaning in family='encoder-decoder'"),
        ({"family": "decoder", "n_segments": 2}, "n_segments=2 has no meaning.*'encoder'"),
        ({"family": "decoder", "start_id": 1}, "start_id=1 has no meaning.*'encoder-decoder'"),
        ({"family": "decoder", "predicts_words": True}, "predicts_words=True has no meaning"),
        ({"family": "encoder", "n_classes": 2, "predicts_words": True}, "are two heads"),
        ({"embedding_norm": True}, "embedding_norm=True has no meaning"),
    ):
        with pytest.raises(UserError, match=message):
            ModelConfig(**changes)
    for name, value in (
        *(("n_steps", 0), ("batch_size", -1), ("learning_rate", -1.0), ("label_smoothing", 1.0)),
        *(("weight_decay", -0.1), ("optimiser", "sgd")),
    ):
        with pytest.raises(UserError, match=f"{name}={value!r}"):
            TrainConfig(**{name: value})
    for text in ("{", "[1]", '{"d_modle": 3}', '{"d_model": "64"}'):
        with pytest.raises(UserError):
            ModelConfig.from_json(text)
    assert ModelConfig(d_model=7, n_heads=7, positional="learned").d_head == 1  # fine without sinusoids
    for family, layers in (("encoder", (3, 0)), ("decoder", (0, 4))):
        config = ModelConfig(family=family, n_encoder_layers=3, n_decoder_layers=4)
        assert (config.n_encoder_layers, config.n_decoder_layers) == layers  # only its own


def test_a_configuration_saved_before_families_is_read_unchanged() -> None:
    text = (Path(__file__).parents[1] / "data" / "en-es" / "config.json").read_text()
    config, former = ModelConfig.from_json(text), json.loads(text)
    former = {"family": "encoder-decoder", "scale_embeddings": True, "output_bias": False} | former
    former = {"layer_norm_eps": 1e-5, "target_vocab_size": None, "scoring": "scaled_dot"} | former
    assert {name: getattr(config, name) for name in former} == former


# Parameters


def test_published_models_have_their_published_sizes() -> None:
    found = {}
    for name in ("bert-base", "bert-large", "distilbert", "gpt2", "gpt2-medium", "gpt2-large"):
        config = ModelConfig.preset(name)
        layers = config.n_encoder_layers + config.n_decoder_layers
        found[name] = (layers, config.d_model, config.n_heads, config.d_ff, count_parameters(config))
    assert found == {
        "bert-base": (12, 768, 12, 3072, 109_482_240),
        "bert-large": (24, 1024, 16, 4096, 335_141_888),
        "distilbert": (6, 768, 12, 3072, 66_362_880),
        "gpt2": (12, 768, 12, 3072, 124_439_808),
        "gpt2-medium": (24, 1024, 16, 4096, 354_823_168),
        "gpt2-large": (36, 1280, 20, 5120, 774_030_080),
    }
    paper, big = ModelConfig(), ModelConfig.preset("transformer-big")
    assert ModelConfig.preset("transformer-base") == paper
    assert (paper.d_model, paper.n_heads, paper.d_ff, paper.d_head) == (512, 8, 2048, 64)
    assert (paper.n_encoder_layers, paper.n_decoder_layers) == (6, 6)
    assert (paper.norm, paper.positional, paper.dropout) == ("post", "sinusoidal", 0.1)
    assert (big.d_model, big.n_heads, big.d_ff, big.dropout) == (1024, 16, 4096, 0.3)
    # Table 3 gives 65 and 213 million with a vocabulary of about 37,000.
    assert count_parameters(paper) == pytest.approx(65e6, rel=0.04)
    assert count_parameters(big) == pytest.approx(213e6, rel=0.04)
    assert count_parameters(ModelConfig(vocab_size=35, bias=False)) == 44_119_552
    assert count_parameters(ModelConfig.preset("tiny")) == 43_104
    with pytest.raises(UserError, match=r"preset 'gpt5'.*'tiny'.*'bert-base'.*'gpt2-large'"):
        ModelConfig.preset("gpt5")


#: What the parameters of each part of a model are called; the first that fits.
PARTS = {
    "norms": "norm",
    "positions": "position",
    "segments": "segment",
    "attention": "attention",
    "feed-forward": "feed_forward",
    "pooler": "pooler",
    "classifier": "classifier",
    "output bias": "output_bias",
    "words": "",
}


def assert_counted_as_built(config: ModelConfig) -> None:
    with torch.device("meta"):
        model = MODELS[config.family](config)
    built = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        part = next(part for part, text in PARTS.items() if text in name)
        built[part] += parameter.numel()
    assert parameter_bill(config) == built
    assert count_parameters(config) == sum(built.values())


@settings(max_examples=150)
@given(configs())
def test_any_configuration_is_counted_as_it_is_built_part_by_part(config: ModelConfig) -> None:
    assert_counted_as_built(config)


def test_a_preset_is_counted_as_it_is_built_but_nothing_is_built(monkeypatch) -> None:
    presets = [ModelConfig.preset(name) for name in PRESETS]
    for config in presets:
        assert_counted_as_built(config)
    for owner, attribute in ((torch, "empty"), (torch.nn.Module, "__init__")):
        monkeypatch.setattr(owner, attribute, lambda *_, **__: pytest.fail("a tensor was made"))
    for config in presets:
        assert count_parameters(dataclasses.replace(config, d_model=config.d_model * 1000)) > 10**9, config
