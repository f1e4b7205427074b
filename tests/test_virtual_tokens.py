"""Virtual tokens, as PEFT puts them before a text for prefix and prompt tuning."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers as hf

import viz_transformer as vt
from tests.support.huggingface_models import LLAMA_SIZES
from viz_transformer.errors import UserError

IDS, NAMES = torch.tensor([[1, 4, 7]]), ["a", "b", "c"]
VIRTUAL = [f"virtual {i}" for i in range(4)]


class Prefixed(hf.LlamaForCausalLM):
    """A model with four further keys in each layer, handed on in the cache, as PEFT does it."""

    active_peft_config = SimpleNamespace(num_virtual_tokens=4)

    def forward(self, input_ids=None, attention_mask=None, **options):
        cache, drawn = hf.DynamicCache(config=self.config), torch.Generator().manual_seed(0)
        for layer in range(self.config.num_hidden_layers):
            shape = (1, self.config.num_key_value_heads, 4, self.config.head_dim)
            cache.update(*torch.randn(2, *shape, generator=drawn), layer)
        options.pop("past_key_values", None)
        return super().forward(input_ids, attention_mask, past_key_values=cache, **options)


class Prompted(hf.LlamaForCausalLM):
    """A model that reads four further embeddings first."""

    active_peft_config = SimpleNamespace(num_virtual_tokens=4)

    def forward(self, input_ids=None, **options):
        ahead = torch.randn(1, 4, self.config.hidden_size, generator=torch.Generator().manual_seed(0))
        read = torch.cat([ahead, self.get_input_embeddings()(input_ids)], dim=1)
        return super().forward(inputs_embeds=read, **options)


@pytest.mark.parametrize("made", [Prefixed, Prompted])
def test_virtual_tokens_are_named_and_those_without_queries_have_rows_of_zero(made) -> None:
    torch.manual_seed(0)
    model = made._from_config(hf.LlamaConfig(**LLAMA_SIZES), attn_implementation="eager").eval()
    with torch.no_grad():
        own = torch.stack(model(IDS, output_attentions=True).attentions)[
            :, 0
        ].numpy()  # [layer, head, query, 7]
    for given in (NAMES, [*VIRTUAL, *NAMES]):
        trace = vt.capture(model, input_ids=IDS, tokens=given)
        assert trace.target_tokens == (*VIRTUAL, *NAMES)
        weights = trace.decoder_attention
        assert weights.shape[-2:] == (7, 7)
        np.testing.assert_allclose(weights[:, :, -own.shape[2] :], own, atol=1e-6)
        assert not weights[:, :, : 7 - own.shape[2]].any()
    with pytest.raises(UserError, match="2 target tokens were given"):
        vt.capture(model, input_ids=IDS, tokens=NAMES[:2])
