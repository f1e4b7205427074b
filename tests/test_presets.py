"""The published sizes, and counting parameters without building anything."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.huggingface_models import hf
from viz_transformer.config import ModelConfig, count_parameters, parameter_bill
from viz_transformer.config.presets import PRESETS
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer

MODELS = {"encoder-decoder": Transformer, "encoder": EncoderOnly, "decoder": DecoderOnly}
PUBLISHED = {
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "distilbert": 66_362_880,
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
}
SIZES = {  # layers, hidden, heads, feed-forward: article D's tables
    "bert-base": (12, 768, 12, 3072),
    "bert-large": (24, 1024, 16, 4096),
    "distilbert": (6, 768, 12, 3072),
    "gpt2": (12, 768, 12, 3072),
    "gpt2-medium": (24, 1024, 16, 4096),
    "gpt2-large": (36, 1280, 20, 5120),
}


def built_count(config):
    with torch.device("meta"):
        model = MODELS[config.family](config)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("name", "count"), PUBLISHED.items())
def test_published_counts(name, count):
    assert count_parameters(ModelConfig.preset(name)) == count


def test_counts_of_the_articles_translator_and_of_the_small_one():
    assert count_parameters(ModelConfig(vocab_size=35, bias=False)) == 44_119_552
    assert count_parameters(ModelConfig.preset("tiny")) == 43_104


@pytest.mark.parametrize("name", PRESETS)
def test_the_count_is_that_of_the_built_model(name):
    config = ModelConfig.preset(name)
    assert count_parameters(config) == built_count(config)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_the_published_ones(name):
    config = ModelConfig.preset(name)
    layers = config.n_encoder_layers + config.n_decoder_layers
    assert (layers, config.d_model, config.n_heads, config.d_ff) == SIZES[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_transformers_own_model_is_of_the_same_size(name):
    config = ModelConfig.preset(name)
    if config.family == "decoder":
        make = hf.GPT2Model
        theirs = hf.GPT2Config(n_embd=config.d_model, n_layer=config.n_decoder_layers, n_head=config.n_heads)
    elif name == "distilbert":
        make, theirs = hf.DistilBertModel, hf.DistilBertConfig()
    else:
        make = hf.BertModel
        theirs = hf.BertConfig(
            hidden_size=config.d_model,
            num_hidden_layers=config.n_encoder_layers,
            num_attention_heads=config.n_heads,
            intermediate_size=config.d_ff,
        )
    with torch.device("meta"):
        model = make(theirs)
    assert sum(parameter.numel() for parameter in model.parameters()) == count_parameters(config)


@st.composite
def configs(draw):
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


@settings(max_examples=150)
@given(configs())
def test_any_configuration_is_counted_as_it_is_built(config):
    assert count_parameters(config) == built_count(config)


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


@settings(max_examples=150)
@given(configs())
def test_the_bill_is_that_of_the_built_model_part_by_part(config):
    with torch.device("meta"):
        model = MODELS[config.family](config)
    built = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        part = next(part for part, text in PARTS.items() if text in name)
        built[part] += parameter.numel()
    assert parameter_bill(config) == built


@given(configs())
def test_any_configuration_goes_to_json_and_back(config):
    assert ModelConfig.from_json(config.to_json()) == config


def test_counting_builds_nothing(monkeypatch):
    def refuse(*arguments, **choices):
        raise AssertionError("a tensor was made")

    monkeypatch.setattr(torch, "empty", refuse)
    monkeypatch.setattr(torch.nn.Module, "__init__", refuse)
    huge = dataclasses.replace(ModelConfig.preset("gpt2"), d_model=12 * 10**6)
    assert count_parameters(huge) > 10**15


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(UserError, match=r"preset 'gpt5'.*'tiny'.*'bert-base'.*'gpt2-large'"):
        ModelConfig.preset("gpt5")


def test_the_paper_has_its_base_and_its_big_model():
    assert ModelConfig.preset("transformer-base") == ModelConfig()
    big = ModelConfig.preset("transformer-big")
    assert (big.d_model, big.n_heads, big.d_ff, big.dropout) == (1024, 16, 4096, 0.3)
    # Table 3 gives 65 and 213 million with a vocabulary of about 37,000.
    assert count_parameters(ModelConfig()) == pytest.approx(65e6, rel=0.04)
    assert count_parameters(big) == pytest.approx(213e6, rel=0.04)
