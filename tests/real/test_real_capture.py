"""Captures of pretrained models: the weights that transformers itself returns."""

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt
from viz_transformer.trace import attention_of

pytestmark = pytest.mark.real

TEXT = "When Mary and John went to the store, John gave a drink to"


@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_a_capture_has_the_weights_that_eager_attention_returns(name, request):
    folder = request.getfixturevalue(f"{name}_folder")
    loader = LlamaForCausalLM if name == "smollm2" else AutoModel
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = loader.from_pretrained(folder)
    trace = vt.capture(model, TEXT, tokenizer=tokenizer)
    eager = loader.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        weights = eager(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    (kind,) = trace.kinds
    torch.testing.assert_close(
        torch.tensor(attention_of(trace, kind)), torch.stack(weights)[:, 0], rtol=0, atol=1e-6
    )  # [layer, head, query, key]
