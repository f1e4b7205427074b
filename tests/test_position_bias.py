"""Relative position biases apart from the scores of content, held to the models' own numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import hf
from tests.support.refusals import assert_refused

SIZES = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
BUCKETS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
SOURCE, TARGET = torch.arange(9)[None] + 3, torch.arange(6)[None] + 5
LABELS = {"source_tokens": list("abcdefghi"), "target_tokens": list("uvwxyz")}

pytestmark = pytest.mark.usefixtures("no_window")


def made(family: str) -> nn.Module:
    torch.manual_seed(0)
    config = getattr(hf, f"{family}Config")(**SIZES, **BUCKETS, decoder_start_token_id=0)
    model = getattr(hf, f"{family}ForConditionalGeneration")(config).eval()
    for name, parameter in model.named_parameters():
        if "relative_attention_bias" in name:
            nn.init.normal_(parameter, std=1.5)
    return model


def captured(model: nn.Module, **more) -> vt.ForwardTrace:
    return vt.capture(model, input_ids=SOURCE, decoder_input_ids=TARGET, **LABELS, **more)


def own_bias(attention: nn.Module, n: int) -> np.ndarray:
    """The bias [head, query, key] as the model's own `compute_bias` makes it."""
    with torch.no_grad():
        return attention.compute_bias(n, n)[0].numpy()


@pytest.mark.parametrize("family", ["T5", "UMT5"])
def test_the_trace_has_the_models_own_bias(family) -> None:
    model = made(family)
    trace = captured(model)
    n_tables = 1 if family == "T5" else 2  # UMT5 has one in every layer
    for kind, stack, n in (("encoder", model.encoder, 9), ("decoder", model.decoder, 6)):
        tables = [block.layer[0].SelfAttention for block in stack.block[:n_tables]]
        np.testing.assert_array_equal(trace.position_bias(kind), [own_bias(each, n) for each in tables])
    assert trace.position_bias("cross") is None
    part = captured(model, layers=[1], heads=[0, 3])
    np.testing.assert_array_equal(part.position_bias("decoder"), trace.position_bias("decoder")[-1:, [0, 3]])


def test_attention_without_the_bias_is_the_softmax_of_the_content_scores() -> None:
    model = made("T5")
    attention, seen = model.encoder.block[0].layer[0].SelfAttention, []
    attention.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    apart = vt.analysis.without_position_bias(captured(model))
    with torch.no_grad():
        parts = (part(seen[0])[0].unflatten(-1, (4, 4)) for part in (attention.q, attention.k))
        query, key = (part.transpose(0, 1) for part in parts)  # [head, position, d_head]
        expected = (query @ key.mT).softmax(-1)
    np.testing.assert_allclose(apart.encoder_attention[0], expected.numpy(), atol=1e-6)
    assert apart.position_bias("encoder") is None
    assert not np.triu(apart.decoder_attention, k=1).any()
    np.testing.assert_allclose(apart.decoder_attention.sum(-1), 1, atol=1e-6)


def test_mpnet_and_padding() -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = hf.MPNetModel(hf.MPNetConfig(vocab_size=40, **sizes)).eval()
    mask = torch.tensor([[0, 0, 1, 1, 1, 1, 1]])
    trace = vt.capture(model, input_ids=SOURCE[:, :7], attention_mask=mask, tokens=list("abcde"))
    with torch.no_grad():
        own = model.encoder.compute_position_bias(torch.zeros(1, 7, 16))
    np.testing.assert_array_equal(trace.position_bias("encoder"), own[:, :, 2:, 2:].numpy())


def test_the_bias_is_saved_and_drawn_by_distance(tmp_path) -> None:
    trace = captured(made("T5"))
    again = vt.ForwardTrace.load(trace.save(tmp_path / "trace.npz"))
    np.testing.assert_array_equal(again.encoder_position_bias, trace.encoder_position_bias)
    ax = vt.plots.plot_position_bias(again, "decoder", layer=1)
    drawn = ax.images[0].get_array()
    np.testing.assert_array_equal(drawn, trace.position_bias("decoder")[0, :, -1])  # the last query, all keys
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(drawn).max()
    assert "4 heads of the decoder" in ax.figure.alt_text
    assert "in every layer" in ax.get_title(loc="left")
    of_layers = vt.plots.plot_position_bias(captured(made("UMT5")), "encoder", 1)
    assert "in layer 1" in of_layers.get_title(loc="left")


def trace_with(bias: np.ndarray) -> vt.ForwardTrace:
    even = np.full((2, 1, 3, 3), 1 / 3, dtype=np.float32)
    return vt.ForwardTrace(source_tokens=tuple("abc"), encoder_attention=even, encoder_position_bias=bias)


def test_biases_that_do_not_fit_are_refused() -> None:
    bare = vt.ForwardTrace(source_tokens=tuple("abc"), encoder_attention=np.full((1, 1, 3, 3), 1 / 3))
    even, uneven = trace_with(np.zeros((1, 1, 3, 3))), trace_with(np.arange(9.0).reshape(1, 1, 3, 3) ** 2)
    draw = vt.plots.plot_position_bias
    assert_refused(
        [
            (lambda: trace_with(np.zeros((3, 1, 3, 3))), "position_bias has 3 layers, and the attention 2"),
            (lambda: trace_with(np.zeros((1, 2, 3, 3))), r"need \[layer or 1, head=1, source=3, source=3\]"),
            (lambda: vt.analysis.bias_by_distance(even, "encoder", 5), "layer=5, but the trace has 2"),
            (lambda: draw(uneven, "encoder"), "it is no matter of distances in a row.*grid="),
            (lambda: draw(even, "decoder"), r"no decoder position bias; it has \['encoder'\]"),
            (lambda: vt.analysis.without_position_bias(bare), "no encoder .*adds none that stands apart"),
        ]
    )
