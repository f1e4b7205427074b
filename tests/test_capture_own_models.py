"""Attention in anybody's own modules: fused, flexible or written by hand, in one module or in many."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import viz_transformer as vt
from tests.support.attending_models import ApartAttention, Stack
from tests.support.huggingface_models import frozen, same, stacked, state
from tests.support.refusals import assert_refused
from viz_transformer.capturing.attention_calls import AttentionRecorder, attention_weights
from viz_transformer.errors import UserError

IDS = torch.tensor([[4, 5, 6, 7]])
NAMES = ("a", "b", "c", "d", "e", "f")


def close(found, expected, case: object = "") -> None:
    np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=str(case))


def future(n_queries: int, n_keys: int) -> Tensor:
    return torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1 + n_keys - n_queries)


def attention_of(scores: Tensor, blocked: Tensor | None) -> Tensor:
    return (scores if blocked is None else scores.masked_fill(blocked, -math.inf)).softmax(-1)


def bmm_of_flat_heads(weights: Tensor, value: Tensor) -> Tensor:
    """As torch wrote it before it had a fused function: sentences and heads are one axis."""
    flat = weights.reshape(-1, *weights.shape[-2:])
    return torch.bmm(flat, value.reshape(-1, *value.shape[-2:])).view_as(value)


#: How a model may go from weights [batch, head, query, key] and values to the output.
PRODUCTS = {
    "torch.matmul": lambda w, v: torch.matmul(input=w, other=v),
    "dropout and cast": lambda w, v: F.dropout(w.to(torch.bfloat16), 0.5).to(v.dtype) @ v,
    "bmm": bmm_of_flat_heads,
    "einsum": lambda w, v: torch.einsum("b h i j, b h j d -> b h i d", w, v),
    "einsum with dots": lambda w, v: torch.einsum("...ij,...jd->...id", [w, v]),
    "einsum, implicit": lambda w, v: torch.einsum("bhid,bhji->bhjd", v, w),
    "transposed": lambda w, v: (v.mT @ w.transpose(-2, -1)).mT,
    "permuted": lambda w, v: torch.einsum("bqhk,bkhd->bhqd", w.permute(0, 2, 1, 3), v.transpose(1, 2)),
}


def divided_powers(scores: Tensor) -> Tensor:
    """As a lesson's student writes it."""
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


def masked_powers(scores: Tensor) -> Tensor:
    """With masked powers, and a sum that cannot be 0."""
    powers = scores.exp() * (scores > -math.inf)
    return powers / (powers.sum(-1)[..., None] + 1e-12)


SOFTMAXES = {
    "F.softmax": lambda scores: F.softmax(scores, dim=-1),
    "Tensor.softmax": lambda scores: scores.softmax(3),
    "nn.Softmax": nn.Softmax(dim=-1),
    "float32": lambda scores: torch.softmax(scores, dim=-1, dtype=torch.float32),
    "keys first": lambda scores: scores.mT.softmax(-2).mT,
    "divided powers": divided_powers,
    "masked powers": masked_powers,
}


def by_hand(softmax, product):
    def attend(q: Tensor, k: Tensor, v: Tensor, blocked: Tensor | None, dropout: float) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if blocked is not None:
            scores = scores.masked_fill(blocked, -math.inf)
        return product(F.dropout(softmax(scores), dropout), v)

    return attend


def fused(q: Tensor, k: Tensor, v: Tensor, blocked: Tensor | None, dropout: float) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=blocked is not None)


WAYS = {
    "fused": fused,
    **{name: by_hand(softmax, torch.matmul) for name, softmax in SOFTMAXES.items()},
    **{name: by_hand(SOFTMAXES["F.softmax"], product) for name, product in PRODUCTS.items()},
}


class Attention(nn.Module):
    """A student's layer; its weights are worked out once more for comparison."""

    def __init__(self, way: str = "fused", causal: bool = True, n_heads: int = 2, width: int = 8) -> None:
        super().__init__()
        self.attend, self.causal, self.n_heads = WAYS[way], causal, n_heads
        self.qkv = nn.Linear(width, 3 * width)

    def parts(self, x: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        queries, read = self.qkv(x), self.qkv(x if memory is None else memory)
        both = [queries.chunk(3, -1)[0], *read.chunk(3, -1)[1:]]
        q, k, v = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in both)
        return q, k, v, future(q.shape[2], k.shape[2]) if self.causal else None

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        y = self.attend(*self.parts(x, memory), 0.3 * self.training)
        return x + y.transpose(1, 2).flatten(2)

    def weights(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        q, k, _, blocked = self.parts(x, memory)
        return attention_of(q @ k.mT / math.sqrt(q.shape[-1]), blocked)


class LanguageModel(nn.Module):
    """Words, layers, and a softmax over the words, whose mean embedding is the output."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.layers = nn.ModuleList(layers)

    def forward(self, idx: Tensor) -> Tensor:
        x = self.words(idx)
        for layer in self.layers:
            x = layer(x)
        return (x @ self.words.weight.T).softmax(-1) @ self.words.weight

    @torch.no_grad()
    def expected(self, idx: Tensor) -> np.ndarray:
        """Return the weights [layer, head, query, key] by hand."""
        x, weights = self.words(idx), []
        for layer in self.eval().layers:
            weights.append(layer.weights(x))
            x = layer(x)
        return stacked(weights)


@pytest.mark.parametrize("causal", [True, False])
def test_every_way_of_attending_gives_the_exact_weights(causal) -> None:
    for way in WAYS:
        model = LanguageModel(*(Attention(way, causal) for _ in range(3)))
        before = frozen(model)
        torch.manual_seed(0)  # of the dropout that is never off
        trace = vt.capture(model, input_ids=IDS, tokens=NAMES[:4])
        assert same(before, state(model)), way
        assert trace.kinds == ("decoder" if causal else "encoder",), way
        torch.manual_seed(0)
        close(trace.attention(trace.kinds[0]), model.expected(IDS), way)
        if way != "dropout and cast":
            by_place = vt.capture(model, IDS, tokens=NAMES[:4])
            np.testing.assert_array_equal(by_place.attention(trace.kinds[0]), trace.attention(trace.kinds[0]))


class Apart(nn.Module):
    """A block whose heads are modules: each reads all features, or a slice of its own."""

    def __init__(self, *, sliced: bool, in_place: bool) -> None:
        super().__init__()
        heads = [Attention(width=4) if sliced else Attention() for _ in range(2)]
        self.heads, self.sliced, self.in_place = nn.ModuleList(heads), sliced, in_place

    def each(self, x: Tensor, what) -> list[Tensor]:
        read = x.chunk(2, dim=-1) if self.sliced else (x, x)
        return [what(head, part) for head, part in zip(self.heads, read, strict=True)]

    def weights(self, x: Tensor) -> Tensor:
        return torch.cat(self.each(x, Attention.weights), dim=1)

    def forward(self, x: Tensor) -> Tensor:
        read = self.each(x, lambda head, part: head(part))
        new = torch.cat(read, -1) if self.sliced else sum(read)
        return x.add_(new) if self.in_place else x + new


@pytest.mark.parametrize("sliced", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_modules_of_one_list_that_read_the_same_are_the_heads_of_a_layer(sliced, in_place) -> None:
    model = LanguageModel(*(Apart(sliced=sliced, in_place=in_place) for _ in range(3)))
    before = frozen(model)
    trace = vt.capture(model, IDS, tokens=NAMES[:4])
    assert same(before, state(model))
    assert trace.decoder_attention.shape == (3, 4, 4, 4)
    close(trace.decoder_attention, model.expected(IDS))
    kept = vt.capture(model, IDS, tokens=NAMES[:4], layers=[1], heads=[2])
    np.testing.assert_array_equal(kept.decoder_attention, trace.decoder_attention[1:2, 2:3])


def test_single_heads_without_an_axis_and_of_a_batch() -> None:
    model, ids = Stack(ApartAttention(), ApartAttention()).eval(), torch.arange(8).view(2, 4)
    trace = vt.capture(model, ids, tokens=NAMES[:4], batch_index=1)
    with torch.no_grad():
        x, expected = model.words(ids), []
        for block in model.blocks:
            scores = [head.query(x[1]) @ head.key(x[1]).T / 4**0.5 for head in block.heads]
            expected.append(attention_of(torch.stack(scores), future(4, 4))[None])
            x = x + block(x)
    close(trace.decoder_attention, stacked(expected))


def test_attention_of_one_head_without_an_axis_for_it() -> None:
    class OneHead(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    x = torch.randn(2, 3, 4)
    expected = (x[1] @ x[1].mT / 2).softmax(-1)
    trace = vt.capture(OneHead(), x, tokens=NAMES[:3], batch_index=1)
    close(trace.encoder_attention[0, 0], expected)
    flat = vt.capture(OneHead(), x[1], tokens=NAMES[:3])
    close(flat.encoder_attention, trace.encoder_attention)


class Pair(nn.Module):
    """An encoder and a decoder."""

    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(Attention(causal=False) for _ in range(2))
        self.decoder = nn.ModuleList(Attention(causal=causal) for _ in range(3))
        self.cross = nn.ModuleList(Attention(causal=False) for _ in range(3))
        self.words = nn.Embedding(11, 8)

    def forward(self, source: Tensor, target: Tensor, seen: dict[str, list] | None = None) -> Tensor:
        seen = {"encoder": [], "decoder": [], "cross": []} if seen is None else seen
        x, y = self.words(source), self.words(target)
        for layer in self.encoder:
            seen["encoder"].append(layer.weights(x))
            x = layer(x)
        for layer, cross in zip(self.decoder, self.cross, strict=True):
            seen["decoder"].append(layer.weights(y))
            y = layer(y)
            seen["cross"].append(cross.weights(y, x))
            y = cross(y, x)
        return y


def labels(source: int, target: int) -> dict:
    return {"source_tokens": NAMES[:source], "target_tokens": NAMES[:target]}


@pytest.mark.parametrize("target", [2, 4, 5])
def test_calls_are_sorted_by_shape_or_else_by_order(target) -> None:
    model, ids = Pair(), torch.tensor([[3, 4, 5, 6, 7]])[:, :target]
    trace = vt.capture(model, input_ids=IDS, decoder_input_ids=ids, **labels(4, target))
    expected: dict[str, list] = {kind: [] for kind in trace.kinds}
    with torch.no_grad():
        model.eval()(IDS, ids, expected)
    for kind, weights in expected.items():
        close(trace.attention(kind), stacked(weights), kind)


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


class Flex(nn.Module):
    """Four heads that share the keys of two, with ALiBi's bias and a sliding window."""

    def __init__(self, changed: bool, blocked: bool, attend=flex_attention) -> None:
        super().__init__()
        self.changed, self.blocked, self.attend = changed, blocked, attend
        self.query, self.key = nn.Linear(8, 16), nn.Linear(8, 8)
        self.register_buffer("slopes", torch.tensor([0.5, 0.25, 0.125, 0.0625]))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return tuple(part(x).unflatten(-1, (-1, 4)).transpose(1, 2) for part in (self.query, self.key))

    def forward(self, x: Tensor) -> Tensor:
        q, k = self.heads(x)
        given = {"enable_gqa": True, "scale": 0.3}
        if self.changed:
            given["score_mod"] = lambda score, b, h, i, j: score + self.slopes[h] * (j - i)
        if self.blocked:
            n = x.shape[1]
            given["block_mask"] = create_block_mask(
                lambda b, h, i, j: (i >= j) & (i - j < 3) & (i != 2), None, None, n, n, device="cpu"
            )
        return self.attend(q, k, k, **given)  # the values are the keys

    @torch.no_grad()
    def weights(self, x: Tensor) -> Tensor:
        q, k = self.heads(x)
        scores = q @ k.repeat_interleave(2, dim=1).mT * 0.3
        i, j = torch.meshgrid(torch.arange(5), torch.arange(5), indexing="ij")
        if self.changed:
            scores += self.slopes[:, None, None] * (j - i)
        if self.blocked:
            scores.masked_fill_(~((i >= j) & (i - j < 3) & (i != 2)), -torch.inf)
        return scores.softmax(-1).nan_to_num(0.0)  # query 2 may attend to nothing


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("blocked", [True, False])
def test_flex_attention_also_compiled(blocked) -> None:
    x = torch.randn(1, 5, 8)
    given = {"target_tokens" if blocked else "source_tokens": NAMES[:5]}
    for changed in (True, False):
        model = Flex(changed, blocked)
        trace = vt.capture(model, x, **given)
        close(trace.attention(trace.kinds[0]), model.weights(x), changed)
    compiled = Flex(True, blocked, attend=torch.compile(flex_attention))
    trace = vt.capture(torch.compile(compiled), x, **given)
    close(trace.attention(trace.kinds[0]), compiled.weights(x), "compiled")


def recorded(function, *inputs: Tensor) -> list[Tensor]:
    with AttentionRecorder() as recorder:
        function(*inputs)
    return [call.weights for call in recorder.calls]


def mixture_of_experts(x: Tensor) -> Tensor:
    gates = (x @ torch.randn(8, 3)).softmax(-1)  # [batch, position, expert]
    chosen, index = gates.topk(2)
    outputs = torch.einsum("bpd,edf->bpef", x, torch.randn(3, 8, 8))
    dense = torch.einsum("bpe,bpef->bpf", gates, outputs)
    dense += (gates[..., None] * outputs).sum(2)
    return dense + (chosen[..., None] * outputs.gather(2, index[..., None].expand(-1, -1, -1, 8))).sum(2)


def nystroem_attention(x: Tensor) -> Tensor:
    landmarks = x[:, ::2]
    tall, wide = (x @ landmarks.mT).softmax(-1), (landmarks @ x.mT).softmax(-1)
    return tall @ (wide @ x)


def slots_that_compete(x: Tensor) -> Tensor:
    weights = (x[:, :3] @ x.mT).softmax(dim=1)  # over the slots, not the keys
    return (weights / weights.sum(-1, keepdim=True)) @ x


def soft_words(x: Tensor) -> Tensor:
    words = nn.Parameter(torch.randn(11, 8))
    return (x @ words.T).softmax(-1) @ words


def test_other_softmaxes_are_no_attention() -> None:
    functions = {
        "experts": mixture_of_experts,
        "linear attention": lambda x: x.softmax(dim=-1) @ (x.softmax(dim=-2).mT @ x),
        "Nyström": nystroem_attention,
        "slots": slots_that_compete,
        "words": soft_words,
        "words without a batch": lambda x: soft_words(x[0]),
        "gate": lambda x: x.softmax(-1) * x,
        "logarithm": lambda x: x.softmax(-1).log() @ x.mT,
        "powers alone": lambda x: (x @ x.mT).exp() @ x,
        "powers over another sum": lambda x: (x.exp() / x.cosh().sum(-1, keepdim=True)) @ x.mT,
    }
    for name, function in functions.items():
        assert recorded(function, torch.randn(2, 6, 8)) == [], name


@settings(max_examples=40)
@given(
    order=st.permutations("bhqk"),
    value_order=st.permutations("bhkd"),
    shared=st.booleans(),
    swapped=st.booleans(),
)
def test_the_axes_are_read_from_the_einsum_equation(order, value_order, shared, swapped) -> None:
    sizes = {"b": 2, "h": 3, "q": 4, "k": 5, "d": 6}
    if shared:  # one head's values serve all heads, and then the query stands before the keys
        order = list("bhqk")
        value_order = [axis for axis in value_order if axis != "h"]
    scores, value = (torch.randn([sizes[x] for x in axes]) for axes in (order, value_order))
    terms = ["".join(order), "".join(value_order)]

    def attend(scores: Tensor, value: Tensor) -> Tensor:
        weights = scores.softmax(order.index("k"))
        if swapped:
            return torch.einsum(f"{terms[1]},{terms[0]}->bhqd", value, weights)
        return torch.einsum(f"{terms[0]},{terms[1]}->bqhd", weights, value)

    (found,) = recorded(attend, scores, value)
    others = [axis for axis in order if axis not in "qk"]
    expected = scores.permute([order.index(axis) for axis in (*others, "q", "k")]).softmax(-1)
    torch.testing.assert_close(found, expected)


def test_weights_are_those_after_masks_and_before_dropout() -> None:
    def attend(x: Tensor) -> Tensor:
        scores = (x @ x.mT).masked_fill(future(3, 3), -math.inf)
        scores[..., 0, :] = -math.inf  # this query may attend to nothing
        weights = scores.softmax(-1).nan_to_num(0.0)
        return F.dropout(weights, 0.5) @ x

    (found,) = recorded(attend, torch.randn(1, 3, 8))
    close(found.sum(-1), [[0, 1, 1]])


class Experts(nn.Module):
    """A layer without attention whose gates meet tensors of the size of values."""

    def forward(self, x: Tensor) -> Tensor:
        gates = x[..., :3].softmax(-1)  # [batch, position, expert]
        return x + gates @ x[:, :3]


def test_a_softmax_over_something_else_does_not_disturb() -> None:
    model = LanguageModel(Attention("F.softmax"), Experts(), Attention("F.softmax"))
    assert vt.capture(model, input_ids=IDS, tokens=NAMES[:4]).decoder_attention.shape == (2, 2, 4, 4)


class Writer(nn.Module):
    """A model that writes token by token, with a cache of what it has read or without."""

    def __init__(self, cached: bool, n_new: int = 3) -> None:
        super().__init__()
        layers = [Attention("F.softmax"), Attention("F.softmax")]
        self.model, self.cached, self.n_new = LanguageModel(*layers), cached, n_new

    def forward(self, idx: Tensor) -> Tensor:
        caches: list[Tensor | None] = [None, None]
        new = idx
        for _ in range(self.n_new + 1):
            x = self.model.words(new if self.cached else idx)
            for i, layer in enumerate(self.model.layers):
                past = caches[i] if self.cached else None
                caches[i] = x if past is None else torch.cat([past, x], dim=1)
                x = layer(x, caches[i])
            new = (x[:, -1:] @ self.model.words.weight.T).argmax(-1)
            idx = torch.cat([idx, new], dim=1)
        return idx


@pytest.mark.parametrize("cached", [True, False])
def test_steps_are_rows_of_one_growing_matrix(cached) -> None:
    model = Writer(cached).eval()
    ids = model(IDS[:, :3])[:, :-1]  # the last one is written and never read
    trace = vt.capture(model, IDS[:, :3], tokens=NAMES)
    close(trace.decoder_attention, model.model.expected(ids))
    if cached:
        with pytest.raises(UserError, match=r"5 target tokens were given.* has 6"):
            vt.capture(model, IDS[:, :3], tokens=NAMES[:5])


def test_bfloat16_becomes_float32() -> None:
    model = LanguageModel(Attention()).to(torch.bfloat16)
    weights = vt.capture(model, input_ids=IDS, tokens=NAMES[:4]).decoder_attention
    assert weights.dtype == np.float32
    close(weights.sum(-1), 1)


def test_one_token_on_a_named_side_is_enough() -> None:
    trace = vt.capture(LanguageModel(Attention()), input_ids=IDS[:, :1], target_tokens=["a"])
    np.testing.assert_array_equal(trace.decoder_attention, np.ones((1, 2, 1, 1)))


def test_modules_that_cannot_be_captured_are_refused() -> None:
    model, uneven = LanguageModel(Attention()), LanguageModel(Attention(n_heads=1), Attention())
    four, both = {"input_ids": IDS, "tokens": NAMES[:4]}, {"input_ids": IDS, "decoder_input_ids": IDS}
    cases = [
        (nn.Linear(3, 3), {"input": torch.zeros(2, 3), "tokens": ["a"]}, "Linear has no attention"),
        (model, {"input_ids": IDS, "tokens": NAMES[:3]}, "3 target tokens.* 4 target"),
        (model, {"input_ids": IDS}, "tokens were not given"),
        (model, {"input_ids": IDS, **labels(4, 3)}, "over one of the two"),
        (model, {**four, "input_ids": IDS.repeat(3, 1)}, "3 sentences"),
        (model, {"input_ids": IDS, "token": NAMES[:4]}, "did you mean tokens="),
        (model, {"input_ids": IDS, "generate": True}, "no generate"),
        (model, {"input_ids": IDS[:, :1], "tokens": ["a"]}, "one token has nothing"),
        (uneven, four, r"decoder layers have several shapes.*\(1 heads, 4 × 4\), layers=\[1\] \(2 heads"),
        (Pair(causal=False), {**both, **labels(4, 4)}, "source and a target of different lengths"),
        (Pair(), {**both, "tokens": NAMES[:4]}, "some layers look ahead and some do not"),
        (
            Pair(),
            {**both, "decoder_input_ids": IDS[:, :2], **labels(4, 3)},
            r"2 queries and 2 keys.*4 source tokens, 3 target tokens",
        ),
    ]
    assert_refused((lambda m=m, given=given: vt.capture(m, **given), said) for m, given, said in cases)
