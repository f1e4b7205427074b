"""What `generate` returns: each text has the attention of one pass over it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import viz_transformer as vt
from tests.support.capture_ways import N_BEAMS, generated
from tests.support.capture_zoo import make as make_zoo
from tests.support.huggingface_models import Words, eager, stacked, tiny
from tests.support.refusals import assert_refused
from viz_transformer.decoding import from_generate
from viz_transformer.errors import UserError

N_WORDS, END = 11, 3
WORDS = Words(tuple(f"w{i}" for i in range(N_WORDS)), pad_id=0, sos_id=0, eos_id=END)
ASKED = {
    "max_new_tokens": 6, "sequence_bias": {(END,): 1.5}, "pad_token_id": 0,
    "output_attentions": True, "output_scores": True, "return_dict_in_generate": True,
}  # fmt: skip
#: Two texts, by beams, several of each, drawn within beams, and drawn without.
WAYS: list[dict[str, Any]] = [
    {"num_beams": 1, "do_sample": False},
    {"num_beams": 4, "do_sample": False, "length_penalty": -2.0},
    {"num_beams": 4, "do_sample": False, "num_return_sequences": 3},
    {"num_beams": 3, "do_sample": True, "num_return_sequences": 2, "top_k": 0},
    {"num_beams": 1, "do_sample": True, "num_return_sequences": 3, "top_k": 0},
]


def translator() -> Any:
    return tiny(
        "MarianMTModel", vocab_size=N_WORDS, eos_token_id=END, decoder_start_token_id=0,
        forced_eos_token_id=None, init_std=0.1,
    )  # fmt: skip


def writer() -> Any:
    return tiny("LlamaForCausalLM", vocab_size=N_WORDS, eos_token_id=END, initializer_range=0.3)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("make", [translator, writer])
def test_each_returned_text_has_the_attention_of_one_pass_over_it(make: Any, cached: bool) -> None:
    model = make()
    model.set_attn_implementation("eager")
    read = torch.tensor([[4, 5, 6, 7], [8, 9, 10, 4]])
    lengths = set()
    for way in WAYS:
        torch.manual_seed(2)
        output = model.generate(read, use_cache=cached, **ASKED, **way)
        n_texts, n_beams = len(output.sequences), way["num_beams"]
        searches = None
        if n_beams > 1 and not way["do_sample"]:
            penalty = {"length_penalty": way.get("length_penalty", 1.0)}
            source = read if make is translator else None
            searches = from_generate(output, WORDS, num_beams=n_beams, source_ids=source, **penalty)
        for i in range(n_texts):
            ids = text_of(output, i)
            sentence = read[i * len(read) // n_texts][None]
            names = [f"t{j}" for j in range(ids.shape[1])]
            if make is translator:
                labels = {"source_tokens": list("abcd"), "target_tokens": names}
                truth = eager(model, input_ids=sentence, decoder_input_ids=ids)
            else:
                labels, truth = {"tokens": names}, eager(model, input_ids=ids)
            traces = [vt.capture(output, batch_index=i, **labels)]
            if searches:
                n_each = n_texts // len(searches)
                traces.append(searches[i // n_each].forward_trace(i % n_each))
                assert len(traces[1].target_tokens) == len(traces[1].output_tokens) == len(names)
            for trace in traces:
                for name in ("decoder", "cross", "encoder"):
                    expected = truth.get(f"{name}_attentions")
                    if name == "decoder" and make is writer:
                        expected = truth["attentions"]
                    if expected is not None and (name != "encoder" or trace is traces[0]):
                        found = trace.attention(name)
                        np.testing.assert_allclose(found, stacked(expected), atol=1e-5, err_msg=f"{way}, {i}")
            lengths.add(len(names))
    assert len(lengths) > 2, "some texts end before others"


def text_of(output: Any, i: int) -> torch.Tensor:
    """Return what the model read for a text, [1, position]: all but its last token."""
    ids = output.sequences[i]
    if output.get("beam_indices") is None:
        return ids[None, :-1]  # padded to the longest, and read so
    n_prompt = len(ids) - output.beam_indices.shape[1]
    return ids[None, : n_prompt + int((output.beam_indices[i] >= 0).sum()) - 1]


def test_pieces_of_bytes_are_read_as_text_and_ids_without_a_piece_as_numbers() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = Tokenizer(models.BPE({piece: i for i, piece in enumerate(alphabet)}, []))
    pieces.pre_tokenizer, pieces.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="!", eos_token="~")
    model = tiny("LlamaForCausalLM", vocab_size=len(alphabet) + 8, eos_token_id=tokenizer.eos_token_id)
    model.set_attn_implementation("eager")
    asked = ASKED | {"sequence_bias": {(len(alphabet) + 2,): 50.0}}
    read = tokenizer(" é", return_tensors="pt").input_ids
    (search,) = from_generate(model.generate(read, num_beams=2, **asked), tokenizer, num_beams=2)
    assert search.prompt_tokens == vt.capture(model, " é", tokenizer=tokenizer).target_tokens
    assert search.hypotheses[0].tokens == ("<258>",) * 6


def test_what_does_not_say_whose_rows_they_are_is_refused() -> None:
    model = writer()
    model.set_attn_implementation("eager")
    output = model.generate(torch.tensor([[4, 5, 6]]), num_beams=3, num_return_sequences=2, **ASKED)
    cases = [
        (output, None, "batch_index=0 to 1"),
        (output, 2, "the batch has 2 sentences; choose 0 to 1"),
        (output.attentions, None, "3 texts or beams, and do not say which"),
    ]
    assert_refused((lambda case=case: vt.capture(case[0], batch_index=case[1]), case[2]) for case in cases)


def test_what_holds_no_whole_map_of_a_text_is_refused_with_the_reason() -> None:
    cases = [
        ("led", 1, "a column is a distance from the query"),
        ("longt5", 1, r"whole encoder attention .* a layer is \[1, 3, 4, 4, 12\]"),
        ("prophetnet", 1, "whole encoder attention .* which scores do"),
        ("gpt_oss", 1, "a part goes to a sink; .* with input_ids=ids, where ids is output.sequences"),
        ("xlnet", N_BEAMS, "whole attention .* a layer is a tuple"),
        ("big_bird, block sparse", 1, "a step has no weights"),
        ("whisper", N_BEAMS, "whole decoder attention .* some beams only, and not of row 1"),
    ]
    wrong = {name: found for name, beams, said in cases if not re.search(said, found := refusal(name, beams))}
    assert not wrong


def refusal(name: str, n_beams: int) -> str:
    result = generated(name, n_beams)
    assert result is not None
    return result.refusal or f"not refused: {result}"


def test_bands_are_refused_at_any_length_and_maps_are_not() -> None:
    outputs = {}
    for n_tokens in (3, 5, 12):  # a band of Longformer's here has 5 columns
        read = torch.arange(5, 5 + n_tokens)[None]
        for name in ("longformer", "led", "bert", "gpt2"):
            output = make_zoo(name, attn_implementation="eager")(input_ids=read, output_attentions=True)
            outputs[name, n_tokens] = output
    assert_refused(
        (lambda output=output: vt.capture(output), "a column is a distance .* vt.capture\\(model")
        for (name, _), output in outputs.items()
        if name in ("longformer", "led")
    )
    for (name, n_tokens), output in outputs.items():
        if name in ("bert", "gpt2"):
            trace = vt.capture(output)
            assert trace.attention(trace.kinds[0]).shape[2:] == (n_tokens, n_tokens)


def test_a_generate_without_eager_attention_is_refused_by_what_it_lacks() -> None:
    for steps in (((), (), ()), [[], []]):
        for name in ("attentions", "decoder_attentions"):
            output = {name: steps, "sequences": torch.tensor([[1, 3, 4, 2]])}
            with pytest.raises(UserError, match=r"holds no attention weights; .*attn_implementation='eager'"):
                vt.capture(output, tokens=list("abc"))


@torch.no_grad()
def test_a_padded_prompt_is_a_decoders_too() -> None:
    """The rows of padding look at all of the prompt, as an encoder's would."""
    model = make_zoo("llama", attn_implementation="eager")
    ids = torch.tensor([[5, 6, 7, 8, 9], [0, 0, 3, 4, 5]])
    asked = {"output_attentions": True, "return_dict_in_generate": True, "do_sample": False}
    output = model_with_head(model).generate(ids, attention_mask=(ids != 0).long(), max_new_tokens=4, **asked)
    labels = [str(i) for i in output.sequences[1, :-1].tolist()]
    trace = vt.capture(output, tokens=labels, batch_index=1)
    assert (trace.kinds, trace.target_tokens, trace.notes) == (("decoder",), tuple(labels), ())


def model_with_head(model: Any) -> Any:
    """Return a causal language model around a decoder of the zoo."""
    import transformers

    written = transformers.LlamaForCausalLM(model.config)
    written.model = model
    return written.eval()
