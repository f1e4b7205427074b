"""Hugging Face's models as ours: the same numbers, on small random models built offline."""

import dataclasses

import pytest
import torch
from torch import nn

from tests.support.huggingface_models import hf, sized
from tests.support.refusals import assert_refused
from tests.support.small_models import traced
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.model import (
    DecoderOnly,
    EncoderOnly,
    Transformer,
    from_huggingface,
)
from viz_transformer.model.conversion.huggingface import read_bert, read_distilbert, read_gpt2


def build(model_class, **changes):
    """A small model of theirs, in evaluation mode, every number a random one of its own."""
    torch.manual_seed(0)
    theirs = getattr(hf, model_class) if isinstance(model_class, str) else model_class
    sizes = {"vocab_size": 23, "max_position_embeddings": 12, "attn_implementation": "eager"}
    model = theirs(sized(theirs.config_class, **sizes | changes)).eval()  # their other ways return no weights
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:  # Marian's sinusoids
            nn.init.normal_(parameter, mean=0.05, std=0.25)
    if hasattr(model, "final_logits_bias"):
        nn.init.normal_(model.final_logits_bias)
    return model


def bert(model_class="BertModel", **changes):
    return build(model_class, **{"num_hidden_layers": 3} | changes)


def distilbert(model_class="DistilBertModel", **changes):
    return build(model_class, **changes)


def gpt2(model_class="GPT2LMHeadModel", **changes):
    return build(model_class, **{"bos_token_id": 22, "eos_token_id": 22, "pad_token_id": None} | changes)


def marian(model_class="MarianMTModel", **changes):
    ours = {"activation_function": "swish", "scale_embedding": True, "decoder_layers": 3}
    return build(model_class, **ours | {"pad_token_id": 22, "decoder_start_token_id": 22} | changes)


class WithoutPooler:
    """Their BERT without the layer behind its first token."""

    config_class = hf.BertConfig

    def __new__(cls, config):
        return hf.BertModel(config, add_pooling_layer=False)


def ids(pad_id=None, batch=3, length=7):
    """Token ids; with a pad_id, the second text is shorter than the others."""
    made = torch.randint(1, 22, (batch, length))
    if pad_id is not None:
        made[1, 4:] = pad_id
    return made


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def same_heads(ours, theirs):
    assert len(ours) == len(theirs) > 0
    for our_layer, their_layer in zip(ours, theirs, strict=True):
        close(our_layer, their_layer)


ENCODERS = {
    "bert": lambda: bert(),
    "bert without pooler": lambda: bert(WithoutPooler),
    "bert, other choices": lambda: bert(
        hidden_act="gelu_new", layer_norm_eps=1e-2, type_vocab_size=3, hidden_dropout_prob=0.3
    ),
    "bert classifier": lambda: bert(hf.BertForSequenceClassification, num_labels=5),
    "distilbert": lambda: distilbert(),
    "distilbert with sinusoids": lambda: distilbert(sinusoidal_pos_embds=True, activation="relu"),
    "distilbert classifier": lambda: distilbert(hf.DistilBertForSequenceClassification),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_give_the_same_numbers(name):
    theirs = ENCODERS[name]().eval()
    ours = from_huggingface(theirs)
    assert type(ours) is EncoderOnly
    source = ids(pad_id=0)
    inputs, segments = {"input_ids": source, "attention_mask": source != 0}, ()
    if name.startswith("bert"):
        segments = (torch.randint(0, 2, source.shape),)
        inputs["token_type_ids"] = segments[0]
    expected = theirs(**inputs, output_attentions=True, output_hidden_states=True)
    output = traced(ours)(source, *segments)
    close(output.last_hidden_state, expected.hidden_states[-1])
    same_heads(output.encoder_attention, expected.attentions)
    result = expected.logits if "classifier" in name else expected.last_hidden_state
    close(ours(source, *segments), result)
    if name == "bert":
        close(ours.pool(output.last_hidden_state), expected.pooler_output)


DECODERS = {
    "gpt2": lambda: gpt2(),
    "gpt2 without its output": lambda: gpt2(hf.GPT2Model),
    "gpt2, untied": lambda: gpt2(tie_word_embeddings=False),
    "gpt2, other choices": lambda: gpt2(
        n_inner=10, activation_function="relu", layer_norm_epsilon=1e-2, scale_attn_weights=False
    ),
    "gpt2, silu, padded with its end": lambda: gpt2(activation_function="silu", pad_token_id=22),
}


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_give_the_same_numbers(name):
    theirs = DECODERS[name]()
    ours = from_huggingface(theirs)
    assert type(ours) is DecoderOnly
    target = ids()
    target[:, 0] = 22  # end of text, before a text: GPT-2's custom
    expected = theirs(target, output_attentions=True, output_hidden_states=True)
    output = traced(ours)(target)
    close(output.last_hidden_state, expected.hidden_states[-1])
    same_heads(output.decoder_attention, expected.attentions)
    if isinstance(theirs, hf.GPT2LMHeadModel):
        close(ours(target), expected.logits)
    else:
        close(ours(target), expected.last_hidden_state @ theirs.wte.weight.T)


def test_padding_is_hidden_behind_any_start_token():
    theirs, target = gpt2(pad_token_id=0), ids(pad_id=0)
    expected = theirs(target, attention_mask=target != 0, output_attentions=True)
    output = traced(from_huggingface(theirs))(target)
    close(output.logits, expected.logits)
    same_heads(output.decoder_attention, expected.attentions)

    theirs, source, target = marian(), ids(), ids(pad_id=22)
    target[:, 0] = 22  # Marian starts with its padding token
    real = target != 22
    real[:, 0] = True
    expected = theirs(input_ids=source, decoder_input_ids=target, decoder_attention_mask=real).logits
    close(from_huggingface(theirs)(source, target)[real], expected[real])


TRANSLATORS = {
    "marian": lambda: marian(),
    "marian without its output": lambda: marian(hf.MarianModel),
    "marian, unscaled": lambda: marian(scale_embedding=False, activation_function="gelu"),
    "marian, untied": lambda: marian(tie_word_embeddings=False),
    "marian, two vocabularies": lambda: marian(share_encoder_decoder_embeddings=False, decoder_vocab_size=29),
    "marian, two of one size": lambda: marian(share_encoder_decoder_embeddings=False),
    "marian, two vocabularies, untied": lambda: marian(
        share_encoder_decoder_embeddings=False, decoder_vocab_size=29, tie_word_embeddings=False
    ),
    "marian, its own start": lambda: marian(decoder_start_token_id=3),
}


@pytest.mark.parametrize("name", TRANSLATORS)
def test_translators_give_the_same_numbers(name):
    theirs = TRANSLATORS[name]()
    ours = from_huggingface(theirs)
    assert type(ours) is Transformer
    source, target = ids(pad_id=22), ids(length=6)
    target[:, 0] = start = theirs.config.decoder_start_token_id
    assert (ours.config.pad_id, ours.config.start_id) == (22, start)
    expected = theirs(
        input_ids=source,
        attention_mask=source != 22,
        decoder_input_ids=target,
        output_attentions=True,
        output_hidden_states=True,
    )
    output = traced(ours)(source, target)
    close(output.last_hidden_state, expected.decoder_hidden_states[-1])
    close(ours.encode(source), expected.encoder_last_hidden_state)
    same_heads(output.encoder_attention, expected.encoder_attentions)
    same_heads(output.decoder_attention, expected.decoder_attentions)
    same_heads(output.cross_attention, expected.cross_attentions)
    if isinstance(theirs, hf.MarianMTModel):
        close(ours(source, target), expected.logits)
        close(output.logits, expected.logits)


def test_marian_translates_word_by_word_as_theirs_does():
    theirs = marian()
    ours = from_huggingface(theirs)
    source = ids(batch=2)
    cache = ours.start_decoding(ours.encode(source), ours.padding_mask(source))
    target = torch.full((2, 1), ours.config.start_id)
    for _ in range(6):
        logits, cache = ours.decode_step(target[:, -1], cache)
        close(logits, theirs(input_ids=source, decoder_input_ids=target).logits[:, -1])
        target = torch.cat([target, logits[:, :22].argmax(-1, keepdim=True)], 1)


def test_nothing_is_left_behind():
    for make in (bert, distilbert, gpt2, lambda: gpt2("GPT2Model")):
        theirs = make()
        count = sum(parameter.numel() for parameter in theirs.parameters())
        assert count_parameters(from_huggingface(theirs).config) == count


def test_their_published_configuration_is_our_preset():
    presets = {
        "bert-base": (hf.BertModel, read_bert),
        "distilbert": (hf.DistilBertModel, read_distilbert),
        "gpt2": (hf.GPT2LMHeadModel, read_gpt2),
    }
    for preset, (model_class, reader) in presets.items():
        with torch.device("meta"):
            model = model_class(model_class.config_class())
        config, weights = reader(model)
        assert config == ModelConfig.preset(preset)
        assert sum(value.numel() for value in weights.values()) == count_parameters(config)


def test_weights_are_copied_and_not_shared():
    theirs = bert()
    ours = from_huggingface(theirs)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    for parameter in theirs.parameters():
        nn.init.zeros_(parameter)
    torch.testing.assert_close(dict(ours.state_dict()), before)


def test_mode_and_dtype_are_kept():
    for make in (bert, gpt2, marian):
        ours = from_huggingface(make().train().double())
        assert ours.training
        assert {value.dtype for value in ours.state_dict().values()} == {torch.float64}
        assert not from_huggingface(make()).training


def test_a_class_derived_from_a_known_one_is_known():
    class Mine(hf.BertModel):
        pass

    assert type(from_huggingface(bert(Mine))) is EncoderOnly


@pytest.mark.usefixtures("shapes_unchecked")
def test_options_that_our_model_lacks_are_named():
    adapted = bert()
    adapted.encoder.layer[0].adapter = nn.Linear(16, 16)
    cases = [
        ("bert-base-uncased", "'bert-base-uncased' is not a Hugging Face model; give the"),
        (nn.Linear(2, 2), "not a Hugging Face model"),
        (
            build("AlbertModel"),
            r"type 'albert' \(AlbertModel\).*\['bert', 'distilbert', 'gpt2', 'marian'\]",
        ),
        (bert("BertForMaskedLM"), "BertForMaskedLM cannot.*its inner model.*model.bert"),
        (bert("BertLMHeadModel", is_decoder=True), "BertLMHeadModel cannot"),
        (bert(is_decoder=True), "is_decoder=True cannot.*is_decoder=False"),
        (bert(hidden_act="tanh"), "hidden_act='tanh' cannot be mapped"),
        (distilbert("DistilBertForMaskedLM"), "inner model can, as model.distilbert"),
        (distilbert(activation="gelu_10"), "activation='gelu_10'"),
        (gpt2(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx"),
        (gpt2(add_cross_attention=True), "gpt2 model with add_cross_attention=True"),
        (gpt2("GPT2ForTokenClassification"), "GPT2ForTokenClassification cannot"),
        (marian(decoder_attention_heads=2), "decoder_attention_heads=2.*heads=4"),
        (marian(decoder_ffn_dim=8), "decoder_ffn_dim=8 cannot"),
        (marian("MarianForCausalLM"), "MarianForCausalLM cannot be mapped"),
        (adapted, r"'encoder.layer.0.adapter.weight' \[16, 16\]"),
    ]
    assert_refused((lambda model=model: from_huggingface(model), said) for model, said in cases)


def test_an_inner_model_that_was_named_can_be_taken():
    theirs = bert("BertForMaskedLM")
    source = ids()
    close(from_huggingface(theirs.bert)(source), theirs.bert(source).last_hidden_state)


def test_the_configuration_records_its_source():
    config = from_huggingface(marian()).config
    assert config == dataclasses.replace(
        config,
        family="encoder-decoder",
        positional="sinusoidal_halves",
        activation="silu",
        scale_embeddings=True,
        output_bias=True,
        norm="post",
    )
