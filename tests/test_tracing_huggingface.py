"""Hugging Face models of every kind: equal to eager attention, and left as they were."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import (
    BERT_SIZES,
    LLAMA_SIZES,
    SIZES,
    eager,
    frozen,
    hf,
    llama,
    same,
    stacked,
    state,
    word_piece,
)
from viz_transformer.errors import UserError


def bert(**changes) -> nn.Module:
    return hf.BertForSequenceClassification(
        hf.BertConfig(max_position_embeddings=32, **BERT_SIZES | SIZES | changes)
    )


def distilbert() -> nn.Module:
    return hf.DistilBertModel(
        hf.DistilBertConfig(dim=16, n_layers=3, n_heads=2, hidden_dim=24, max_position_embeddings=32, **SIZES)
    )


def gpt2() -> nn.Module:
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(n_embd=16, n_layer=2, n_head=4, n_positions=32, bos_token_id=2, eos_token_id=3, **SIZES)
    )


def t5() -> nn.Module:
    sizes = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 1, "num_decoder_layers": 3, "num_heads": 4}
    return hf.T5ForConditionalGeneration(
        hf.T5Config(decoder_start_token_id=0, eos_token_id=3, **sizes, **SIZES)
    )


def bart_like(config_class: type, model_class: type) -> nn.Module:
    return model_class(
        config_class(
            d_model=16,
            encoder_layers=3,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=4,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_position_embeddings=32,
            decoder_start_token_id=3,
            bos_token_id=2,
            eos_token_id=3,
            forced_eos_token_id=3,
            **SIZES,
        )
    )


def marian() -> nn.Module:
    return bart_like(hf.MarianConfig, hf.MarianMTModel)


def bart() -> nn.Module:
    return bart_like(hf.BartConfig, hf.BartForConditionalGeneration)


ENCODERS = [bert, distilbert]
DECODERS = [gpt2, llama]
BOTH = [t5, marian, bart]


@pytest.mark.parametrize("make", ENCODERS)
def test_an_encoder_reads_a_text(make) -> None:
    model, tokenizer = make(), word_piece(special=True)
    trace = vt.capture(model, "the cat sleeps well", tokenizer=tokenizer)
    assert trace.source_tokens == ("[CLS]", "the", "cat", "sl", "##eeps", "well", "[SEP]")
    assert trace.source_words == (None, 0, 1, 2, 2, 3, None)
    assert trace.kinds == ("encoder",)
    ids = tokenizer("the cat sleeps well", return_tensors="pt").input_ids
    expected = stacked(eager(model, input_ids=ids).attentions)
    np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-5)


@pytest.mark.parametrize("make", DECODERS)
def test_a_decoder_reads_a_text(make) -> None:
    model, tokenizer = make(), word_piece(special=False)
    trace = vt.capture(model, "the cat sleeps", tokenizer=tokenizer)
    assert trace.target_tokens == ("the", "cat", "sl", "##eeps")
    assert trace.target_words == (0, 1, 2, 2)
    assert trace.kinds == ("decoder",)
    ids = tokenizer("the cat sleeps", return_tensors="pt").input_ids
    expected = stacked(eager(model, input_ids=ids).attentions)
    np.testing.assert_allclose(trace.decoder_attention, expected, atol=1e-5)


def check_every_kind(trace: vt.ForwardTrace, output: dict) -> None:
    """Check each kind of attention against what an eager model returned."""
    for kind in ("encoder", "decoder", "cross"):
        expected = stacked(output[f"{kind}_attentions"])
        np.testing.assert_allclose(trace.attention(kind), expected, atol=1e-5)


@pytest.mark.parametrize("length", [3, 4, 5])  # equal lengths too: nothing is told by shape
@pytest.mark.parametrize("make", BOTH)
def test_an_encoder_decoder_reads_two_lists_of_ids(make, length) -> None:
    model = make()
    ids, target = torch.randint(4, 11, (1, 4)), torch.randint(4, 11, (1, length))
    names = [f"w{i}" for i in range(5)]
    trace = vt.capture(
        model,
        input_ids=ids,
        decoder_input_ids=target,
        source_tokens=names[:4],
        target_tokens=names[:length],
    )
    output = eager(model, input_ids=ids, decoder_input_ids=target)
    check_every_kind(trace, output)


@pytest.mark.parametrize("make", BOTH)
def test_an_encoder_decoder_writes_its_own_target(make) -> None:
    model, tokenizer = make(), word_piece(special=True)
    trace = vt.capture(model, "the cat sleeps", tokenizer=tokenizer, max_new_tokens=6)
    encoding = tokenizer("the cat sleeps", return_tensors="pt")
    given = {name: encoding[name] for name in ("input_ids", "attention_mask")}
    ids = model.eval().generate(**given, max_new_tokens=6, do_sample=False, num_beams=1, use_cache=False)
    assert trace.target_tokens == tuple(tokenizer.convert_ids_to_tokens(ids[0, :-1]))
    assert trace.output_tokens == tuple(tokenizer.convert_ids_to_tokens(ids[0, 1:]))
    output = eager(model, **given, decoder_input_ids=ids[:, :-1])
    check_every_kind(trace, output)


@pytest.mark.parametrize("make", DECODERS)
def test_a_decoder_goes_on_from_a_text(make) -> None:
    model, tokenizer = make(), word_piece(special=False)
    trace = vt.capture(model, "the cat sleeps", tokenizer=tokenizer, generate=True, max_new_tokens=5)
    given = tokenizer("the cat sleeps", return_tensors="pt")
    ids = model.eval().generate(**given, max_new_tokens=5, do_sample=False)
    assert len(ids[0]) > 4
    assert trace.target_tokens == tuple(tokenizer.convert_ids_to_tokens(ids[0, :-1]))
    assert trace.output_tokens == tuple(tokenizer.convert_ids_to_tokens(ids[0, 1:]))
    expected = stacked(eager(model, input_ids=ids[:, :-1]).attentions)
    np.testing.assert_allclose(trace.decoder_attention, expected, atol=1e-5)


@pytest.mark.parametrize("cached", [True, False])
def test_the_steps_of_generate_become_whole_maps(cached) -> None:
    """Somebody's own call of generate: its output, or a part of it, is enough."""
    model = marian().eval()
    output = eager_generate(model, torch.tensor([[4, 5, 6]]), cached)
    names = [str(int(i)) for i in output.sequences[0, :-1]]
    assert len(names) > 2
    read = {"source_tokens": ["a", "b", "c"], "target_tokens": names}
    trace = vt.capture(output, **read)
    whole = eager(model, input_ids=torch.tensor([[4, 5, 6]]), decoder_input_ids=output.sequences[:, :-1])
    check_every_kind(trace, whole)
    decoder = vt.capture(output.decoder_attentions, tokens=names)
    np.testing.assert_array_equal(decoder.decoder_attention, trace.decoder_attention)
    cross = vt.capture(output.cross_attentions, **read)
    np.testing.assert_array_equal(cross.cross_attention, trace.cross_attention)


def eager_generate(model: nn.Module, ids: torch.Tensor, cached: bool):
    twin = copy.deepcopy(model)
    twin.set_attn_implementation("eager")
    return twin.generate(
        ids,
        max_new_tokens=5,
        num_beams=1,
        do_sample=False,
        use_cache=cached,
        output_attentions=True,
        return_dict_in_generate=True,
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS, *BOTH])
def test_the_model_stays_as_it_was(make, training) -> None:
    model = make().train(training)
    next(model.children()).eval()  # a frozen part stays frozen
    before = frozen(model)
    vt.capture(model, "the cat", tokenizer=word_piece(True), generate=make in DECODERS or None)
    assert same(before, state(model))


@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS, *BOTH])
def test_the_model_stays_as_it_was_when_it_raises(make) -> None:
    model = make().train()
    before = frozen(model)
    with pytest.raises(UserError, match=r"the ids hold 99, and \w+ knows 11 tokens"):
        vt.capture(model, input_ids=[[99]], decoder_input_ids=[[1]] if make in BOTH else None)
    assert same(before, state(model))


def test_a_trained_mode_leaves_no_dropout_in_the_weights() -> None:
    model = bert(attention_probs_dropout_prob=0.9).train()
    trace = vt.capture(model, "the cat", tokenizer=word_piece(True))
    np.testing.assert_allclose(trace.encoder_attention.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [bert, llama])
def test_half_precision_becomes_float32(make, dtype) -> None:
    trace = vt.capture(make().to(dtype), "the cat sleeps", tokenizer=word_piece(True))
    weights = trace.attention(trace.kinds[0])
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(-1), 1, atol=0.01)


def padded(side: str) -> tuple[torch.Tensor, torch.Tensor]:
    pads, words = [0, 0], [4, 5, 6]
    row = pads + words if side == "left" else words + pads
    ids = torch.tensor([row, [4, 5, 6, 7, 8]])
    return ids, (ids != 0).long()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("make", [bert, llama])
def test_padding_is_left_out_or_labelled(make, side) -> None:
    model = make()
    ids, mask = padded(side)
    inputs = {"input_ids": ids, "attention_mask": mask, "batch_index": 0}
    cut = vt.capture(model, **inputs, tokenizer=word_piece(True))
    kind = cut.kinds[0]
    assert cut.key_tokens(kind) == ("the", "cat", "sl")
    kept = mask[0].bool().numpy()
    expected = stacked([w[:1] for w in eager(model, input_ids=ids, attention_mask=mask).attentions])
    expected_cut = expected[:, :, kept][..., kept]
    np.testing.assert_allclose(cut.attention(kind), expected_cut, atol=1e-5)

    whole = vt.capture(model, **inputs, tokens=list("abcde")).attention(kind)
    np.testing.assert_allclose(whole[:, :, kept][..., kept], expected_cut, atol=1e-5)
    sums = whole.sum(-1)
    if make is llama and side == "left":  # the padding before the first word sees nothing
        np.testing.assert_array_equal(sums[..., :2], 0)
        sums = sums[..., 2:]
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def mistral() -> nn.Module:
    return hf.MistralForCausalLM(hf.MistralConfig(sliding_window=2, **LLAMA_SIZES))


def gemma() -> nn.Module:
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(sliding_window=2, head_dim=8, **LLAMA_SIZES))


def neox() -> nn.Module:
    sizes = {name: size for name, size in LLAMA_SIZES.items() if name != "num_key_value_heads"}
    return hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**sizes))


def opt() -> nn.Module:
    return hf.OPTForCausalLM(
        hf.OPTConfig(
            hidden_size=16,
            word_embed_proj_dim=16,
            ffn_dim=24,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            **SIZES,
        )
    )


def bloom() -> nn.Module:  # its attention does not say whether it is causal
    return hf.BloomForCausalLM(hf.BloomConfig(hidden_size=16, n_layer=2, n_head=4, **SIZES))


def bert_decoder() -> nn.Module:
    return hf.BertLMHeadModel(bert(is_decoder=True).config)


def roberta() -> nn.Module:
    return hf.RobertaModel(hf.RobertaConfig(max_position_embeddings=32, **BERT_SIZES, **SIZES))


def clip_text() -> nn.Module:  # its attention says that it is not causal, and its mask is
    return hf.CLIPTextModel(
        hf.CLIPTextConfig(max_position_embeddings=32, bos_token_id=2, eos_token_id=3, **BERT_SIZES, **SIZES)
    )


@pytest.mark.parametrize("tokens", [list("abc"), list("abcde")])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        *[
            (make, "decoder")
            for make in (gpt2, llama, mistral, gemma, neox, opt, bloom, bert_decoder, clip_text)
        ],
        (lambda: bloom().base_model, "decoder"),
        (lambda: llama().base_model, "decoder"),
        *[(make, "encoder") for make in (bert, distilbert, roberta, lambda: t5().get_encoder())],
    ],
)
def test_padding_makes_no_encoder_of_a_decoder(make, kind, side, tokens) -> None:
    ids, mask = padded(side)
    given = {"input_ids": ids[:1], "attention_mask": mask[:1], "tokens": tokens}
    assert vt.capture(make(), **given).kinds == (kind,)


def test_a_batch_asks_which_sentence() -> None:
    ids = torch.tensor([[4, 5], [6, 7]])
    model = gpt2()
    with pytest.raises(UserError, match=r"2 sentences.*batch_index=0 to 1"):
        vt.capture(model, input_ids=ids, tokens=["a", "b"])
    with pytest.raises(UserError, match="batch_index=2, but the batch has 2"):
        vt.capture(model, input_ids=ids, tokens=["a", "b"], batch_index=2)
    second = vt.capture(model, input_ids=ids, tokens=["a", "b"], batch_index=1)
    expected = stacked(eager(model, input_ids=ids[1:]).attentions)
    np.testing.assert_allclose(second.decoder_attention, expected, atol=1e-5)


def test_of_several_texts_one_is_read() -> None:
    model, tokenizer = gpt2(), word_piece(special=False)
    with pytest.raises(UserError, match="2 sentences"):
        vt.capture(model, ["the cat", "the dog"], tokenizer=tokenizer)
    trace = vt.capture(model, ["the cat", "the dog"], tokenizer=tokenizer, batch_index=1)
    assert trace.target_tokens == ("the", "dog")


def test_one_token_is_told_by_the_model_itself() -> None:
    assert vt.capture(gpt2(), input_ids=[4], tokens=["a"]).kinds == ("decoder",)
    assert vt.capture(bert(), input_ids=[4], tokens=["a"]).kinds == ("encoder",)


def test_the_library_is_never_imported() -> None:
    import subprocess
    import sys

    code = (
        "import sys, torch, viz_transformer as vt\n"
        "vt.capture([torch.eye(2)], tokens=['a', 'b'])\n"
        "assert 'transformers' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def refusals() -> list:
    ids = [4, 5, 6]
    tokens = ["a", "b", "c"]
    mamba = hf.MambaConfig(vocab_size=11, hidden_size=8, num_hidden_layers=1, state_size=2)
    both = {"input_ids": ids, "source_tokens": tokens}
    return [
        (gpt2, {"input_ids": ids, "tokens": tokens[:2]}, "2 target tokens.* has 3 target pos"),
        (gpt2, {"input_ids": ids}, "tokens were not given"),
        (bert, {"input_ids": ids, "tokens": "abc"}, "sequence of strings"),
        (bert, {"input_ids": ids, "token": tokens}, "unknown input token=.*did you mean tokens="),
        (bert, {"input_ids": ids, **{f"{s}_tokens": tokens for s in ("source", "target")}}, "two"),
        (t5, {**both, "target_tokens": tokens}, "labels were given, but the model writes"),
        (t5, both, "without tokenizer= its tokens have no labels"),
        (t5, {**both, "tokens": tokens}, "tokens= was given together with"),
        (t5, {"input_ids": ids, "decoder_input_ids": ids, "tokens": tokens}, "source_tokens="),
        (lambda: t5().get_encoder(), {"input_ids": ids}, "tokens were not given"),
        (lambda: marian().model, {**both, "tokenizer": word_piece(True)}, "cannot write a target"),
        (gpt2, {"input_ids": [4, 99], "tokens": ["a", "b"]}, "the ids hold 99, and GPT2LMHeadModel knows"),
        (
            gpt2,
            {"input_ids": [4] * 99, "tokens": ["a"] * 99},
            "has 99 tokens, and GPT2LMHeadModel reads",
        ),
        (gpt2, {"input_ids": "the cat", "tokens": tokens}, "'the cat' are no token ids"),
        (
            lambda: hf.MambaModel(mamba),
            {"input_ids": ids, "tokens": tokens},
            "a state-space model: .*; change a word",
        ),
    ]


@pytest.mark.parametrize(("make", "given", "message"), refusals())
def test_what_does_not_fit_is_refused(make, given, message) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make()
    with pytest.raises(UserError, match=message):
        vt.capture(model, **given)


def test_a_text_without_a_token_is_refused() -> None:
    with pytest.raises(UserError, match="the text '' has no token; give some words"):
        vt.capture(gpt2(), "", tokenizer=word_piece(special=False))


def given_to(make) -> dict:
    """What a model reads, with labels."""
    ids, tokens = [4, 5, 6], ["a", "b", "c"]
    if make not in BOTH:
        return {"input_ids": ids, "tokens": tokens}
    labels = {"source_tokens": tokens, "target_tokens": tokens}
    return {"input_ids": ids, "decoder_input_ids": ids, **labels}


@pytest.mark.parametrize("name", ["interventions", "head_mask", "heads_mask"])
@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS, *BOTH])
def test_an_input_that_the_model_would_swallow_is_refused(make, name) -> None:
    model = make()
    with pytest.raises(UserError, match=f"takes {name}= and does not use it.*forward hook"):
        vt.capture(model, **given_to(make), **{name: torch.zeros(2, 4)})
    vt.capture(model, **given_to(make), **{name: None})  # as good as left out


def test_a_swallowed_input_is_refused_also_where_the_model_writes() -> None:
    tokenizer = word_piece(True)
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(t5(), "the cat", tokenizer=tokenizer, head_mask=torch.zeros(1, 4))
    trace = vt.capture(marian(), "the cat", tokenizer=tokenizer, forced_bos_token_id=7)
    assert trace.output_tokens[0] == "##eeps"  # generate's own options pass


ONES, TWOS = torch.ones(1, 3, dtype=torch.long), torch.tensor([[0, 0, 1]])


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *[(make, "attention_mask", 1 - TWOS) for make in (bert, t5, marian)],
        *[(make, "position_ids", TWOS) for make in (gpt2, llama, bert, distilbert)],
        *[(make, "token_type_ids", TWOS) for make in (gpt2, bert)],  # the base model names it
        *[(make, "is_causal", False) for make in (gpt2, llama)],
        *[(make, "decoder_attention_mask", 1 - TWOS.flip(1)) for make in (t5, marian, bart)],
    ],
)
def test_an_input_that_the_model_uses_passes(make, name, value) -> None:
    model = make()
    plain = vt.capture(model, **given_to(make))
    changed = vt.capture(model, **given_to(make), **{name: value})
    if name == "is_causal":
        assert (plain.kinds, changed.kinds) == (("decoder",), ("encoder",))
        return
    assert any(
        not np.allclose(plain.attention(kind), changed.attention(kind), atol=1e-6) for kind in plain.kinds
    )


@pytest.mark.parametrize("make", [*ENCODERS, *DECODERS, *BOTH])
def test_what_asks_for_a_form_of_the_output_passes(make) -> None:
    asked = {"output_attentions": True, "output_hidden_states": True, "return_dict": False}
    plain = vt.capture(model := make(), **given_to(make))
    for kind in plain.kinds:
        changed = vt.capture(model, **given_to(make), **asked)
        np.testing.assert_array_equal(changed.attention(kind), plain.attention(kind))


def test_an_input_that_only_the_inner_model_names_passes() -> None:
    class Outer(type(gpt2())):
        def forward(self, input_ids=None, **kwargs):
            return super().forward(input_ids=input_ids, **kwargs)

    model = Outer(gpt2().config)
    given = given_to(gpt2)
    moved = vt.capture(model, **given, position_ids=TWOS).decoder_attention
    assert not np.allclose(moved, vt.capture(model, **given).decoder_attention, atol=1e-6)
    with pytest.raises(UserError, match="Outer takes head_mask= and does not use it"):
        vt.capture(model, **given, head_mask=ONES)


def test_a_picture_is_an_input_like_any_other() -> None:
    model = hf.ViTModel(hf.ViTConfig(image_size=8, patch_size=4, **BERT_SIZES))
    given = {"pixel_values": torch.randn(1, 3, 8, 8), "tokens": ["[CLS]", *"abcd"]}
    assert vt.capture(model, **given).kinds == ("encoder",)
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(model, **given, head_mask=ONES)


def test_a_text_without_a_tokenizer_is_refused() -> None:
    with pytest.raises(UserError, match="'the cat' came without a tokenizer"):
        vt.capture(bert(), "the cat")
    with pytest.raises(UserError, match=r"not one of Hugging Face's"):
        vt.capture(bert(), "the cat", tokenizer=object())
