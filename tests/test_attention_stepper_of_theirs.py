"""The attention stepper of Hugging Face's models: what it computes again is what they computed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.huggingface_models import frozen, same, state
from tests.support.refusals import assert_refused
from viz_transformer.interpreting import find_sites
from viz_transformer.trace import compute_head

TEXT = "when Mary went to the store John gave"
#: By architecture: the kinds of attention, whether positions turn, and how many heads share keys and values.
MODELS = {
    "Llama": ({"decoder"}, True, 2),
    "GPT-2": ({"decoder"}, False, 1),
    "GPT-NeoX": ({"decoder"}, True, 1),
    "BERT": ({"encoder"}, False, 1),
    "ModernBERT": ({"encoder"}, True, 1),
    "Marian": ({"encoder", "decoder", "cross"}, False, 1),
}


def sharp(name: str) -> tuple[Any, Any]:
    """A model whose weights are far from even, as those of a trained one, and a tokenizer."""
    model, _ = built(name)
    with torch.no_grad():
        for site in find_sites(model):
            for part in site.attention.parameters():
                part.copy_(3 * torch.randn_like(part) / part.shape[-1] ** 0.5)
    return model, word_tokenizer(ends=name == "Marian")


@pytest.mark.parametrize("name", MODELS)
def test_weights_and_results_are_the_model_s(name: str) -> None:
    model, tokenizer = sharp(name)
    before = frozen(model)
    kinds, is_turned, n_shared = MODELS[name]
    view = vt.attention_stepper(model, TEXT, tokenizer=tokenizer)
    assert {kind for kind, _ in view.places} == kinds
    seen: dict[str, torch.Tensor] = {}
    sites = [site for site in find_sites(model) if site.kind == view.kind]
    kept = sites[view.layer].projection.register_forward_hook(lambda *call: seen.update(result=call[2]))
    steps = vt.attention_steps(model, TEXT, kind=view.kind, layer=view.layer, tokenizer=tokenizer)
    kept.remove()
    assert (steps.cos is not None, steps.n_heads // len(steps.w_k)) == (is_turned, n_shared)
    assert steps.normed == (name not in ("BERT", "Marian")), "the others have their norm before attention"
    if name != "Marian":
        trace = vt.capture(model, TEXT, tokenizer=tokenizer)
        captured = trace.attention(view.kind)
        assert captured is not None
        assert captured[view.layer].max(-1)[:, 2:].mean() > 0.4, "the weights tell something"
        for head in range(steps.n_heads):
            for query in range(len(steps.query_tokens)):
                weights = compute_head(steps, head, query).weights
                np.testing.assert_allclose(weights, captured[view.layer, head, query], atol=1e-5)
    for query in range(len(steps.query_tokens)):
        found = compute_head(steps, 0, query).result
        np.testing.assert_allclose(found, seen["result"][0, query], atol=1e-4)
    assert same(before, state(model))
    view.text, view.layer = "the cat sleeps", 0
    assert view.steps.key_tokens[:3] == ("the", "cat", "sleeps") or view.kind == "cross"


def test_a_query_is_named_as_people_write_it() -> None:
    words = byte_tokenizer("when Mary gave John the cat the")
    model, text = gpt2(len(words)), "John gave Mary the cat the"
    for query, place in (("ĠMary", -4), ("Mary", -4), (" Mary", -4), ("·Mary", -4), ("cat", -2)):
        view = vt.attention_stepper(model, text, tokenizer=words, query=query)
        assert view.query == len(view.steps.query_tokens) + place, query
    stepper = partial(vt.attention_stepper, model, text, tokenizer=words)
    assert_refused(
        [
            (lambda: stepper(query="Marx"), "'Marx' is not in 'Jo hn ·gave ·Mary ·the ·cat ·the'"),
            (lambda: stepper(query="the"), "'the' is at positions .4, 6."),
        ]
    )


def test_what_cannot_be_computed_is_refused_in_one_line() -> None:
    words = word_tokenizer(ends=False)
    llama, bloom = sharp("Llama")[0], sharp("Bloom")[0]
    steps = vt.attention_steps
    assert_refused(
        [
            (lambda: steps(llama, TEXT), "tokenizer=None makes none"),
            (lambda: steps(bloom, TEXT, tokenizer=words), "such as a bias by distance"),
            (lambda: steps(built("Llama")[0].half(), TEXT, tokenizer=words), "fewer bits"),
            (lambda: steps(llama, TEXT, layer=7, tokenizer=words), "has 3 layers of decoder attention"),
            (lambda: steps(llama, TEXT, kind="cross", tokenizer=words), "has 0 layers of cross"),
            (lambda: steps(sharp("GPT-2")[0], "cat " * 99, tokenizer=words), "reads at most"),
            (lambda: steps(built("ViT")[0], TEXT, tokenizer=words), "ViTModel reads no text"),
            (lambda: vt.attention_stepper(torch.nn.Linear(2, 2), TEXT), "a Linear is no translator"),
        ]
    )
