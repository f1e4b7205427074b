"""Our own models and torch's modules: the weights that they compute, and nothing left behind in them."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import frozen, same, stacked, state
from tests.support.small_models import traced
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.interventions import Interventions

SIZES = {"vocab_size": 11, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 9}
LAYERS = {"n_encoder_layers": 2, "n_decoder_layers": 3}
IDS = torch.tensor([[4, 5, 6, 7]])
NAMES = ("a", "b", "c", "d", "e", "f")


def labels(source: int, target: int) -> dict:
    return {"source_tokens": NAMES[:source], "target_tokens": NAMES[:target]}


@pytest.mark.parametrize("scoring", ["scaled_dot", "additive"])  # the second is no fused attention
def test_our_transformer(scoring) -> None:
    plain = Transformer(ModelConfig(**SIZES, **LAYERS, scoring=scoring, dropout=0.5))
    with torch.no_grad():
        output = traced(plain).eval()(IDS, IDS[:, :3])
    for model in (plain, traced(plain)):
        before = frozen(model)
        trace = vt.capture(model, input_ids=IDS, decoder_input_ids=IDS[:, :3], **labels(4, 3))
        assert same(before, state(model))
        for kind in ("encoder", "decoder", "cross"):
            np.testing.assert_array_equal(
                trace.attention(kind), stacked(getattr(output, f"{kind}_attention"))
            )
        np.testing.assert_array_equal(trace.source_positions, output.source_positions)
        np.testing.assert_array_equal(trace.target_positions, output.target_positions)


@pytest.mark.parametrize(("kind", "family"), [("encoder", EncoderOnly), ("decoder", DecoderOnly)])
def test_our_families(kind, family) -> None:
    model = family(ModelConfig.preset("tiny"))
    for n_tokens in (1, 4):
        trace = vt.capture(model, input_ids=IDS[:, :n_tokens], tokens=NAMES[:n_tokens])
        assert trace.kinds == (kind,)
        with torch.no_grad():
            output = traced(model).eval()(IDS[:, :n_tokens])
        np.testing.assert_array_equal(trace.attention(kind), stacked(getattr(output, f"{kind}_attention")))


def test_our_transformer_takes_its_inputs_by_name_and_interventions() -> None:
    model = Transformer(ModelConfig(**SIZES, **LAYERS))
    given = {"source_ids": IDS, "target_ids": IDS[:, :3], **labels(4, 3)}
    plain = vt.capture(model, **given)
    changed = vt.capture(model, **given, interventions=Interventions(causal_mask=False))
    assert not np.triu(plain.decoder_attention, k=1).any()
    assert np.triu(changed.decoder_attention, k=1).any()
    with pytest.raises(UserError, match=r"decoder_input_ids=.*translator\.trace"):
        vt.capture(model, input_ids=IDS, tokens=NAMES[:4])


def weights_seen(monkeypatch, model, *inputs, **named) -> list[torch.Tensor]:
    """What torch's own function says when every call is made to show every head."""
    seen = []
    original = F.multi_head_attention_forward

    def shown(*args, **kwargs):
        output, weights = original(*args, **{**kwargs, "need_weights": True, "average_attn_weights": False})
        seen.append(weights)
        return output, weights

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with monkeypatch.context() as patched, torch.no_grad():
            patched.setattr(F, "multi_head_attention_forward", shown)
            model.eval()(*inputs, **named)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    return seen


@pytest.mark.parametrize("batch_first", [True, False])
def test_one_attention_module(monkeypatch, batch_first) -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=batch_first, dropout=0.5)
    x = torch.randn(1, 4, 8) if batch_first else torch.randn(4, 1, 8)
    for average in (True, False):
        model.train()
        before = frozen(model)
        trace = vt.capture(model, x, x, x, tokens=NAMES[:4], average_attn_weights=average)
        assert same(before, state(model))
        expected = stacked(weights_seen(monkeypatch, model, x, x, x))
        np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-6)


def encoder_stack() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 3)


@pytest.mark.parametrize("training", [True, False])
def test_the_weights_of_an_encoder_are_seen_in_spite_of_its_fast_path(monkeypatch, training) -> None:
    model = encoder_stack().train(training)
    for parameter in model.parameters():
        parameter.requires_grad_(training)  # without gradients torch takes the fused path
    x = torch.randn(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    before = frozen(model)
    trace = vt.capture(model, x, src_key_padding_mask=padding, source_tokens=NAMES[:5], batch_index=1)
    assert same(before, state(model))
    expected = weights_seen(monkeypatch, model, x, src_key_padding_mask=padding)
    expected = np.stack([weights[1].numpy() for weights in expected])
    np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-5)
    assert not trace.encoder_attention[..., 3:].any()


def test_capturing_does_not_change_the_output() -> None:
    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack = encoder_stack()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.log: list = []
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            x = self.stack(x)
            outputs.append(x)
            outputs.append(self.attention(x, x, x, need_weights=False))
            outputs.append(self.attention(x, x, x))
            self.log.append(x)
            self.calls += 1
            self.last = x
            return x

    outputs: list = []
    model, x = Kept().eval(), torch.randn(1, 4, 8)
    before = frozen(model)
    vt.capture(model, x, tokens=NAMES[:4])
    assert same(before, state(model))
    watched, outputs = outputs, []
    with torch.no_grad():
        model(x)
    torch.testing.assert_close(watched, outputs)
    assert (len(model.log), model.calls) == (1, 1), "what a watched forward left was put back"


@pytest.mark.parametrize("target", [3, 4, 5])
def test_an_nn_transformer(monkeypatch, target) -> None:
    model = nn.Transformer(8, 2, 2, 3, 16, batch_first=True)
    source, x = torch.randn(1, 4, 8), torch.randn(1, target, 8)
    for mask in (None, nn.Transformer.generate_square_subsequent_mask(target)):
        trace = vt.capture(model, source, x, tgt_mask=mask, **labels(4, target))
        seen = weights_seen(monkeypatch, model, source, x, tgt_mask=mask)
        for kind, of_kind in (("encoder", seen[:2]), ("decoder", seen[2::2]), ("cross", seen[3::2])):
            np.testing.assert_allclose(trace.attention(kind), stacked(of_kind), atol=1e-5)
        with pytest.raises(UserError, match="source_tokens"):
            vt.capture(model, source, x, tgt_mask=mask, tokens=NAMES[:4])


def test_a_row_that_may_attend_to_nothing_is_zero_and_nan_in_the_input_is_refused() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x, mask = torch.randn(1, 3, 8), torch.zeros(3, 3, dtype=torch.bool)
    mask[1] = True
    weights = vt.capture(model, x, x, x, attn_mask=mask, tokens=NAMES[:3]).encoder_attention
    assert not weights[:, :, 1].any()
    np.testing.assert_allclose(weights[:, :, [0, 2]].sum(-1), 1, atol=1e-6)
    x = torch.full((1, 3, 8), math.nan)
    with pytest.raises(UserError, match="NaN"):
        vt.capture(model, x, x, x, tokens=NAMES[:3])


def test_a_module_that_raises_is_restored() -> None:
    model = nn.Sequential(encoder_stack(), nn.Linear(3, 3)).train()
    model[0].layers[1].eval()
    before = frozen(model)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        vt.capture(model, torch.randn(1, 4, 8), tokens=NAMES[:4])
    assert same(before, state(model))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_a_scripted_module_is_refused_and_stays_as_it_was() -> None:
    class Plain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    model = torch.jit.script(Plain())
    with pytest.raises(UserError, match="no attention that can be seen"):
        vt.capture(model, torch.randn(1, 3, 4), tokens=NAMES[:3])
    assert model.training


def test_vt_capture_is_the_function_however_it_is_imported_and_needs_no_transformers() -> None:
    code = """
import inspect, sys
import torch
for imports in (
    "import viz_transformer as vt",
    "import viz_transformer as vt, viz_transformer.capturing",
    "import viz_transformer.capturing.attention_calls, viz_transformer as vt",
    "import viz_transformer as vt; vt.capture; import viz_transformer.capturing",
    "import viz_transformer as vt; from viz_transformer.capturing import capture as c",
):
    for name in [each for each in sys.modules if each.startswith("viz_transformer")]:
        del sys.modules[name]
    exec(imports)
    assert inspect.isfunction(vt.capture), imports
vt.capture([torch.eye(2)], tokens=["a", "b"])
assert "transformers" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
