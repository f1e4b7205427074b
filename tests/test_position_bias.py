"""Position biases apart from the scores of content, held to the models' own numbers and scores."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.huggingface_models import hf
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError

IDS = torch.arange(9)[None] + 3
NAMES = list("abcdefghi")
SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
PATCHED = SMALL | {"image_size": 32, "patch_size": 8, "num_channels": 3}
PIXELS = torch.linspace(-1, 1, 3 * 32 * 32).sin().view(1, 3, 32, 32)

pytestmark = pytest.mark.usefixtures("no_window")


def made(model: str, **sizes: Any) -> nn.Module:
    """A small model with weights large enough that content and bias both count."""
    torch.manual_seed(0)
    family = model.removesuffix("Model").removesuffix("Encoder")
    made = getattr(hf, model)(getattr(hf, f"{family}Config")(**sizes)).eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.4)
    return made


def alibi(family: str) -> nn.Module:
    sizes = {
        "Bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 4},
        "Falcon": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True},
        "Mpt": {"d_model": 16, "n_layers": 2, "n_heads": 4, "max_seq_len": 32},
    }
    return made(f"{family}Model", vocab_size=40, bos_token_id=0, eos_token_id=1, **sizes[family])


#: Queries and keys, each [head, position, d_head], of what a family projects [position, feature]; Falcon has
#: one key head for all.
SPLITS = {
    "Bloom": lambda x: x.unflatten(-1, (4, 3, 4)).permute(2, 1, 0, 3)[:2],
    "Falcon": lambda x: (x.unflatten(-1, (6, 4))[:, :4].transpose(0, 1), x[:, 16:20].expand(4, -1, -1)),
    "Mpt": lambda x: x.unflatten(-1, (3, 4, 4)).permute(1, 2, 0, 3)[:2],
}


def by_content(trace: vt.ForwardTrace) -> np.ndarray:
    return vt.analysis.without_position_bias(trace).attention(trace.kinds[0])


def softmax_of(query: Tensor, key: Tensor, masked: Tensor | None = None) -> np.ndarray:
    """Softmax of scaled dot products; query and key are [head, position, d_head]."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return (scores if masked is None else scores.masked_fill(masked, -torch.inf)).softmax(-1).numpy()


@pytest.mark.parametrize("family", ["Bloom", "Falcon", "Mpt"])
def test_alibi_is_a_slope_times_the_distance(family) -> None:
    model, seen = alibi(family), []
    next(
        m for n, m in model.named_modules() if n.endswith(("query_key_value", "Wqkv"))
    ).register_forward_hook(lambda *call: seen.append(call[2][0]))
    trace = vt.capture(model, input_ids=IDS, tokens=NAMES)
    assert trace.position_bias("decoder").shape == (1, 4, 9, 9)  # one for all layers
    distances, biases = vt.analysis.bias_by_distance(trace, "decoder")
    slopes = 2.0 ** -np.arange(2, 9, 2)  # of four heads: Press et al. 2022, section 3
    scale = 0.5 if family == "Falcon" else 1  # it scales the bias as its scores, by 1/√d_head
    np.testing.assert_allclose(biases, scale * slopes[:, None] * distances, atol=1e-6)
    query, key = SPLITS[family](seen[-1])
    expected = softmax_of(query, key, torch.ones(9, 9, dtype=torch.bool).triu(1))
    np.testing.assert_allclose(by_content(trace)[0], expected, atol=1e-6)


def test_falcon_adds_its_alibi_once() -> None:
    """As sdpa does, which it runs with; its eager attention adds it twice."""
    model = alibi("Falcon")
    attention = model.h[0].self_attention
    seen: dict[str, Tensor] = {}
    attention.query_key_value.register_forward_hook(lambda *call: seen.update(value=call[2][0, :, 20:]))
    attention.dense.register_forward_hook(lambda *call: seen.update(gathered=call[1][0][0]))
    model.config._attn_implementation = "sdpa"
    with torch.no_grad():
        model(IDS)
    gathered = seen["gathered"].unflatten(-1, (4, 4)).transpose(0, 1).numpy()  # [head, query, d_head]
    trace = vt.capture(model, input_ids=IDS, tokens=NAMES)
    np.testing.assert_allclose(trace.decoder_attention[0] @ seen["value"].numpy(), gathered, atol=1e-6)


TABLES = ("bias_table", "position_bias_mlp", "rel_pos")
PICTURE = {"pixel_values": PIXELS}
WINDOWS = {
    "image_size": 32,
    "patch_size": 4,
    "embed_dim": 16,
    "depths": [2],
    "num_heads": [4],
    "window_size": 4,
}
BY_PATCH = PATCHED | {"use_relative_position_bias": True}
PAGE_SIZES = {
    "vocab_size": 40,
    "visual_embed": False,
    "coordinate_size": 2,
    "shape_size": 4,
    "max_2d_position_embeddings": 128,
}
PAGE = {"input_ids": IDS, "bbox": torch.arange(36).view(1, 9, 4) * 7 % 100}


def without_tables(model: nn.Module, given: dict[str, Tensor], n: int) -> None:
    """Hold the first layer without its bias to that of a model whose tables are zero.

    What the first layer reads holds no bias yet, so there the two are one.
    """
    names = [f"p{i}" for i in range(n)]
    trace = vt.capture(model, **given, tokens=names)
    assert np.abs(trace.encoder_position_bias).max() > 0.1
    for name, parameter in model.named_parameters():
        if any(table in name for table in TABLES):
            nn.init.zeros_(parameter)
    bare = vt.capture(model, **given, tokens=names)
    assert np.abs(bare.encoder_attention[0] - trace.encoder_attention[0]).max() > 0.01
    np.testing.assert_allclose(by_content(trace)[0], bare.encoder_attention[0], atol=2e-6)


@pytest.mark.parametrize(
    ("family", "sizes", "given", "n"),
    [
        ("Swin", WINDOWS, PICTURE, 64),
        ("Swinv2", WINDOWS, PICTURE, 64),
        ("DonutSwin", WINDOWS, PICTURE, 64),
        ("Beit", BY_PATCH, PICTURE, 17),
        ("Data2VecVision", BY_PATCH, PICTURE, 17),
        ("LayoutLMv3", SMALL | PAGE_SIZES, PAGE, 9),
    ],
)
def test_the_first_layer_without_its_bias_is_that_of_a_model_without_tables(family, sizes, given, n) -> None:
    without_tables(made(f"{family}Model", **sizes), given, n)


class Backbone(nn.Module):
    """Stands for the convolutions of LayoutLMv2, which need a package that is not on PyPI (detectron2)."""

    def __init__(self, config) -> None:
        super().__init__()
        n = math.prod(config.image_feature_pool_shape[:2])
        self.register_buffer("features", torch.randn(1, n, config.image_feature_pool_shape[2]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.features.expand(len(images), -1, -1)  # [batch, patch, channel]


def test_the_first_layer_of_layoutlmv2_without_its_bias_is_that_without_tables(monkeypatch) -> None:
    from transformers.models.layoutlmv2 import modeling_layoutlmv2 as layoutlmv2

    monkeypatch.setattr(layoutlmv2, "requires_backends", lambda *_: None)
    monkeypatch.setattr(layoutlmv2, "LayoutLMv2VisualBackbone", Backbone)
    monkeypatch.setattr(layoutlmv2.LayoutLMv2PreTrainedModel, "_init_weights", lambda *_: None)
    sizes = {"vocab_size": 40, "coordinate_size": 2, "shape_size": 4, "image_feature_pool_shape": [2, 2, 8]}
    model = made("LayoutLMv2Model", **SMALL, **sizes)
    given = {**PAGE, "bbox": PAGE["bbox"].sort(-1).values, "image": PIXELS}
    without_tables(model, given, 9 + 4)  # words, then patches


def test_a_bias_of_two_dimensions_is_drawn_by_offset() -> None:
    model = made("SwinModel", **WINDOWS)
    trace = vt.capture(model, pixel_values=PIXELS, tokens=[f"p{i}" for i in range(64)])
    table = model.encoder.layers[0].blocks[1].attention.relative_position_bias.relative_position_bias_table
    own = table.detach().T.unflatten(1, (7, 7)).flip(1, 2)  # of query − key, in windows of 4 by 4
    biases = vt.analysis.bias_by_offset(trace, "encoder", (8, 8), layer=1)
    np.testing.assert_array_equal(biases[:, 4:11, 4:11], own)
    assert np.isnan(biases).sum() == 4 * (15 * 15 - 7 * 7)
    ax = vt.plots.plot_position_bias(trace, "encoder", 1, grid=(8, 8))
    drawn = ax.images[0].get_array()
    np.testing.assert_array_equal(np.sort(drawn[np.isfinite(drawn)]), np.sort(own.numpy(), axis=None))
    assert "4 heads of the encoder" in ax.figure.alt_text
    alone = vt.analysis.position_bias_alone(trace).encoder_attention
    assert (alone > 0).sum(-1).max() == 16  # a window
    np.testing.assert_array_equal(alone > 0, trace.encoder_attention > 1e-30)
    beit = made("BeitModel", **BY_PATCH)
    trace = vt.capture(beit, pixel_values=PIXELS, tokens=[f"p{i}" for i in range(17)])
    assert not np.isnan(vt.analysis.bias_by_offset(trace, "encoder", (4, 4))).any()
    trace = replace(trace, patches=None)  # as of an array, of which only the grid is known
    wrong = [((2, 8), "differs between pairs of one offset"), ((9, 9), "has 81 patches for"), (4, "grid=4")]
    for grid, message in wrong:
        with pytest.raises(UserError, match=message):
            vt.plots.plot_position_bias(trace, "encoder", grid=grid)


def test_biases_of_three_sorts_are_not_taken_for_those_of_three_layers() -> None:
    sizes = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
    model = made("UdopEncoderModel", vocab_size=40, **sizes, image_size=16, patch_size=8)
    boxes = torch.linspace(0, 1, 36).view(1, 9, 4)
    given = {"input_ids": IDS, "bbox": boxes, "pixel_values": PIXELS[..., :16, :16]}
    assert vt.capture(model, **given, tokens=[f"p{i}" for i in range(13)]).encoder_position_bias is None


@pytest.mark.parametrize("shared", [True, False])
def test_beits_own_bias(shared) -> None:
    names = ("use_shared_relative_position_bias", "use_relative_position_bias")
    model = made("BeitModel", **PATCHED, **{names[not shared]: True})
    trace = vt.capture(model, pixel_values=PIXELS, tokens=[f"p{i}" for i in range(17)])
    tables = [m for m in model.modules() if type(m).__name__ == "BeitRelativePositionBias"]
    with torch.no_grad():
        own = torch.cat([table((4, 4)) for table in tables])
    assert len(own) == (1 if shared else 2)
    np.testing.assert_array_equal(trace.encoder_position_bias, own)
    both = made("BeitModel", **PATCHED, **dict.fromkeys(names, True))
    trace = vt.capture(both, pixel_values=PIXELS, tokens=[f"p{i}" for i in range(17)])
    assert trace.encoder_position_bias is None  # neither is the whole
    with pytest.raises(UserError, match="adds none apart"):
        vt.analysis.without_position_bias(trace)


SIZES = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
BUCKETS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
TARGET = torch.arange(6)[None] + 5
LABELS = {"source_tokens": NAMES, "target_tokens": list("uvwxyz")}


def t5_like(family: str) -> nn.Module:
    torch.manual_seed(0)
    config = getattr(hf, f"{family}Config")(**SIZES, **BUCKETS, decoder_start_token_id=0)
    model = getattr(hf, f"{family}ForConditionalGeneration")(config).eval()
    for name, parameter in model.named_parameters():
        if "relative_attention_bias" in name:
            nn.init.normal_(parameter, std=1.5)
    return model


def captured(model: nn.Module, **more) -> vt.ForwardTrace:
    return vt.capture(model, input_ids=IDS, decoder_input_ids=TARGET, **LABELS, **more)


def own_bias(attention: nn.Module, n: int) -> np.ndarray:
    """The bias [head, query, key] as the model's own `compute_bias` makes it."""
    with torch.no_grad():
        return attention.compute_bias(n, n)[0].numpy()


@pytest.mark.parametrize("family", ["T5", "UMT5"])
def test_the_trace_has_the_models_own_bias(family) -> None:
    model = t5_like(family)
    trace = captured(model)
    n_tables = 1 if family == "T5" else 2  # UMT5 has one in every layer
    for kind, stack, n in (("encoder", model.encoder, 9), ("decoder", model.decoder, 6)):
        tables = [block.layer[0].SelfAttention for block in stack.block[:n_tables]]
        np.testing.assert_array_equal(trace.position_bias(kind), [own_bias(each, n) for each in tables])
    assert trace.position_bias("cross") is None
    part = captured(model, layers=[1], heads=[0, 3])
    np.testing.assert_array_equal(part.position_bias("decoder"), trace.position_bias("decoder")[-1:, [0, 3]])


def test_attention_without_the_bias_is_the_softmax_of_the_content_scores() -> None:
    model = t5_like("T5")
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


def test_the_bias_of_a_padded_text_is_that_of_its_tokens() -> None:
    mask = torch.tensor([[0, 0, 1, 1, 1, 1, 1]])
    given = {"input_ids": IDS[:, :7], "attention_mask": mask, "tokens": NAMES[:5]}
    model = made("MPNetModel", vocab_size=40, **SMALL)
    with torch.no_grad():
        own = model.encoder.compute_position_bias(torch.zeros(1, 7, 16))
    found = vt.capture(model, **given).position_bias("encoder")
    np.testing.assert_array_equal(found, own[:, :, 2:, 2:].numpy())
    bloom = alibi("Bloom")
    part = vt.capture(bloom, **given, heads=[1, 3], layers=[1])
    own = bloom.build_alibi_tensor(mask, 4, torch.float32)[[1, 3], :, 2:]
    np.testing.assert_array_equal(part.position_bias("decoder")[0], own.expand(-1, 5, -1))


def test_the_bias_is_saved_and_drawn_by_distance(tmp_path) -> None:
    trace = captured(t5_like("T5"))
    again = vt.ForwardTrace.load(trace.save(tmp_path / "trace.npz"))
    np.testing.assert_array_equal(again.encoder_position_bias, trace.encoder_position_bias)
    ax = vt.plots.plot_position_bias(again, "decoder", layer=1)
    drawn = ax.images[0].get_array()
    np.testing.assert_array_equal(drawn, trace.position_bias("decoder")[0, :, -1])  # the last query, all keys
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(drawn).max()
    assert "4 heads of the decoder" in ax.figure.alt_text
    assert "in every layer" in ax.get_title(loc="left")
    of_layers = vt.plots.plot_position_bias(captured(t5_like("UMT5")), "encoder", 1)
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
            (lambda: vt.analysis.without_position_bias(bare), "no encoder .*adds none apart"),
        ]
    )
