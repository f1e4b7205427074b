"""`vt.capture` of many Hugging Face architectures: right, or refused in one line."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.architectures import (
    BOTH,
    DECODERS,
    ENCODERS,
    architecture,
    clip,
    gemma_for_pictures,
    hubert,
    siglip,
    swin,
)
from tests.support.huggingface_models import eager, frozen, hf, same, stacked, state, word_piece
from viz_transformer.errors import UserError
from viz_transformer.tracing.labels import labels_of_ids

IDS, NAMES = torch.tensor([[5, 6, 7, 8, 9]]), list("abcde")
PICTURE = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def given_to(name: str) -> dict:
    if name in BOTH:
        sides = {"source_tokens": NAMES, "target_tokens": NAMES[:3]}
        return {"input_ids": IDS, "decoder_input_ids": IDS[:, :3], **sides}
    return {"input_ids": IDS, "tokens": NAMES}


@pytest.mark.parametrize("name", [*DECODERS, *ENCODERS, *BOTH])
def test_the_weights_are_the_models_own_on_the_right_side(name) -> None:
    model, given = architecture(name), given_to(name)
    before = frozen(model)
    trace = vt.capture(model, **given)
    assert same(before, state(model))
    output = eager(model, **{key: value for key, value in given.items() if key.endswith("ids")})
    if name in BOTH:
        assert trace.kinds == ("encoder", "decoder", "cross")
    else:
        assert trace.kinds == ("decoder" if name in DECODERS else "encoder",)
    for kind in trace.kinds:
        expected = stacked(output[f"{kind}_attentions" if name in BOTH else "attentions"])
        np.testing.assert_allclose(trace.attention(kind), expected, atol=1e-5)


@pytest.mark.parametrize("labelled", [3, 5])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", [*DECODERS, *ENCODERS])
def test_padding_changes_no_side(name, side, labelled) -> None:
    mask = torch.tensor([[0, 0, 1, 1, 1] if side == "left" else [1, 1, 1, 0, 0]])
    ids = IDS * mask
    model = architecture(name)
    trace = vt.capture(model, input_ids=ids, attention_mask=mask.tolist(), tokens=NAMES[:labelled])
    kind = "decoder" if name in DECODERS else "encoder"
    assert trace.kinds == (kind,)
    kept = mask[0].bool().numpy()
    expected = stacked(eager(model, input_ids=ids, attention_mask=mask).attentions)
    weights = trace.attention(kind) if labelled == 3 else trace.attention(kind)[:, :, kept][..., kept]
    np.testing.assert_allclose(weights, expected[:, :, kept][..., kept], atol=1e-5)


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "Gemma2ForCausalLM", "MistralForCausalLM"])
def test_padding_makes_no_encoder_of_weights_that_are_there_already(name) -> None:
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    output = eager(architecture(name), input_ids=IDS * mask, attention_mask=mask)
    assert vt.capture(output, tokens=NAMES).kinds == ("decoder",)


class Wrapped(nn.Module):
    """A decoder inside somebody's own module."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = architecture("MistralForCausalLM")

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids, attention_mask=attention_mask).logits


@pytest.mark.parametrize("row", [[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]])
def test_padding_makes_no_encoder_of_a_wrapped_decoder(row) -> None:
    model, mask = Wrapped(), torch.tensor([row])
    trace = vt.capture(model, input_ids=IDS * mask, attention_mask=mask, tokens=NAMES[:3])
    inside = vt.capture(model.inner, input_ids=IDS * mask, attention_mask=mask, tokens=NAMES[:3])
    np.testing.assert_allclose(trace.decoder_attention, inside.decoder_attention, atol=1e-5)


@pytest.mark.parametrize("make", [gemma_for_pictures, lambda: architecture("BartForCausalLM")])
def test_one_token_is_told_by_the_modules_that_ran(make) -> None:
    assert vt.capture(make(), input_ids=[5], tokens=["a"]).kinds == ("decoder",)


@pytest.mark.parametrize("option", ["interventions", "head_mask", "adapters", "decoder_head_mask"])
@pytest.mark.parametrize("name", [*DECODERS, *ENCODERS, *BOTH])
def test_an_option_that_would_change_nothing_is_refused_by_name(name, option) -> None:
    with pytest.raises(UserError, match=f"takes {option}= and does not use it") as refused:
        vt.capture(architecture(name), **given_to(name), **{option: torch.ones(2, 4)})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "BertModel", "LlamaForCausalLM", "MarianMTModel"])
def test_a_memory_is_refused_by_a_model_that_does_not_look_at_one(name) -> None:
    with pytest.raises(UserError, match="takes encoder_hidden_states= and does not use it"):
        vt.capture(architecture(name), **given_to(name), encoder_hidden_states=torch.randn(1, 3, 32))


def test_a_decoder_that_looks_at_a_memory_has_cross_attention() -> None:
    config = copy.deepcopy(architecture("BertLMHeadModel").config)
    config.add_cross_attention = True
    memory = torch.randn(1, 3, 32)
    trace = vt.capture(
        hf.BertLMHeadModel(config),
        input_ids=IDS,
        encoder_hidden_states=memory,
        source_tokens=NAMES[:3],
        target_tokens=NAMES,
    )
    assert (trace.kinds, trace.cross_attention.shape) == (("decoder", "cross"), (2, 4, 5, 3))


def test_rows_that_leave_a_share_to_a_sink_are_taken_and_marked() -> None:
    trace = vt.capture(architecture("GptOssForCausalLM"), **given_to("GptOssForCausalLM"))
    assert trace.sinks == ("decoder",)
    assert (trace.decoder_attention.sum(-1) < 0.99).any()
    assert vt.capture(architecture("LlamaForCausalLM"), **given_to("LlamaForCausalLM")).sinks == ()


@pytest.mark.parametrize("pixels", [PICTURE, PICTURE[0], PICTURE[0].tolist()])
def test_a_picture_by_position(pixels) -> None:
    config = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = hf.ViTModel(hf.ViTConfig(image_size=16, patch_size=8, **config)).eval()
    trace = vt.capture(model, pixels, tokens=NAMES)
    expected = stacked(eager(model, pixel_values=PICTURE).attentions)
    np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-5)
    assert vt.capture(model, pixels).source_tokens == ("0", "1", "2", "3", "4")


def test_sound_by_position() -> None:
    model, samples = hubert(), torch.randn(1, 60)
    trace = vt.capture(model, samples, tokens=[*NAMES, "f"])
    expected = stacked(eager(model, input_values=samples).attentions)
    np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-5)


def test_inputs_by_position_are_those_of_the_forward() -> None:
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    trace = vt.capture(architecture("LlamaForCausalLM"), IDS, mask, tokens=NAMES[2:])
    assert trace.target_tokens == tuple(NAMES[2:])
    target = {"source_tokens": NAMES, "target_tokens": NAMES}
    with pytest.raises(UserError, match=r"attention_mask holds .*decoder_input_ids="):
        vt.capture(architecture("T5ForConditionalGeneration"), IDS, IDS, **target)


@pytest.mark.parametrize("make", [clip, siglip])
def test_of_a_joint_model_the_part_is_captured_that_reads_what_was_given(make) -> None:
    model = make()
    text = vt.capture(model, input_ids=IDS, tokens=NAMES)
    part = vt.capture(model.text_model, input_ids=IDS, tokens=NAMES)
    np.testing.assert_array_equal(text.attention(text.kinds[0]), part.attention(part.kinds[0]))
    tokens = NAMES if make is clip else NAMES[:4]
    picture = vt.capture(model, pixel_values=PICTURE, tokens=tokens)
    expected = stacked(eager(model.vision_model, pixel_values=PICTURE).attentions)
    np.testing.assert_allclose(picture.encoder_attention, expected, atol=1e-5)
    with pytest.raises(UserError, match=r"joins text_model and vision_model.*capture\(model.text_model"):
        vt.capture(model, input_ids=IDS, pixel_values=PICTURE, tokens=NAMES)


def test_windows_of_stages_with_fewer_patches_are_refused_with_advice_that_works() -> None:
    model = swin()
    with pytest.raises(UserError, match=r"a trace needs one; capture those of one shape .*layers=\[0\]"):
        vt.capture(model, PICTURE, tokens=NAMES)
    names = [f"patch {i}" for i in range(64)]
    trace = vt.capture(model, PICTURE, source_tokens=names, layers=[0])
    assert trace.encoder_attention.shape == (1, 2, 64, 64)
    output = eager(model, pixel_values=PICTURE)
    window = vt.capture([output.attentions[0][0]], source_tokens=names[:16])
    assert window.encoder_attention.shape == (1, 2, 16, 16)


def test_a_callers_cache_is_never_lengthened() -> None:
    model, cache = architecture("LlamaForCausalLM"), hf.DynamicCache()
    given = given_to("LlamaForCausalLM")
    trace = vt.capture(model, **given, past_key_values=cache)
    assert cache.get_seq_length() == 0
    np.testing.assert_array_equal(trace.decoder_attention, vt.capture(model, **given).decoder_attention)
    with torch.no_grad():
        model(IDS, past_key_values=cache)
    with pytest.raises(UserError, match=r"past_key_values= holds positions.*ids of the whole text"):
        vt.capture(model, input_ids=[9, 10], tokens=["x", "y"], past_key_values=cache)
    assert cache.get_seq_length() == 5


def test_a_compiled_model_reads_a_text() -> None:
    model, tokenizer = architecture("BertModel"), word_piece(True)
    expected = vt.capture(model, "the cat", tokenizer=tokenizer)
    trace = vt.capture(torch.compile(model), "the cat", tokenizer=tokenizer)
    assert trace.source_tokens == expected.source_tokens
    np.testing.assert_array_equal(trace.encoder_attention, expected.encoder_attention)


class Adapted(nn.Module):
    """A model inside another, which takes any input and hands it on, as PEFT's do."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.base_model, self.config = model, model.config
        self.generation_config, self.can_generate = model.generation_config, model.can_generate

    def get_base_model(self) -> nn.Module:
        return self.base_model

    def forward(self, *args, **kwargs):
        return self.base_model(*args, **kwargs)

    def generate(self, *args, **kwargs):
        return self.base_model.generate(*args, **kwargs)


@pytest.mark.parametrize("generate", [None, True])
def test_an_adapted_model_reads_a_text(generate) -> None:
    model, tokenizer = architecture("LlamaForCausalLM"), word_piece(False)
    given = {"tokenizer": tokenizer, "generate": generate, "max_new_tokens": 3}
    expected = vt.capture(model, "the cat", **given)
    trace = vt.capture(Adapted(model), "the cat", **given)
    assert trace.target_tokens == expected.target_tokens
    np.testing.assert_array_equal(trace.decoder_attention, expected.decoder_attention)
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(Adapted(model), "the cat", **given, head_mask=torch.ones(2, 4))


WAYS = [
    {"num_beams": 3},
    {"do_sample": True, "temperature": 2.0},
    {"num_beams": 3, "num_return_sequences": 2},
]


@pytest.mark.parametrize("way", [*WAYS, {"use_cache": True}, {"max_length": 6}])
@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "MistralForCausalLM", "T5ForConditionalGeneration"])
def test_a_model_writes_by_beams_or_by_chance(name, way) -> None:
    model, tokenizer = architecture(name), word_piece(False)
    given = tokenizer("the cat sl", return_tensors="pt", return_token_type_ids=False)
    # Random weights may write padding, which has no label.
    way = {**way, "suppress_tokens": [tokenizer.pad_token_id]}
    torch.manual_seed(0)
    trace = vt.capture(model, **given, tokenizer=tokenizer, generate=True, max_new_tokens=4, **way)
    torch.manual_seed(0)
    plain = {"do_sample": False, "num_beams": 1, "use_cache": False}
    length = {} if "max_length" in way else {"max_new_tokens": 4}
    ids = model.generate(**given, **{**plain, **length, **way})[:1]
    assert trace.target_tokens == tuple(labels_of_ids(tokenizer, ids[0, :-1]).tokens)
    assert trace.output_tokens == tuple(labels_of_ids(tokenizer, ids[0, 1:]).tokens)
    if name in BOTH:
        expected = eager(model, **given, decoder_input_ids=ids[:, :-1]).decoder_attentions
    else:
        expected = eager(model, input_ids=ids[:, :-1]).attentions
    np.testing.assert_allclose(trace.decoder_attention, stacked(expected), atol=1e-5)


def test_a_padded_prompt_is_written_on_as_if_it_were_alone() -> None:
    model, tokenizer = architecture("GPT2LMHeadModel"), word_piece(False)
    options = {"tokenizer": tokenizer, "generate": True, "max_new_tokens": 3}
    alone = vt.capture(model, input_ids=[5, 6, 7], **options)
    padded = vt.capture(model, input_ids=[0, 0, 5, 6, 7], attention_mask=[0, 0, 1, 1, 1], **options)
    assert padded.target_tokens == alone.target_tokens
    np.testing.assert_allclose(padded.decoder_attention, alone.decoder_attention, atol=1e-6)


class Headless(nn.Module):
    """A model that hands out its logits alone, in a configuration that looks like Hugging Face's."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = architecture("LlamaForCausalLM")
        self.config = self.inner.config

    def forward(self, input_ids, **kwargs):
        return self.inner(input_ids).logits


def test_a_model_that_returns_no_weights_is_watched() -> None:
    model = Headless()
    trace = vt.capture(model, input_ids=IDS, tokens=NAMES)
    expected = stacked(eager(model.inner, input_ids=IDS).attentions)
    np.testing.assert_allclose(trace.decoder_attention, expected, atol=1e-5)


def test_an_output_without_weights_says_how_to_get_them() -> None:
    output = architecture("LlamaForCausalLM")(IDS)
    with pytest.raises(UserError, match="output_attentions=True"):
        vt.capture(output, tokens=NAMES)
