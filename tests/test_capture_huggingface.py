"""Hugging Face models that read and write texts: equal to eager attention, and left as they were."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import (
    PIECES,
    eager,
    frozen,
    hf,
    llama,
    peft,
    same,
    stacked,
    state,
    tiny,
    word_piece,
)
from tests.support.refusals import assert_refused
from viz_transformer.capturing.arguments import labels_of_ids
from viz_transformer.errors import UserError

WORDS = {"vocab_size": len(PIECES), "bos_token_id": 2, "eos_token_id": 3}
IDS, NAMES = torch.tensor([[4, 5, 6, 7, 8]]), list("abcde")
PADDED = {"left": torch.tensor([[0, 0, 1, 1, 1]]), "right": torch.tensor([[1, 1, 1, 0, 0]])}


def bert(**changes) -> nn.Module:
    return tiny("BertForSequenceClassification", **WORDS | changes)


def distilbert() -> nn.Module:
    return tiny("DistilBertModel", **WORDS, n_layers=3, n_heads=2)


def gpt2() -> nn.Module:
    return tiny("GPT2LMHeadModel", **WORDS)


def mistral() -> nn.Module:
    return tiny("MistralForCausalLM", **WORDS, sliding_window=2)


def t5() -> nn.Module:
    return tiny("T5ForConditionalGeneration", **WORDS)


def marian(model_class: str = "MarianMTModel") -> nn.Module:
    """A model whose encoder and decoder differ in layers and heads."""
    sizes = {"encoder_layers": 3, "encoder_attention_heads": 2, "decoder_start_token_id": 3}
    return tiny(model_class, **WORDS, **sizes, forced_eos_token_id=3)


def bart() -> nn.Module:
    return marian("BartForConditionalGeneration")


ENCODERS = [bert, distilbert]
DECODERS = [gpt2, llama]
BOTH = [t5, marian, bart]


def given_to(make) -> dict:
    """What a model reads, with labels; both sides have the same length, so that no shape tells them apart."""
    if make not in BOTH:
        return {"input_ids": IDS, "tokens": NAMES}
    return {"input_ids": IDS, "decoder_input_ids": IDS, "source_tokens": NAMES, "target_tokens": NAMES}


def check_every_kind(trace: vt.ForwardTrace, output: dict) -> None:
    """Check each kind of attention against what an eager model returned."""
    for kind in trace.kinds:
        layers = output[f"{kind}_attentions" if output.get("cross_attentions") else "attentions"]
        np.testing.assert_allclose(trace.attention(kind), stacked(layers), atol=1e-5, err_msg=kind)


@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS])
def test_a_model_reads_a_text(make) -> None:
    model, tokenizer, kind = (
        make(),
        word_piece(make in ENCODERS),
        "encoder" if make in ENCODERS else "decoder",
    )
    trace = vt.capture(model, "the cat sleeps well", tokenizer=tokenizer)
    tokens, words = ("the", "cat", "sl", "##eeps", "well"), (0, 1, 2, 2, 3)
    if kind == "encoder":
        tokens, words = ("[CLS]", *tokens, "[SEP]"), (None, *words, None)
        assert trace.source_words == words
    else:
        assert trace.target_words == words
    assert (trace.kinds, trace.key_tokens(kind)) == ((kind,), tokens)
    ids = tokenizer("the cat sleeps well", return_tensors="pt").input_ids
    check_every_kind(trace, eager(model, input_ids=ids))


def test_a_text_longer_than_a_models_positions_is_refused_in_one_line() -> None:
    rooms = {"BertModel": 64, "RobertaModel": 63, "DebertaV2Model": 64, "XLMModel": 64, "CTRLModel": 64}
    for name, room in rooms.items():
        model, ids = tiny(name), torch.full((1, room + 1), 5)
        fitting = vt.capture(model, input_ids=ids[:, :room], tokens=list(map(str, range(room))))
        assert len(fitting.key_tokens(fitting.kinds[0])) == room
        longer = {"input_ids": ids, "tokens": list(map(str, range(room + 1)))}
        said = f"has {room + 1} tokens, and {name} reads at most {room};"
        assert_refused([(lambda model=model, longer=longer: vt.capture(model, **longer), said)])


WAYS = [
    {},
    {"num_beams": 3},
    {"do_sample": True, "temperature": 2.0},
    {"num_beams": 3, "num_return_sequences": 2},
    {"use_cache": True},
    {"max_length": 6},
]


def test_an_option_of_generate_is_no_misspelt_one_of_capture() -> None:
    given = {"input_ids": [4, 5, 6], "tokenizer": word_piece(special=False), "max_new_tokens": 4}
    for least in ("min_new_tokens", "min_length"):
        model = tiny("LlamaForCausalLM", **WORDS, suppress_tokens=[0])
        trace = vt.capture(model, **given, generate=True, **{least: 7 if "length" in least else 4})
        assert len(trace.target_tokens) == 6, least
        with pytest.raises(UserError, match=f"takes {least}= and does not use it"):
            vt.capture(model, **given, **{least: 4})
    with pytest.raises(UserError, match=r"unknown input max_new_token=.*did you mean max_new_tokens="):
        vt.capture(model, **given, generate=True, max_new_token=3)


@pytest.mark.parametrize("make", [gpt2, mistral, *BOTH])
def test_a_model_writes_greedily_by_beams_or_by_chance(make) -> None:
    model, tokenizer = make(), word_piece(special=make in BOTH)
    read = tokenizer("the cat sl", return_tensors="pt", return_token_type_ids=False)
    for given in WAYS:
        way = {**given, "suppress_tokens": [tokenizer.pad_token_id]}  # it has no label
        told = {"tokenizer": tokenizer, "generate": None if make in BOTH else True, "max_new_tokens": 4}
        torch.manual_seed(0)
        trace = vt.capture(model, "the cat sl", **told, **way)
        torch.manual_seed(0)
        plain = {"do_sample": False, "num_beams": 1, "use_cache": False}
        length = {} if "max_length" in way else {"max_new_tokens": 4}
        ids = model.generate(**read, **{**plain, **length, **way})[:1]
        assert trace.target_tokens == tuple(labels_of_ids(tokenizer, ids[0, :-1]).tokens), way
        assert trace.output_tokens == tuple(labels_of_ids(tokenizer, ids[0, 1:]).tokens), way
        if make in BOTH:
            check_every_kind(trace, eager(model, **read, decoder_input_ids=ids[:, :-1]))
        else:
            check_every_kind(trace, eager(model, input_ids=ids[:, :-1]))


def test_a_padded_prompt_is_continued_as_without_padding() -> None:
    model, options = gpt2(), {"tokenizer": word_piece(False), "generate": True, "max_new_tokens": 3}
    alone = vt.capture(model, input_ids=[4, 5, 6], **options)
    padded = vt.capture(model, input_ids=[0, 0, 4, 5, 6], attention_mask=[0, 0, 1, 1, 1], **options)
    assert padded.target_tokens == alone.target_tokens
    np.testing.assert_allclose(padded.decoder_attention, alone.decoder_attention, atol=1e-6)


@pytest.mark.parametrize("cached", [True, False])
def test_the_steps_of_generate_become_whole_maps(cached) -> None:
    """A caller's own call of generate: its output, or a part of it, is enough."""
    model, ids = marian(), torch.tensor([[4, 5, 6]])
    twin = copy.deepcopy(model)
    twin.set_attn_implementation("eager")
    output = twin.generate(
        ids,
        max_new_tokens=5,
        num_beams=1,
        do_sample=False,
        use_cache=cached,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    names = [str(int(i)) for i in output.sequences[0, :-1]]
    assert len(names) > 2
    read = {"source_tokens": ["a", "b", "c"], "target_tokens": names}
    trace = vt.capture(output, **read)
    check_every_kind(trace, eager(model, input_ids=ids, decoder_input_ids=output.sequences[:, :-1]))
    decoder = vt.capture(output.decoder_attentions, tokens=names)
    np.testing.assert_array_equal(decoder.decoder_attention, trace.decoder_attention)
    cross = vt.capture(output.cross_attentions, **read)
    np.testing.assert_array_equal(cross.cross_attention, trace.cross_attention)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [lambda: bert(attention_probs_dropout_prob=0.9), llama, t5])
def test_the_model_stays_as_it_was_also_when_it_raises(make, training) -> None:
    model = make().train(training)
    next(model.children()).eval()  # a frozen part stays frozen
    before = frozen(model)
    trace = vt.capture(model, "the cat", tokenizer=word_piece(True), generate=make is llama or None)
    for kind in trace.kinds:  # no dropout was on
        np.testing.assert_allclose(trace.attention(kind).sum(-1), 1, atol=1e-5)
    assert same(before, state(model))
    with pytest.raises(UserError, match=r"the ids hold 99, and \w+ knows 11 tokens"):
        vt.capture(model, input_ids=[[99]], decoder_input_ids=[[1]] if make is t5 else None)
    assert same(before, state(model))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_becomes_float32(dtype) -> None:
    for make in (bert, llama):
        trace = vt.capture(make().to(dtype), "the cat sleeps", tokenizer=word_piece(True))
        weights = trace.attention(trace.kinds[0])
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights.sum(-1), 1, atol=0.01)


@pytest.mark.parametrize("side", PADDED)
@pytest.mark.parametrize("make", [bert, llama])
def test_padding_is_left_out_or_labelled(make, side) -> None:
    model, mask = make(), torch.cat([PADDED[side], torch.ones_like(IDS)])
    ids = IDS * mask
    inputs = {"input_ids": ids, "attention_mask": mask, "batch_index": 0}
    cut = vt.capture(model, **inputs, tokenizer=word_piece(True))
    kind, kept = cut.kinds[0], mask[0].bool()
    assert cut.key_tokens(kind) == tuple(PIECES[i] for i in ids[0][kept])
    whole = eager(model, input_ids=ids, attention_mask=mask).attentions
    expected = stacked([weights[:1] for weights in whole])[:, :, kept][..., kept]
    np.testing.assert_allclose(cut.attention(kind), expected, atol=1e-5)

    labelled = vt.capture(model, **inputs, tokens=NAMES).attention(kind)
    np.testing.assert_allclose(labelled[:, :, kept][..., kept], expected, atol=1e-5)
    n_unseeing = 2 if make is llama and side == "left" else 0  # this padding may attend to nothing
    np.testing.assert_array_equal(labelled[:, :, :n_unseeing], 0)
    np.testing.assert_allclose(labelled[:, :, n_unseeing:].sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("side", PADDED)
def test_the_kind_of_a_padded_model_follows_from_its_class(side) -> None:
    classes = {
        "BertLMHeadModel": "decoder",
        "BartForCausalLM": "decoder",
        "BloomForCausalLM": "decoder",
        "MistralForCausalLM": "decoder",
        "T5EncoderModel": "encoder",
    }
    for name, kind in classes.items():
        model, given = tiny(name, is_decoder=kind == "decoder"), {"input_ids": IDS * PADDED[side]}
        trace = vt.capture(model, **given, attention_mask=PADDED[side].tolist(), tokens=NAMES)
        assert trace.kinds == (kind,), name
    output = eager(mistral(), **given, attention_mask=PADDED[side])
    assert vt.capture(output, tokens=NAMES).kinds == ("decoder",), "weights that are there already"


def test_the_kind_for_one_token_follows_from_the_model() -> None:
    text, picture = tiny("Gemma3ForCausalLM").config, tiny("SiglipVisionModel").config
    config = hf.Gemma3Config(
        text_config=text, vision_config=picture, mm_tokens_per_image=4, image_token_index=59
    )
    seeing = hf.Gemma3ForConditionalGeneration(config).eval()  # its model of pictures is not causal
    for model in (gpt2(), tiny("BartForCausalLM"), seeing):
        assert vt.capture(model, input_ids=[5], tokens=["a"]).kinds == ("decoder",)
    assert vt.capture(bert(), input_ids=[4], tokens=["a"]).kinds == ("encoder",)


class Outer(nn.Module):
    """A model inside another, which hands out its logits alone."""

    def __init__(self, inner: nn.Module, configured: bool) -> None:
        super().__init__()
        self.inner = inner
        if configured:  # it looks like Hugging Face's, and returns no weights
            self.config = inner.config

    def forward(self, input_ids, attention_mask=None, **kwargs):
        return self.inner(input_ids, attention_mask=attention_mask).logits


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_a_model_inside_another_is_watched(implementation, configured) -> None:
    model = Outer(mistral(), configured)
    model.inner.set_attn_implementation(implementation)
    before = frozen(model)
    for mask in (torch.ones_like(IDS), *PADDED.values()):
        kept = mask[0].bool()
        trace = vt.capture(model, input_ids=IDS * mask, attention_mask=mask, tokens=NAMES[: int(mask.sum())])
        expected = stacked(eager(model.inner, input_ids=IDS * mask, attention_mask=mask).attentions)
        np.testing.assert_allclose(trace.decoder_attention, expected[:, :, kept][..., kept], atol=1e-5)
    assert same(before, state(model))


def test_of_several_sentences_or_texts_one_is_read() -> None:
    model, tokenizer = gpt2(), word_piece(special=False)
    ids, two = torch.tensor([[4, 5], [4, 9]]), ["the cat", "the dog"]
    given = {"input_ids": ids, "tokens": ["a", "b"]}
    assert_refused(
        [
            (lambda: vt.capture(model, **given), r"2 sentences.*batch_index=0 to 1"),
            (lambda: vt.capture(model, **given, batch_index=2), "batch_index=2, but the batch has 2"),
            (lambda: vt.capture(model, two, tokenizer=tokenizer), "2 sentences"),
        ]
    )
    for trace in (
        vt.capture(model, **given, batch_index=1),
        text := vt.capture(model, two, tokenizer=tokenizer, batch_index=1),
    ):
        check_every_kind(trace, eager(model, input_ids=ids[1:]))
    assert text.target_tokens == ("the", "dog")


def test_a_decoder_that_looks_at_a_memory_has_cross_attention() -> None:
    memory = {"encoder_hidden_states": torch.randn(1, 3, 32)}
    model = tiny("BertLMHeadModel", is_decoder=True, add_cross_attention=True)
    trace = vt.capture(model, input_ids=IDS, **memory, source_tokens=NAMES[:3], target_tokens=NAMES)
    output = eager(model, input_ids=IDS, **memory)
    assert trace.kinds == ("decoder", "cross")
    check_every_kind(trace, {**output, "decoder_attentions": output["attentions"]})
    for make in (gpt2, bert, marian):
        with pytest.raises(UserError, match="takes encoder_hidden_states= and does not use it"):
            vt.capture(make(), **given_to(make), **memory)


def test_rows_that_leave_a_share_to_a_sink_are_taken_and_marked() -> None:
    trace = vt.capture(tiny("GptOssForCausalLM"), **given_to(gpt2))
    assert trace.sinks == ("decoder",)
    assert (trace.decoder_attention.sum(-1) < 0.99).any()
    assert vt.capture(llama(), **given_to(llama)).sinks == ()


def test_a_callers_cache_is_never_lengthened() -> None:
    model, cache, given = llama(), hf.DynamicCache(), given_to(llama)
    trace = vt.capture(model, **given, past_key_values=cache)
    assert cache.get_seq_length() == 0
    np.testing.assert_array_equal(trace.decoder_attention, vt.capture(model, **given).decoder_attention)
    with torch.no_grad():
        model(IDS, past_key_values=cache)
    with pytest.raises(UserError, match=r"past_key_values= holds positions.*ids of the whole text"):
        vt.capture(model, input_ids=[9, 10], tokens=["x", "y"], past_key_values=cache)
    assert cache.get_seq_length() == 5


def adapted(model: nn.Module) -> nn.Module:
    """Put a model inside one of PEFT's, which takes any input and hands it on; a new LoRA changes nothing."""
    return peft.get_peft_model(copy.deepcopy(model), peft.LoraConfig(task_type="CAUSAL_LM"))


def test_adapted_and_compiled_models_read_and_write_a_text() -> None:
    model, tokenizer = llama(), word_piece(False)
    for generate in (None, True):
        given = {"tokenizer": tokenizer, "generate": generate, "max_new_tokens": 3}
        expected = vt.capture(model, "the cat", **given)
        for other in (adapted(model), *([] if generate else [torch.compile(model)])):
            trace = vt.capture(other, "the cat", **given)
            assert trace.target_tokens == expected.target_tokens
            np.testing.assert_array_equal(trace.decoder_attention, expected.decoder_attention)
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(adapted(model), "the cat", **given, head_mask=torch.ones(2, 4))


def test_inputs_by_position_are_those_of_the_forward() -> None:
    trace = vt.capture(llama(), IDS, PADDED["left"], tokens=NAMES[2:])
    assert trace.target_tokens == tuple(NAMES[2:])
    with pytest.raises(UserError, match=r"attention_mask holds .*decoder_input_ids="):
        vt.capture(t5(), IDS, IDS, source_tokens=NAMES, target_tokens=NAMES)


def test_an_input_that_the_model_would_not_use_is_refused() -> None:
    mask, tokenizer = torch.zeros(2, 4), word_piece(True)
    for make in (bert, gpt2, *BOTH):
        model = make()
        for name in ("interventions", "head_mask", "decoder_head_mask", "adapters"):
            with pytest.raises(UserError, match=f"takes {name}= and does not use it.*forward hook"):
                vt.capture(model, **given_to(make), **{name: mask})
            vt.capture(model, **given_to(make), **{name: None})  # as good as left out
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(t5(), "the cat", tokenizer=tokenizer, head_mask=mask)
    trace = vt.capture(marian(), "the cat", tokenizer=tokenizer, forced_bos_token_id=7)
    assert trace.output_tokens[0] == "##eeps", "generate's own options pass"


SECOND_HALF = torch.tensor([[0, 0, 1, 1, 1]])


@pytest.mark.parametrize(
    ("name", "value", "makes"),
    [
        ("attention_mask", 1 - SECOND_HALF, (bert, t5, marian)),
        ("position_ids", SECOND_HALF, (gpt2, llama, bert, distilbert)),
        ("token_type_ids", SECOND_HALF, (gpt2, bert)),  # the base model names it
        ("is_causal", False, (gpt2, llama)),
        ("decoder_attention_mask", SECOND_HALF.flip(1), BOTH),
    ],
)
def test_an_input_that_the_model_uses_passes(name, value, makes) -> None:
    for make in makes:
        model = make()
        plain = vt.capture(model, **given_to(make))
        changed = vt.capture(model, **given_to(make), **{name: value})
        if name == "is_causal":
            assert (plain.kinds, changed.kinds) == (("decoder",), ("encoder",))
            continue
        assert any(
            not np.allclose(plain.attention(kind), changed.attention(kind), atol=1e-6) for kind in plain.kinds
        ), make


def test_arguments_for_the_form_of_the_output_are_accepted() -> None:
    asked = {"output_attentions": True, "output_hidden_states": True, "return_dict": False}
    for make in (bert, gpt2, t5):
        plain = vt.capture(model := make(), **given_to(make))
        changed = vt.capture(model, **given_to(make), **asked)
        for kind in plain.kinds:
            np.testing.assert_array_equal(changed.attention(kind), plain.attention(kind))


def test_an_input_that_only_the_inner_model_names_passes() -> None:
    class Renamed(hf.GPT2LMHeadModel):
        def forward(self, input_ids=None, **kwargs):
            return super().forward(input_ids=input_ids, **kwargs)

    model, given = Renamed(gpt2().config), given_to(gpt2)
    moved = vt.capture(model, **given, position_ids=SECOND_HALF).decoder_attention
    assert not np.allclose(moved, vt.capture(model, **given).decoder_attention, atol=1e-6)
    with pytest.raises(UserError, match="Renamed takes head_mask= and does not use it"):
        vt.capture(model, **given, head_mask=torch.ones(1, 3))


@pytest.mark.filterwarnings("ignore")
def test_what_does_not_fit_is_refused() -> None:
    ids, tokens, pieces = [4, 5, 6], ["a", "b", "c"], word_piece(special=False)
    source = {"input_ids": ids, "source_tokens": tokens}
    given = {"input_ids": ids, "generate": True}
    classifier, writer, both = bert(), gpt2(), t5()
    encoder, inner, mamba = both.get_encoder(), marian().model, tiny("MambaModel")
    cases = [
        (writer, {"input_ids": ids, "tokens": tokens[:2]}, "2 target tokens.* has 3 target pos"),
        (writer, {"input_ids": ids}, "tokens were not given"),
        (classifier, {"input_ids": ids, "tokens": "abc"}, "sequence of strings"),
        (classifier, {"input_ids": ids, "token": tokens}, "unknown input token=.*did you mean tokens="),
        (classifier, {**source, "target_tokens": tokens}, "two"),
        (both, {**source, "target_tokens": tokens}, "labels were given, but the model writes"),
        (both, source, "without tokenizer= its tokens have no labels"),
        (both, {**source, "tokens": tokens}, "tokens= was given together with"),
        (both, {"input_ids": ids, "decoder_input_ids": ids, "tokens": tokens}, "source_tokens="),
        (encoder, {"input_ids": ids}, "tokens were not given"),
        (inner, {**source, "tokenizer": pieces}, "cannot write by itself; give decoder_input_ids="),
        (classifier, {**given, "tokenizer": pieces}, "cannot write by itself; leave out generate=True"),
        (
            writer,
            given,
            "its tokens have no labels; .*the whole text that model.generate wrote: input_ids=ids",
        ),
        (tiny("LlamaForCausalLM", **WORDS), given, "no labels; give that, or the whole text"),
        (writer, {"input_ids": [4, 99], "tokens": ["a", "b"]}, "the ids hold 99, and GPT2LMHeadModel knows"),
        (writer, {"input_ids": [4] * 99, "tokens": ["a"] * 99}, "has 99 tokens, and GPT2LMHeadModel reads"),
        (writer, {"input_ids": "the cat", "tokens": tokens}, "'the cat' are no token ids"),
        (mamba, {"input_ids": ids, "tokens": tokens}, "a state-space model: .*; change a word"),
    ]
    rows = [
        (lambda model=model, given=given: vt.capture(model, **given), said) for model, given, said in cases
    ]
    rows += [
        (lambda: vt.capture(writer, "", tokenizer=pieces), "the text '' has no token; give some words"),
        (lambda: vt.capture(classifier, "the cat"), "'the cat' came without a tokenizer"),
        (lambda: vt.capture(classifier, "a", tokenizer=object()), r"not one of Hugging Face's"),
        (lambda: vt.capture(writer(IDS), tokens=NAMES), "output_attentions=True"),
    ]
    assert_refused(rows)


def test_a_forward_that_only_hands_on_what_it_was_given_is_captured() -> None:
    plain = tiny("BertModel")
    expected = vt.capture(plain, input_ids=[1, 2, 3], tokens=list("abc")).encoder_attention
    forward = plain.forward
    plain.forward = lambda *given, **named: forward(*given, **named)
    trace = vt.capture(plain, input_ids=[1, 2, 3], tokens=list("abc"))
    np.testing.assert_array_equal(trace.encoder_attention, expected)
