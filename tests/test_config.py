import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.errors import UserError


def test_defaults_are_the_papers_base_model():
    config = ModelConfig()
    assert (config.d_model, config.n_heads, config.d_ff, config.d_head) == (512, 8, 2048, 64)
    assert (config.n_encoder_layers, config.n_decoder_layers) == (6, 6)
    assert (config.norm, config.positional, config.dropout) == ("post", "sinusoidal", 0.1)


@given(
    n_heads=st.integers(1, 4),
    d_head=st.integers(1, 8).map(lambda half: 2 * half),
    dropout=st.floats(0, 0.99),
    norm=st.sampled_from(["post", "pre"]),
    bias=st.booleans(),
)
def test_model_config_goes_to_json_and_back(n_heads, d_head, dropout, norm, bias):
    config = ModelConfig(d_model=n_heads * d_head, n_heads=n_heads, dropout=dropout, norm=norm, bias=bias)
    assert ModelConfig.from_json(config.to_json()) == config


def test_train_config_goes_to_json_and_back():
    config = TrainConfig(n_steps=7, learning_rate=0.01)
    assert TrainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
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
    ],
)
def test_a_wrong_model_config_says_what_would_do(changes, message):
    with pytest.raises(UserError, match=message):
        ModelConfig(**changes)


@pytest.mark.parametrize(
    "changes",
    [{"n_steps": 0}, {"batch_size": -1}, {"learning_rate": -1.0}, {"label_smoothing": 1.0}],
)
def test_a_wrong_train_config_names_the_field(changes):
    (name,) = changes
    with pytest.raises(UserError, match=name):
        TrainConfig(**changes)


def test_a_configuration_from_before_the_families_is_what_it_was():
    text = (Path(__file__).parents[1] / "data" / "en-es" / "config.json").read_text()
    stored = json.loads(text)
    config = ModelConfig.from_json(text)
    assert {name: getattr(config, name) for name in stored} == stored
    assert config.family == "encoder-decoder"
    assert config == ModelConfig(**stored)
    old_defaults = {
        "scale_embeddings": True,
        "output_bias": False,
        "layer_norm_eps": 1e-5,
        "target_vocab_size": None,
        "scoring": "scaled_dot",
    }
    assert {name: getattr(config, name) for name in old_defaults} == old_defaults


def test_a_family_has_only_its_own_layers():
    encoder = ModelConfig(family="encoder", n_encoder_layers=3)
    decoder = ModelConfig(family="decoder", n_decoder_layers=4)
    assert (encoder.n_encoder_layers, encoder.n_decoder_layers) == (3, 0)
    assert (decoder.n_encoder_layers, decoder.n_decoder_layers) == (0, 4)


def test_an_odd_width_is_fine_without_sinusoids():
    assert ModelConfig(d_model=7, n_heads=7, positional="learned").d_head == 1


@pytest.mark.parametrize("text", ["{", "[1]", '{"d_modle": 3}', json.dumps({"d_model": "64"})])
def test_bad_json_is_a_user_error(text):
    with pytest.raises(UserError):
        ModelConfig.from_json(text)


def test_a_config_cannot_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().d_model = 8
