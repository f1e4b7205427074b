"""Our own models, torch's modules, and whatever calls torch's attention."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import viz_transformer as vt
from tests.support.attending_models import ApartAttention, Stack
from tests.support.huggingface_models import eager as eager_llama
from tests.support.huggingface_models import frozen, llama, same, stacked, state
from viz_transformer import model as models
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import EncoderOnly, TracedTransformer, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.tracing.attention_calls import attention_weights

SIZES = {"vocab_size": 11, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 9}
LAYERS = {"n_encoder_layers": 2, "n_decoder_layers": 3}
IDS = torch.tensor([[4, 5, 6, 7]])
NAMES = ("a", "b", "c", "d", "e", "f")


def labels(source: int, target: int) -> dict:
    return {"source_tokens": NAMES[:source], "target_tokens": NAMES[:target]}


@pytest.mark.parametrize("scoring", ["scaled_dot", "additive"])  # the second is no fused attention
@pytest.mark.parametrize("traced", [True, False])
def test_our_transformer(traced, scoring) -> None:
    config = ModelConfig(**SIZES, **LAYERS, scoring=scoring, dropout=0.5)
    model = (TracedTransformer if traced else Transformer)(config)
    target = IDS[:, :3]
    before = frozen(model)
    trace = vt.capture(model, input_ids=IDS, decoder_input_ids=target, **labels(4, 3))
    assert same(before, state(model))
    twin = TracedTransformer(config).eval()
    twin.load_state_dict(model.state_dict())
    with torch.no_grad():
        output = twin(IDS, target)
    for kind in ("encoder", "decoder", "cross"):
        expected = stacked(getattr(output, f"{kind}_attention"))
        np.testing.assert_array_equal(trace.attention(kind), expected)
    np.testing.assert_array_equal(trace.source_positions, output.source_positions)
    np.testing.assert_array_equal(trace.target_positions, output.target_positions)


@pytest.mark.parametrize(
    ("family", "kind", "plain", "traced"),
    [
        ("encoder", "encoder", EncoderOnly, models.TracedEncoderOnly),
        ("decoder", "decoder", models.DecoderOnly, models.TracedDecoderOnly),
    ],
)
@pytest.mark.parametrize("n_tokens", [1, 4])
def test_our_families(family, kind, plain, traced, n_tokens) -> None:
    config = ModelConfig.preset("tiny")
    model = plain(config)
    trace = vt.capture(model, input_ids=IDS[:, :n_tokens], tokens=NAMES[:n_tokens])
    assert trace.kinds == (kind,)
    twin = traced(config).eval()
    twin.load_state_dict(model.state_dict())
    with torch.no_grad():
        output = twin(IDS[:, :n_tokens])
    expected = stacked(getattr(output, f"{kind}_attention"))
    np.testing.assert_array_equal(trace.attention(kind), expected)


def test_our_transformer_takes_its_inputs_by_name_and_interventions() -> None:
    model = Transformer(ModelConfig(**SIZES, **LAYERS))
    given = {"source_ids": IDS, "target_ids": IDS[:, :3], **labels(4, 3)}
    plain = vt.capture(model, **given)
    changed = vt.capture(model, **given, interventions=Interventions(causal_mask=False))
    assert not np.triu(plain.decoder_attention, k=1).any()
    assert np.triu(changed.decoder_attention, k=1).any()


def test_our_transformer_wants_a_target() -> None:
    with pytest.raises(UserError, match=r"decoder_input_ids=.*translator\.trace"):
        vt.capture(Transformer(ModelConfig(**SIZES)), input_ids=IDS, tokens=NAMES[:4])


def weights_seen(monkeypatch, model, *inputs, **named) -> list[torch.Tensor]:
    """What torch's own function says when every call is made to show every head."""
    seen = []
    original = F.multi_head_attention_forward

    def shown(*args, **kwargs):
        output, weights = original(*args, **{**kwargs, "need_weights": True, "average_attn_weights": False})
        seen.append(weights)
        return output, weights

    monkeypatch.setattr(F, "multi_head_attention_forward", shown)
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            model.eval()(*inputs, **named)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
        monkeypatch.undo()
    return seen


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_one_attention_module(monkeypatch, batch_first, average) -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=batch_first, dropout=0.5)
    x = torch.randn(1, 4, 8) if batch_first else torch.randn(4, 1, 8)
    before = frozen(model)
    trace = vt.capture(model, x, x, x, tokens=NAMES[:4], average_attn_weights=average)
    assert same(before, state(model))
    expected = stacked(weights_seen(monkeypatch, model, x, x, x))
    np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-6)


def encoder_stack(**changes) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **changes)
    return nn.TransformerEncoder(layer, 3)


@pytest.mark.parametrize("training", [True, False])
def test_the_fast_path_of_an_encoder_is_no_wall(monkeypatch, training) -> None:
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


def test_the_output_of_a_watched_model_is_what_it_was() -> None:
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
@pytest.mark.parametrize("masked", [True, False])
def test_an_nn_transformer(monkeypatch, masked, target) -> None:
    model = nn.Transformer(8, 2, 2, 3, 16, batch_first=True)
    source, x = torch.randn(1, 4, 8), torch.randn(1, target, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(target) if masked else None
    trace = vt.capture(model, source, x, tgt_mask=mask, **labels(4, target))
    seen = weights_seen(monkeypatch, model, source, x, tgt_mask=mask)
    for kind, of_kind in (("encoder", seen[:2]), ("decoder", seen[2::2]), ("cross", seen[3::2])):
        np.testing.assert_allclose(trace.attention(kind), stacked(of_kind), atol=1e-5)
    with pytest.raises(UserError, match="source_tokens"):
        vt.capture(model, source, x, tgt_mask=mask, tokens=NAMES[:4])


def test_a_row_that_may_attend_to_nothing_is_zero() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 3, 8)
    mask = torch.zeros(3, 3, dtype=torch.bool)
    mask[1] = True
    weights = vt.capture(model, x, x, x, attn_mask=mask, tokens=NAMES[:3]).encoder_attention
    assert not weights[:, :, 1].any()
    np.testing.assert_allclose(weights[:, :, [0, 2]].sum(-1), 1, atol=1e-6)


def test_nan_in_the_input_is_refused() -> None:
    model, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.full((1, 3, 8), math.nan)
    with pytest.raises(UserError, match="NaN"):
        vt.capture(model, x, x, x, tokens=NAMES[:3])


class Student(nn.Module):
    """Somebody's own attention: fused, so that its weights are nowhere to be had."""

    def __init__(self, n_heads: int = 2, causal: bool = True, width: int = 8) -> None:
        super().__init__()
        self.n_heads, self.causal, self.width = n_heads, causal, width
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, memory=None):
        q = self.heads(self.qkv(x)[..., : self.width])
        read = self.qkv(x if memory is None else memory)
        k, v = (self.heads(part) for part in read.chunk(3, -1)[1:])
        causal = self.causal and memory is None
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.3 * self.training, is_causal=causal)
        return x + y.transpose(1, 2).flatten(2)

    def heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def weights(self, x, memory=None):
        q = self.heads(self.qkv(x)[..., : self.width])
        k = self.heads(self.qkv(x if memory is None else memory).chunk(3, -1)[1])
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if self.causal and memory is None:
            future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        return scores.softmax(-1)


class Nano(nn.Module):
    """A small language model in the manner of nanoGPT."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.layers = nn.ModuleList(layers)

    def forward(self, idx):
        x = self.words(idx)
        for layer in self.layers:
            x = layer(x)
        return x

    @torch.no_grad()
    def expected(self, idx):
        x, weights = self.words(idx), []
        for layer in self.eval().layers:
            weights.append(layer.weights(x))
            x = layer(x)
        return stacked(weights)


@pytest.mark.parametrize("causal", [True, False])
def test_a_students_own_class(causal) -> None:
    model = Nano(*(Student(causal=causal) for _ in range(3)))
    before = frozen(model)
    trace = vt.capture(model, input_ids=IDS, tokens=NAMES[:4])
    assert same(before, state(model))
    assert trace.kinds == ("decoder" if causal else "encoder",)
    np.testing.assert_allclose(trace.attention(trace.kinds[0]), model.expected(IDS), atol=1e-6)
    by_place = vt.capture(model, IDS, tokens=NAMES[:4])
    np.testing.assert_array_equal(by_place.attention(trace.kinds[0]), trace.attention(trace.kinds[0]))


class Apart(nn.Module):
    """A block whose heads are modules: each reads all features, or a slice of its own."""

    def __init__(self, *, sliced: bool, in_place: bool) -> None:
        super().__init__()
        heads = [Student(width=4) if sliced else Student() for _ in range(2)]
        self.heads, self.sliced, self.in_place = nn.ModuleList(heads), sliced, in_place

    def read_by(self, x):
        return x.chunk(2, dim=-1) if self.sliced else (x, x)

    def weights(self, x):
        read = zip(self.heads, self.read_by(x), strict=True)
        return torch.cat([head.weights(part) for head, part in read], dim=1)

    def forward(self, x):
        read = [head(part) for head, part in zip(self.heads, self.read_by(x), strict=True)]
        new = torch.cat(read, -1) if self.sliced else sum(read)
        return x.add_(new) if self.in_place else x + new


@pytest.mark.parametrize("sliced", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_modules_of_one_list_that_read_the_same_are_the_heads_of_a_layer(sliced, in_place) -> None:
    model = Nano(*(Apart(sliced=sliced, in_place=in_place) for _ in range(3)))
    before = frozen(model)
    trace = vt.capture(model, IDS, tokens=NAMES[:4])
    assert same(before, state(model))
    n_heads = 2 * model.layers[0].heads[0].n_heads
    assert trace.decoder_attention.shape == (3, n_heads, 4, 4)
    np.testing.assert_allclose(trace.decoder_attention, model.expected(IDS), atol=1e-6)
    kept = vt.capture(model, IDS, tokens=NAMES[:4], layers=[1], heads=[2])
    np.testing.assert_array_equal(kept.decoder_attention, trace.decoder_attention[1:2, 2:3])


def test_single_heads_without_an_axis_and_of_a_batch() -> None:
    model, ids = Stack(ApartAttention(), ApartAttention()).eval(), torch.arange(8).view(2, 4)
    trace = vt.capture(model, ids, tokens=NAMES[:4], batch_index=1)
    with torch.no_grad():
        x, expected = model.words(ids), []
        for block in model.blocks:
            scores = [head.query(x[1]) @ head.key(x[1]).T / 4**0.5 for head in block.heads]
            expected.append(torch.stack([causal(each) for each in scores])[None])
            x = x + block(x)
    np.testing.assert_allclose(trace.decoder_attention, stacked(expected), atol=1e-6)


def causal(scores):
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)


class Wrapped(nn.Module):
    """A Llama inside somebody's own module: its attention stays torch's fused function."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = llama()

    def forward(self, ids):
        return self.inner(ids).logits


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_grouped_queries_equal_eager(implementation) -> None:
    model = Wrapped()
    model.inner.set_attn_implementation(implementation)
    before = frozen(model)
    trace = vt.capture(model, input_ids=IDS, tokens=NAMES[:4])
    assert same(before, state(model))
    expected = stacked(eager_llama(model.inner, input_ids=IDS).attentions)
    np.testing.assert_allclose(trace.decoder_attention, expected, atol=1e-6)


class Pair(nn.Module):
    """An encoder and a decoder of `Student`s."""

    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(Student(causal=False) for _ in range(2))
        self.decoder = nn.ModuleList(Student(causal=causal) for _ in range(3))
        self.cross = nn.ModuleList(Student() for _ in range(3))
        self.words = nn.Embedding(11, 8)

    def forward(self, source, target):
        x, y = self.words(source), self.words(target)
        for layer in self.encoder:
            x = layer(x)
        for layer, cross in zip(self.decoder, self.cross, strict=True):
            y = cross(layer(y), x)
        return y


@pytest.mark.parametrize("target", [2, 4, 5])
def test_calls_are_sorted_by_shape_or_else_by_order(target) -> None:
    model, ids = Pair(), torch.tensor([[3, 4, 5, 6, 7]])[:, :target]
    given = {"input_ids": IDS, "decoder_input_ids": ids}
    trace = vt.capture(model, **given, **labels(4, target))
    assert [len(trace.attention(kind)) for kind in ("encoder", "decoder", "cross")] == [2, 3, 3]
    x = model.words(IDS)
    with torch.no_grad():
        first = model.encoder[0].weights(x)
        for layer in model.encoder:
            x = layer.eval()(x)
        y = model.words(ids)
        self_attention = model.decoder[0].weights(y)
        assert np.allclose(trace.encoder_attention[0], first[0], atol=1e-6)
        assert np.allclose(trace.decoder_attention[0], self_attention[0], atol=1e-6)
    assert np.triu(trace.cross_attention[..., :2, :2], k=1).any()


def test_what_order_does_not_tell_is_asked() -> None:
    given = {"input_ids": IDS, "decoder_input_ids": IDS}
    with pytest.raises(UserError, match="source and a target of different lengths"):
        vt.capture(Pair(causal=False), **given, **labels(4, 4))
    with pytest.raises(UserError, match="some layers look ahead and some do not"):
        vt.capture(Pair(), **given, tokens=NAMES[:4])
    with pytest.raises(UserError, match=r"2 queries and 2 keys.*4 source tokens, 3 target tokens"):
        vt.capture(Pair(), input_ids=IDS, decoder_input_ids=IDS[:, :2], **labels(4, 3))


@given(
    heads=st.integers(1, 3),
    groups=st.integers(1, 3),
    queries=st.integers(1, 5),
    keys=st.integers(1, 5),
    mask=st.sampled_from(["none", "bool", "float", "causal"]),
    scale=st.sampled_from([None, 0.3]),
)
def test_the_weights_give_torchs_output(heads, groups, queries, keys, mask, scale) -> None:
    q = torch.randn(2, heads * groups, queries, 4)
    k, v = torch.randn(2, heads, keys, 4), torch.randn(2, heads, keys, 4)
    given = {"scale": scale, "enable_gqa": groups > 1, "is_causal": mask == "causal"}
    if mask == "bool":
        given["attn_mask"] = torch.rand(2, 1, queries, keys) < 0.6  # rows of False among them
    if mask == "float":
        given["attn_mask"] = torch.randn(queries, keys)
    weights = attention_weights(q, k, v, **given)
    expected = F.scaled_dot_product_attention(q, k, v, **given)
    output = weights @ v.repeat_interleave(groups, dim=1)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-5)
    sums = weights.sum(-1)
    assert (((sums - 1).abs() < 1e-5) | (sums == 0)).all()


def test_attention_of_one_head_without_an_axis_for_it() -> None:
    class OneHead(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    x = torch.randn(2, 3, 4)
    trace = vt.capture(OneHead(), x, tokens=NAMES[:3], batch_index=1)
    expected = (x[1] @ x[1].mT / 2).softmax(-1)
    np.testing.assert_allclose(trace.encoder_attention[0, 0], expected, atol=1e-6)
    flat = vt.capture(OneHead(), x[1], tokens=NAMES[:3])
    np.testing.assert_allclose(flat.encoder_attention, trace.encoder_attention, atol=1e-6)


def test_a_module_that_raises_stays_as_it_was() -> None:
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


def test_bfloat16_becomes_float32() -> None:
    model = Nano(Student()).to(torch.bfloat16)
    weights = vt.capture(model, input_ids=IDS, tokens=NAMES[:4]).decoder_attention
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (nn.Linear(3, 3), {"input": torch.zeros(2, 3), "tokens": ["a"]}, "Linear has no attention"),
        (Nano(Student()), {"input_ids": IDS, "tokens": NAMES[:3]}, "3 target tokens.* 4 target"),
        (Nano(Student()), {"input_ids": IDS}, "tokens were not given"),
        (Nano(Student()), {"input_ids": IDS, **labels(4, 3)}, "over one of the two"),
        (Nano(Student()), {"input_ids": IDS.repeat(3, 1), "tokens": NAMES[:4]}, "3 sentences"),
        (Nano(Student()), {"input_ids": IDS, "token": NAMES[:4]}, "did you mean tokens="),
        (Nano(Student()), {"input_ids": IDS, "generate": True}, "no generate"),
        (Nano(Student()), {"input_ids": IDS[:, :1], "tokens": ["a"]}, "one token has nothing"),
        (
            Nano(Student(1), Student(2)),
            {"input_ids": IDS, "tokens": NAMES[:4]},
            r"decoder layers have \[1, 2\] heads",
        ),
    ],
)
def test_what_does_not_fit_is_refused(model, given, message) -> None:
    with pytest.raises(UserError, match=message):
        vt.capture(model, **given)


def test_one_token_on_a_named_side_is_enough() -> None:
    trace = vt.capture(Nano(Student()), input_ids=IDS[:, :1], target_tokens=["a"])
    np.testing.assert_array_equal(trace.decoder_attention, np.ones((1, 2, 1, 1)))


@pytest.mark.parametrize(
    "code",
    [
        "import viz_transformer as vt",
        "import viz_transformer as vt, viz_transformer.tracing",
        "import viz_transformer.tracing.attention_calls, viz_transformer as vt",
        "import viz_transformer as vt; vt.capture; import viz_transformer.tracing",
        "import viz_transformer as vt; from viz_transformer.tracing import capture as c",
    ],
)
def test_vt_capture_is_the_function(code) -> None:
    code += "; import inspect; assert inspect.isfunction(vt.capture), vt.capture"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
