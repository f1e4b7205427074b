"""Attention weighted by values and by gradients, held to numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.causal_models import CLEAN, PRE_NORM, gpt2, gpt_oss, llama, ours, tokenizer
from tests.support.huggingface_models import BERT_SIZES, hf
from tests.support.small_models import small_model
from viz_transformer.analysis import rollout
from viz_transformer.attribution import gradient_weighted, value_weighted
from viz_transformer.errors import UserError

IDS = [1, 2, 3, 4, 5, 6, 4, 7]


def bert():
    torch.manual_seed(0)
    model = hf.BertModel(hf.BertConfig(vocab_size=13, max_position_embeddings=16, **BERT_SIZES))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()


class Torchs(torch.nn.Module):
    """A model that multiplies weights with values inside a function of torch's own."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(13, 8)
        self.encoder = torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(8, 2, batch_first=True), 1
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.encoder(self.words(ids))


def shares(weights: torch.Tensor) -> np.ndarray:
    return (weights / weights.sum(-1, keepdim=True)).detach().numpy()


def norms(values: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """‖f(x)‖ [head, key] of values [key, head · d_head] and the matrix [d_model, head · d_head]."""
    heads = values.unflatten(-1, (4, 4)).transpose(0, 1)  # [head, key, d_head]
    matrices = matrix.unflatten(-1, (4, 4)).permute(1, 2, 0)  # [head, d_head, d_model]
    return (heads @ matrices).norm(dim=-1)


def test_the_weights_of_bert_count_the_length_of_what_they_carry() -> None:
    model = bert()
    read: list[torch.Tensor] = []
    for layer in model.encoder.layer:
        layer.attention.self.value.register_forward_hook(lambda *given: read.append(given[-1][0]))
    trace = value_weighted(model, IDS)
    plain = vt.capture(model, input_ids=IDS, source_tokens=list(map(str, IDS)))
    for index, layer in enumerate(model.encoder.layer):
        lengths = norms(read[index], layer.attention.output.dense.weight)  # [head, key]
        expected = shares(torch.tensor(plain.encoder_attention[index]) * lengths[:, None])
        np.testing.assert_allclose(trace.encoder_attention[index], expected, atol=1e-6)
    assert trace.source_tokens == tuple(map(str, IDS))


def test_so_do_those_of_a_model_of_ours() -> None:
    model = ours()
    layer = model.decoder.layers[0]
    read: list[torch.Tensor] = []
    hook = layer.self_attention.w_v.register_forward_hook(lambda *given: read.append(given[-1][0]))
    plain = vt.capture(model, input_ids=IDS, tokens=list(map(str, IDS)))
    hook.remove()
    lengths = norms(read[0], layer.self_attention.w_o.weight)
    expected = shares(torch.tensor(plain.decoder_attention[0]) * lengths[:, None])
    np.testing.assert_allclose(value_weighted(model, IDS).decoder_attention[0], expected, atol=1e-6)


@pytest.mark.parametrize("make", PRE_NORM)
def test_every_model_s_rows_are_shares(make) -> None:
    model = make()
    by_values = value_weighted(model, IDS).decoder_attention
    np.testing.assert_allclose(by_values.sum(-1), 1, atol=1e-6)
    by_gradient = gradient_weighted(model, IDS).decoder_attention
    sums = by_gradient.sum(-1)
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-6)
    assert (by_gradient >= 0).all()
    assert not np.triu(by_values, 1).any()


def test_gradients_are_those_of_the_logit() -> None:
    model = gpt2()
    model.set_attn_implementation("eager")
    output = model(torch.tensor([IDS]), output_attentions=True)
    slopes = torch.autograd.grad(output.logits[0, -1, 9] - output.logits[0, -1, 3], output.attentions)
    by_hand = torch.cat(
        [(a * slope).clamp(min=0) for a, slope in zip(output.attentions, slopes, strict=True)]
    )
    found = gradient_weighted(model, IDS, token=9, against=3, scale="trace").decoder_attention
    expected = by_hand / by_hand.sum(-1).max()
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-6)
    assert found.sum(-1).max() == pytest.approx(1, abs=1e-6)
    # Of the last layer, only the query that writes the token has an effect on it.
    assert not found[-1, :, :-1].any()


def test_a_weight_of_ours_has_the_effect_that_its_gradient_tells() -> None:
    """The gradient against the difference that a slightly larger weight makes."""
    model, step = ours(), 1e-3
    found = gradient_weighted(model, IDS, token=9, scale="trace").decoder_attention[1, :, -1]  # [head, key]

    def logit(head: int, key: int) -> float:
        from viz_transformer.model.attention import attend

        def more(*args):
            output, weights = attend(*args)
            output = output.clone()
            output[0, head, -1] += step * args[2][0, head, key]
            return output, weights

        ids = torch.tensor([IDS])
        x, mask = model.embed_target(ids), model.target_mask(ids)
        x, _ = model.decoder.layers[0](x, mask)
        x, _ = model.decoder.layers[1](x, mask, more)
        return model.logits(model.decoder.norm(x))[0, -1, 9].item()

    plain = vt.capture(model, input_ids=IDS, tokens=list(map(str, IDS))).decoder_attention[1, :, -1]
    with torch.no_grad():
        base = model(torch.tensor([IDS]))[0, -1, 9].item()
        effects = np.array([[logit(head, key) - base for key in range(8)] for head in range(4)]) / step
    expected = np.maximum(0, plain * effects)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=5e-3)


def test_a_part_that_goes_to_a_sink_is_left_out() -> None:
    model = gpt_oss()
    plain = vt.capture(model, input_ids=IDS, tokens=list(map(str, IDS)))
    assert plain.sinks == ("decoder",)
    weighted = value_weighted(model, IDS)
    assert weighted.sinks == ("decoder",)
    np.testing.assert_allclose(weighted.decoder_attention.sum(-1), 1, atol=1e-6)
    assert ((weighted.decoder_attention > 0) == (plain.decoder_attention > 0)).all()
    assert gradient_weighted(model, IDS).decoder_attention.any()


def test_frozen_parameters_do_not_matter() -> None:
    model = gpt2()
    expected = gradient_weighted(model, IDS).decoder_attention
    model.requires_grad_(False)
    np.testing.assert_allclose(gradient_weighted(model, IDS).decoder_attention, expected, atol=1e-6)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_traces_serve_views_and_analyses() -> None:
    trace = value_weighted(llama(), CLEAN, tokenizer=tokenizer())
    assert trace.target_tokens == tuple(CLEAN.split())
    assert trace.target_words == tuple(range(8))
    view = vt.explore(trace, layer=1, head=3)
    assert view.figure().axes[0].images[0].get_array().shape == (8, 8)
    np.testing.assert_allclose(rollout(trace, "decoder")[-1].sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (lambda: value_weighted(small_model(), IDS), "Transformer reads a text of its own; give target="),
        (lambda: value_weighted(gpt2(), IDS, scale="layer"), "choose 'row'"),
        (lambda: gradient_weighted(bert(), IDS), "load it with its head"),
        (lambda: gradient_weighted(gpt2(), IDS, position=9), "choose 0 to 7"),
        (lambda: gradient_weighted(ours(scoring="additive"), IDS, token=99), "give an id below 13"),
        (lambda: value_weighted(Torchs(), IDS), "give a model of Hugging Face's with eager attention"),
    ],
)
def test_what_cannot_be_weighted_is_refused_in_one_line(attribute, message) -> None:
    with pytest.raises(UserError, match=message) as refused:
        attribute()
    assert "\n" not in str(refused.value)
