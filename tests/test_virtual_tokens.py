"""Virtual tokens, as PEFT puts them before a text for prefix and prompt tuning; and its adapters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import PIECES, peft, tiny, word_piece
from tests.support.refusals import assert_refused
from viz_transformer.capturing.arguments import labels_of_ids

IDS, NAMES = torch.tensor([[1, 4, 7]]), ["a", "b", "c"]
VIRTUAL = [f"virtual {i}" for i in range(4)]
#: By task: a class of causal models, one with a head of another kind, and one that is an encoder.
CLASSES = {
    "LlamaForCausalLM": "CAUSAL_LM",
    "GPT2LMHeadModel": "CAUSAL_LM",
    "BertForSequenceClassification": "SEQ_CLS",
    "BertModel": "FEATURE_EXTRACTION",
}
#: Where a virtual token is a key alone, or one that attends; and an adapter, which has none.
WAYS = {
    "prefix": lambda task: peft.PrefixTuningConfig(task_type=task, num_virtual_tokens=4),
    "projected prefix": lambda task: peft.PrefixTuningConfig(
        task_type=task, num_virtual_tokens=4, prefix_projection=True, encoder_hidden_size=8
    ),
    "prompt": lambda task: peft.PromptTuningConfig(task_type=task, num_virtual_tokens=4),
    "prompt encoder": lambda task: peft.PromptEncoderConfig(
        task_type=task, num_virtual_tokens=4, encoder_hidden_size=8
    ),
    "adapter": lambda task: peft.LoraConfig(
        task_type=task, target_modules=r".*(q_proj|c_attn|query|\.q)", init_lora_weights=False
    ),
}


def tuned(model_class: str, way: str, **changes: Any) -> nn.Module:
    torch.manual_seed(0)
    task = CLASSES.get(model_class, "SEQ_2_SEQ_LM")
    return peft.get_peft_model(tiny(model_class, **changes), WAYS[way](task)).eval()


def own_weights(model: nn.Module, **given: Any) -> np.ndarray:
    """What the tuned model returns itself, [layer, head, query, key], with eager attention."""
    model.get_base_model().set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**given, output_attentions=True)
    model.get_base_model().set_attn_implementation("sdpa")
    return torch.cat(output.attentions).numpy()


@pytest.mark.filterwarnings("ignore")  # PEFT's, of an adapter in a layer whose weight is transposed
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_class", CLASSES)
def test_virtual_tokens_are_named_and_those_without_queries_have_rows_of_zero(model_class, way) -> None:
    model = tuned(model_class, way)
    virtual = [] if way == "adapter" else VIRTUAL
    own = own_weights(model, input_ids=IDS, attention_mask=torch.ones_like(IDS))
    length = len(virtual) + len(NAMES)
    assert own.shape[2:] == (length - len(virtual) * ("prefix" in way), length)
    for given in (NAMES, [*virtual, *NAMES]):
        trace = vt.capture(model, input_ids=IDS, tokens=given)
        (kind,) = trace.kinds
        assert trace.key_tokens(kind) == (*virtual, *NAMES)
        weights = trace.attention(kind)
        assert weights.shape[2:] == (length, length)
        np.testing.assert_allclose(weights[:, :, -own.shape[2] :], own, atol=1e-6)
        assert not weights[:, :, : length - own.shape[2]].any()
    assert_refused([(lambda: vt.capture(model, input_ids=IDS, tokens=NAMES[:2]), "2 .* tokens were given")])


@pytest.mark.parametrize("way", ["prefix", "prompt"])
def test_padding_behind_a_text_is_left_out_and_virtual_tokens_stay(way) -> None:
    model = tuned("LlamaForCausalLM", way)
    alone = vt.capture(model, input_ids=IDS, tokens=NAMES)
    padded, mask = torch.tensor([[1, 4, 7, 0, 0]]), torch.tensor([[1, 1, 1, 0, 0]])
    trace = vt.capture(model, input_ids=padded, attention_mask=mask, tokens=NAMES)
    assert trace.target_tokens == alone.target_tokens == (*VIRTUAL, *NAMES)
    np.testing.assert_allclose(trace.decoder_attention, alone.decoder_attention, atol=1e-6)


@pytest.mark.parametrize("way", ["prefix", "prompt"])
def test_a_tuned_model_writes_as_its_own_generate_does(way) -> None:
    model, tokenizer = tuned("LlamaForCausalLM", way, vocab_size=len(PIECES)), word_piece(special=False)
    way_to_write = {"max_new_tokens": 3, "min_new_tokens": 3, "suppress_tokens": [tokenizer.pad_token_id]}
    ids = model.generate(input_ids=IDS, attention_mask=torch.ones_like(IDS), do_sample=False, **way_to_write)
    trace = vt.capture(model, input_ids=IDS, tokenizer=tokenizer, generate=True, **way_to_write)
    own = own_weights(model, input_ids=ids[:, :-1], attention_mask=torch.ones_like(ids[:, :-1]))
    assert trace.target_tokens == (*VIRTUAL, *labels_of_ids(tokenizer, ids[0, :-1]).tokens)
    np.testing.assert_allclose(trace.decoder_attention[:, :, -own.shape[2] :], own, atol=1e-6)


@pytest.mark.parametrize("model_class", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_those_of_an_encoder_decoder_are_refused_and_its_adapters_are_not(model_class) -> None:
    given = {"input_ids": IDS, "source_tokens": NAMES}
    target = {"decoder_input_ids": IDS[:, :2], "target_tokens": NAMES[:2]}
    assert_refused(
        (
            lambda way=way, more=more: vt.capture(tuned(model_class, way), **given, **more),
            "4 virtual tokens into an",
        )
        for way in ("prefix", "projected prefix", "prompt")
        for more in (target, {"tokenizer": word_piece(special=False)})
    )
    trace = vt.capture(tuned(model_class, "adapter"), **given, **target)
    assert trace.kinds == ("encoder", "decoder", "cross")
