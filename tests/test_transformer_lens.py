"""TransformerLens' models captured, and its own numbers beside those of interventions and attributions.

It comes with the extra `lens`, which `make test-slow` installs.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.causal_models import gpt2
from tests.support.huggingface_models import BERT_SIZES, eager, hf, llama, same, state, word_piece
from viz_transformer import attribution
from viz_transformer.errors import UserError

pytestmark = pytest.mark.slow

CLEAN = torch.tensor([[1, 2, 3, 4, 5, 6, 4, 7]])
CORRUPTED = torch.tensor([[1, 2, 3, 4, 5, 6, 2, 7]])
ANSWER, OTHER = 8, 9


@pytest.fixture(scope="module")
def theirs_and_ours():
    """The same random parameters as a HookedTransformer and as Hugging Face's GPT-2."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights

    model = gpt2()
    config = HookedTransformerConfig(
        n_layers=2, d_model=16, n_heads=4, d_head=4, d_mlp=64, n_ctx=16, d_vocab=13, act_fn="gelu_new",
        normalization_type="LN", eps=1e-5, default_prepend_bos=False, use_attn_result=True, device="cpu",
    )  # fmt: skip
    hooked = HookedTransformer(config)
    hooked.load_state_dict(convert_gpt2_weights(model, config), strict=False)
    hooked.unembed.b_U.data.zero_()
    return hooked.eval(), model


@pytest.fixture
def hooked_with_words(tmp_path):
    """A HookedTransformer with a tokenizer, which it loads from a folder."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    tokenizer = word_piece(special=False)
    tokenizer.add_special_tokens({"bos_token": "[CLS]", "eos_token": "[SEP]"})
    tokenizer.save_pretrained(tmp_path)
    tokenizer = hf.AutoTokenizer.from_pretrained(tmp_path)
    sizes = {"n_layers": 3, "d_model": 16, "n_ctx": 32, "d_head": 4, "n_heads": 4, "d_mlp": 32}
    config = HookedTransformerConfig(d_vocab=len(tokenizer), act_fn="gelu", seed=0, device="cpu", **sizes)
    return HookedTransformer(config, tokenizer=tokenizer)


def test_a_text_is_read_as_the_model_reads_it(hooked_with_words) -> None:
    model, before = hooked_with_words, state(hooked_with_words)
    _, cache = model.run_with_cache("the cat sleeps")
    trace = vt.capture(model, "the cat sleeps")
    assert trace.target_tokens == ("[CLS]", "the", "cat", "sl", "##eeps")
    assert trace.target_words == (None, 0, 1, 2, 2)
    for layer in range(3):
        np.testing.assert_array_equal(trace.decoder_attention[layer], cache["pattern", layer][0])
    assert same(before, state(model))
    bare = vt.capture(
        model, ["the dog", "the cat sleeps"], batch_index=1, prepend_bos=False, layers=[1], heads=[2]
    )
    assert bare.target_tokens == ("the", "cat", "sl", "##eeps")
    assert (bare.layer_numbers("decoder"), bare.head_numbers) == ((1,), (2,))


def test_hooks_that_were_added_take_part_and_stay(hooked_with_words) -> None:
    model = hooked_with_words
    model.add_hook("blocks.1.attn.hook_pattern", lambda pattern, hook: torch.eye(5).expand_as(pattern))
    trace = vt.capture(model, "the cat sleeps")
    assert (trace.decoder_attention[1] == np.eye(5)).all()
    assert len(model.hook_dict["blocks.1.attn.hook_pattern"].fwd_hooks) == 1


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_a_bridge_is_the_model_that_it_wraps(family) -> None:
    from transformer_lens.model_bridge.sources import build_bridge_from_module

    tokenizer = word_piece(special=family == "bert")
    made = {
        "gpt2": lambda: gpt2(len(tokenizer)),
        "llama": llama,
        "bert": lambda: hf.BertForMaskedLM(hf.BertConfig(**BERT_SIZES)),
    }
    model = made[family]().train()  # dropout is off while it is captured
    inside = copy.deepcopy(model)
    bridge = build_bridge_from_module(
        model, type(model).__name__, hf_config=model.config, tokenizer=tokenizer
    )
    trace = vt.capture(bridge, "the cat sleeps")
    expected = eager(inside, **tokenizer("the cat sleeps", return_tensors="pt"))["attentions"]
    kind = "encoder" if family == "bert" else "decoder"
    np.testing.assert_allclose(trace.attention(kind), torch.cat(expected).numpy(), atol=1e-6)
    assert trace.key_tokens(kind) == tuple(tokenizer("the cat sleeps").tokens())
    assert bridge.original_model.training
    with pytest.raises(UserError, match="takes head_mask= and does not use it"):
        vt.capture(bridge, "the cat", head_mask=torch.zeros(2, 4))


def test_a_head_switched_off(theirs_and_ours) -> None:
    hooked, model = theirs_and_ours

    def silence(z, hook):
        z[:, :, 2] = 0
        return z

    expected = hooked.run_with_hooks(CLEAN, fwd_hooks=[("blocks.1.attn.hook_z", silence)])
    with vt.interventions(model, heads=[vt.model.HeadChange("decoder", 1, 2, factor=0)]), torch.no_grad():
        found = model(CLEAN).logits
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)


@torch.no_grad()
def test_shares_of_a_logit_and_the_lens(theirs_and_ours) -> None:
    hooked, model = theirs_and_ours
    _, cache = hooked.run_with_cache(CLEAN)
    heads = cache.stack_head_results(layer=-1, pos_slice=-1)[:8]
    shares = cache.apply_ln_to_stack(heads, layer=-1, pos_slice=-1)
    # Theirs leaves the weight of the last norm out.
    direction = hooked.ln_final.w * (hooked.W_U[:, ANSWER] - hooked.W_U[:, OTHER])
    found = attribution.direct_logit_attribution(model, CLEAN, token=ANSWER, against=OTHER)
    np.testing.assert_allclose(found.heads.ravel(), (shares @ direction).ravel(), atol=1e-5)

    lens = attribution.logit_lens(model, CLEAN, k=13)
    rows = [cache["resid_pre", 0], cache["resid_pre", 1], cache["resid_post", 1]]
    expected = torch.stack([hooked.unembed(hooked.ln_final(row))[0].softmax(-1) for row in rows])
    ours = np.zeros_like(expected)
    np.put_along_axis(ours, lens.top_tokens.astype(int), lens.top_probabilities, axis=-1)
    np.testing.assert_allclose(ours, expected, atol=1e-6)


@pytest.mark.parametrize("what", ["positions", "heads"])
def test_patching(theirs_and_ours, what) -> None:
    import transformer_lens.patching as theirs

    hooked, model = theirs_and_ours
    _, cache = hooked.run_with_cache(CLEAN)
    every = {
        "positions": theirs.get_act_patch_resid_pre,
        "heads": theirs.get_act_patch_attn_head_out_all_pos,
    }
    with torch.no_grad():
        expected = every[what](
            hooked, CORRUPTED, cache, lambda logits: logits[0, -1, ANSWER] - logits[0, -1, OTHER]
        )
    found = attribution.patching(model, CLEAN, CORRUPTED, (ANSWER, OTHER), what)
    np.testing.assert_allclose(found.values, expected, atol=5e-5)


def test_weighted_attention(theirs_and_ours) -> None:
    hooked, model = theirs_and_ours
    _, cache = hooked.run_with_cache(CLEAN)
    for layer in range(2):
        moved = torch.einsum("khd,hdm->hkm", cache["v", layer][0], hooked.W_O[layer]).norm(dim=-1)
        weighted = cache["pattern", layer][0] * moved[:, None]  # [head, query, key]
        expected = (weighted / weighted.sum(-1, keepdim=True)).detach()
        found = attribution.value_weighted(model, CLEAN).decoder_attention[layer]
        np.testing.assert_allclose(found, expected, atol=1e-6)

    patterns = {}

    def keep(pattern, hook):
        pattern.retain_grad()
        patterns[hook.layer()] = pattern

    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
    logits = hooked.run_with_hooks(CLEAN, fwd_hooks=[(name, keep) for name in names])
    (logits[0, -1, ANSWER] - logits[0, -1, OTHER]).backward()
    gained = torch.stack([(patterns[i] * patterns[i].grad).clamp(min=0)[0] for i in range(2)]).detach()
    expected = gained / gained.sum(-1).max()
    found = attribution.gradient_weighted(model, CLEAN, token=ANSWER, against=OTHER, scale="trace")
    np.testing.assert_allclose(found.decoder_attention, expected, atol=1e-5)
