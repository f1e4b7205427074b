"""`layers=`, `heads=` and `dtype=` of `vt.capture`: what is kept, and when the rest is dropped."""

from __future__ import annotations

import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.causal_models import jamba
from tests.support.huggingface_models import llama, tiny, word_piece
from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer

IDS, NAMES = torch.tensor([[4, 5, 6, 7]]), ["a", "b", "c", "d"]
ONE_SIDE = {"input_ids": IDS, "tokens": NAMES}
TWO_SIDES = {
    "input_ids": IDS,
    "decoder_input_ids": IDS[:, :3],
    "source_tokens": NAMES,
    "target_tokens": NAMES[:3],
}


def own() -> nn.Module:
    return Transformer(
        ModelConfig(vocab_size=11, d_model=16, n_heads=4, n_encoder_layers=3, n_decoder_layers=3)
    )


class Fused(nn.Module):
    """Somebody's own layers, each of which calls torch's fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)

    def forward(self, ids):
        x = self.words(ids).unflatten(-1, (4, 2)).transpose(1, 2)  # [batch, head, position, 2]
        for _ in range(3):
            x = x + nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        return x


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (llama, ONE_SIDE),
        (lambda: tiny("AlbertModel", num_hidden_layers=3), ONE_SIDE),  # one layer, run three times
        (Fused, ONE_SIDE),
        (lambda: tiny("T5ForConditionalGeneration", num_layers=3, num_decoder_layers=3), TWO_SIDES),
        (own, TWO_SIDES),
    ],
)
def test_chosen_layers_and_heads_are_those_of_the_whole(make, given) -> None:
    model = make()
    whole = vt.capture(model, **given)
    assert whole.head_numbers == (0, 1, 2, 3)
    assert (whole.encoder_layers, whole.decoder_layers, whole.heads) == (None, None, None)
    part = vt.capture(model, **given, layers=[2, 1], heads=range(3, 0, -2), dtype="float16")
    assert part.kinds == whole.kinds
    assert part.head_numbers == (1, 3)
    for kind in whole.kinds:
        assert (whole.layer_numbers(kind), part.layer_numbers(kind)) == ((0, 1, 2), (1, 2))
        assert (whole.attention(kind).dtype, part.attention(kind).dtype) == (np.float32, np.float16)
        expected = whole.attention(kind)[1:][:, [1, 3]]
        np.testing.assert_allclose(part.attention(kind), expected, atol=5e-4)


def test_layers_keep_the_numbers_that_they_have_in_the_model() -> None:
    model = jamba()
    trace = vt.capture(model, **ONE_SIDE)
    assert trace.layer_numbers("decoder") == trace.decoder_layers == (1, 3)
    last = vt.capture(model, **ONE_SIDE, layers=[3])
    np.testing.assert_array_equal(last.decoder_attention, trace.decoder_attention[1:])
    with pytest.raises(UserError, match=r"layers=\[0\], but the layers that attend are \[1, 3\]; choose"):
        vt.capture(model, **ONE_SIDE, layers=[0])


def test_a_part_is_kept_while_the_model_writes() -> None:
    model, given = llama(), {"tokenizer": word_piece(False), "generate": True, "max_new_tokens": 3}
    whole = vt.capture(model, "the cat", **given)
    part = vt.capture(model, "the cat", **given, layers=[1], heads=[2])
    assert part.layer_numbers("decoder") == (1,)
    np.testing.assert_array_equal(part.decoder_attention, whole.decoder_attention[1:2, 2:3])


@pytest.mark.parametrize("make", [llama, Fused])
def test_a_selection_that_does_not_exist_is_refused(make) -> None:
    model = make()
    cases = [
        ({"layers": [7]}, r"layers=\[7\], but the layers that attend are \[0, 1, 2\]"),
        ({"heads": [4]}, r"heads=\[4\], but layer 0 has 4 heads; choose from 0 to 3"),
        ({"layers": 1}, r"layers=1 does not choose layers; give a list .*layers=\[0, 1\]"),
        ({"layers": []}, r"layers=\[\] does not choose"),
        ({"layers": [-1]}, r"layers=\[-1\] does not choose"),
        ({"layers": [True]}, r"layers=\[True\] does not choose"),
        ({"heads": "01"}, "heads='01' does not choose heads"),
        ({"heads": [0.5]}, r"heads=\[0.5\] does not choose heads"),
        ({"dtype": "bfloat16"}, "dtype='bfloat16' is not one .* 'float32' or 'float16'"),
    ]
    assert_refused(
        (lambda chosen=chosen: vt.capture(model, **ONE_SIDE, **chosen), said) for chosen, said in cases
    )


def test_arrays_are_chosen_from_and_stay_whole() -> None:
    layers = [torch.rand(4, 3, 3).softmax(-1) for _ in range(3)]
    trace = vt.capture(layers, source_tokens=NAMES[:3], layers=[2], heads=[1])
    np.testing.assert_array_equal(trace.encoder_attention[0, 0], layers[2][1])
    assert all(isinstance(layer, torch.Tensor) for layer in layers)


def test_a_layers_weights_are_freed_before_the_next_layer_runs(monkeypatch) -> None:
    made: list[weakref.ref] = []
    alive: list[int] = []
    softmax = nn.functional.softmax

    def watched(*args, **kwargs):
        weights = softmax(*args, **kwargs)
        made.append(weakref.ref(weights))
        alive.append(sum(each() is not None for each in made))
        return weights

    monkeypatch.setattr(nn.functional, "softmax", watched)
    model = tiny("LlamaForCausalLM", num_hidden_layers=8)
    for chosen in ({}, {"layers": [7]}, {"heads": [0]}, {"dtype": "float16"}):
        made.clear()
        alive.clear()
        vt.capture(model, **ONE_SIDE, **chosen)
        assert len(alive) == 8
        assert max(alive) <= 2, chosen


def test_a_part_comes_back_from_disk(tmp_path: Path) -> None:
    for dtype in (np.float16, torch.float16, "float16"):
        trace = vt.capture(llama(), **ONE_SIDE, layers=[1], heads=[0, 2], dtype=dtype)
        assert trace.decoder_attention.dtype == np.float16
    again = vt.ForwardTrace.load(trace.save(tmp_path / "x.npz"))
    assert again.decoder_attention.dtype == np.float16
    assert (again.layer_numbers("decoder"), again.head_numbers) == ((1,), (0, 2))
    np.testing.assert_array_equal(again.decoder_attention, trace.decoder_attention)


def test_views_figures_and_numbers_take_half_precision() -> None:
    whole = vt.capture(llama(), **ONE_SIDE)
    weights = whole.decoder_attention.astype(np.float16)
    half = vt.ForwardTrace(target_tokens=whole.target_tokens, decoder_attention=weights)
    assert half.decoder_attention.dtype == np.float16
    expected = vt.analysis.rollout(whole, "decoder")
    np.testing.assert_allclose(vt.analysis.rollout(half, "decoder"), expected, atol=1e-3)
    drawn = vt.plots.plot_aggregate(half, kind="decoder", how="mean").images[0].get_array()
    np.testing.assert_allclose(drawn, whole.decoder_attention[-1].mean(0), atol=1e-3)
    view = vt.explore(half, compare=whole)
    assert np.abs(view.figure().axes[0].images[0].get_array()).max() < 1e-3


def test_figures_and_summaries_keep_the_model_s_layer_numbers() -> None:
    """Row 1 of this trace is the model's layer 3."""
    trace = vt.capture(jamba(), input_ids=IDS, target_tokens=NAMES, heads=[1, 2])
    assert repr(trace).startswith("ForwardTrace: decoder-only, 2 layers (1, 3) of 2 heads (1, 2)")
    assert vt.plots.plot_head(trace, "decoder", 1, 0).get_title("left").endswith("layer 3 · head 1")
    assert "layer 3, head 2:" in vt.explore(trace, layer=1, head=1).alt_text()
    grid = vt.plots.plot_heads(trace, "decoder")
    named = [label.get_text() for axis in grid.axes[0].child_axes for label in axis.get_yticklabels()]
    assert {"layer 1", "layer 3"} <= set(named)
    mean = vt.plots.plot_aggregate(trace, "decoder", [(0, 0), (0, 1)], how="mean")
    assert "mean of all 2 heads of layer 1" in mean.get_title("left")
