"""Modules that run several times, layers of several lengths, and attention inside groups of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.huggingface_models import tiny
from tests.support.refusals import assert_refused

D, N_HEADS = 16, 2


def names(n: int) -> list[str]:
    return [f"t{i}" for i in range(n)]


def encoder(n_layers: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(D, N_HEADS, 32, batch_first=True)
    return nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False).eval()


class Pair(nn.Module):
    """One encoder reads two sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = encoder(2)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        return F.cosine_similarity(self.inner(one).mean(1), self.inner(other).mean(1))


class Deep(nn.Module):
    """One layer is repeated three times."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = encoder(1)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.inner(x)
        return x


def test_a_module_that_runs_several_times_gives_one_run_that_is_named() -> None:
    torch.manual_seed(0)
    pair, deep = Pair().eval(), Deep().eval()
    a, b, longer = torch.randn(1, 3, D), torch.randn(1, 3, D), torch.randn(1, 4, D)
    again = deep.inner(a)
    cases: list[tuple[nn.Module, list[Tensor], int, int | None, Tensor, int]] = [
        (pair, [a, b], 3, None, a, 0),
        (pair, [a, b], 3, 1, b, 1),
        (pair, [a, longer], 4, None, longer, 1),  # the labels tell which
        (pair, [a, longer], 3, None, a, 0),
        (deep, [a], 3, None, a, 0),
        (deep, [a], 3, 1, again, 1),
    ]
    for model, read, n, run, alone, number in cases:
        trace = vt.capture(model, *read, tokens=names(n), run=run)
        expected = vt.capture(model.inner, alone.detach(), tokens=names(n))
        np.testing.assert_allclose(trace.encoder_attention, expected.encoder_attention, atol=1e-6)
        assert f"times in one forward; this is run {number}" in repr(trace), (model, run)
        assert not expected.notes
    assert vt.capture(deep, a, tokens=names(3)).notes[0].startswith("inner.layers.0.self_attn runs 3 times")


class Masked(nn.Module):
    """Two layers over four visible patches, then two over all."""

    def __init__(self) -> None:
        super().__init__()
        self.seeing, self.all = encoder(2), encoder(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.all(torch.cat([self.seeing(x[:, :4]), x[:, 4:]], 1))


class Pooling(nn.Module):
    """Every second position is left after the second layer; experts stand between the layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(D, 3 * D) for _ in range(4)])
        self.gates = nn.ModuleList([Gate() for _ in range(4)])

    def forward(self, x: Tensor) -> Tensor:
        for i, (layer, gate) in enumerate(zip(self.layers, self.gates, strict=True)):
            x = gate(x[:, ::2] if i == 2 else x)
            query, key, value = layer(x).chunk(3, -1)
            x = x + (query @ key.mT / 4).softmax(-1) @ value
        return x


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.Linear(D, 5)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.einsum(
            "bpe,bpef->bpf", self.experts(x).softmax(-1), x[:, :, None].expand(-1, -1, 5, -1)
        )


class Functional(nn.Module):
    """As `Masked`, but in the forward of one module."""

    def forward(self, x: Tensor) -> Tensor:
        for n in (4, 4, 9, 9):
            read = x[:, :n]
            x = torch.cat([(read @ read.mT).softmax(-1) @ read, x[:, n:]], 1)
        return x


def test_layers_keep_the_numbers_of_the_model_and_others_are_named_as_left_out() -> None:
    torch.manual_seed(0)
    masked, pooling = Masked().eval(), Pooling().eval()
    sizes = {"hidden_size": 32, "output_channels": 16, "num_hidden_layers": 4, "num_attention_heads": 2}
    sam = tiny(
        "SamVisionModel", **sizes, image_size=64, patch_size=8, window_size=4, global_attn_indexes=[1, 3]
    )
    nine, eight, picture = torch.randn(1, 9, D), torch.randn(1, 8, D), torch.randn(1, 3, 64, 64)
    cases: list[tuple[nn.Module, Tensor, int, list[int] | None, tuple[int, ...], str]] = [
        (masked, nine, 9, None, (2, 3), "layers [0, 1] attend over 4 positions"),
        (masked, nine, 4, None, (0, 1), "layers [2, 3] attend over 9 positions"),
        (masked, nine, 9, [3], (3,), ""),
        (Functional(), nine, 9, None, (2, 3), "layers [0, 1] attend over 4 positions"),
        (Functional(), nine, 4, None, (0, 1), "layers [2, 3] attend over 9 positions"),
        (pooling, eight, 8, None, (0, 1), "layers [2, 3] attend over 4 positions"),
        (pooling, eight, 4, None, (2, 3), "layers [0, 1] attend over 8 positions"),
        (sam, picture, 64, None, (1, 3), "layers [0, 2] attend over 16 positions"),
    ]
    for model, read, n, layers, numbers, note in cases:
        trace = vt.capture(model, read, tokens=names(n), layers=layers)
        assert trace.layer_numbers("encoder") == numbers, (model, n)
        assert note in " ".join(trace.notes)
    alone = vt.capture(masked.seeing, nine[:, :4], tokens=names(4)).encoder_attention
    np.testing.assert_allclose(vt.capture(masked, nine, tokens=names(4)).encoder_attention, alone, atol=1e-6)


SEEN: list[Tensor] = []  # the weights that `Grouped` computed


class Grouped(nn.Module):
    """Two heads of attention inside rows, inside windows that became a batch, or with shared keys."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.qkv = how, nn.Linear(D, 3 * D)

    def forward(self, x: Tensor) -> Tensor:
        if self.how == "windows":
            x = x.unflatten(1, (3, 4)).flatten(0, 1)  # [batch · window, position, feature]
        query, key, value = (
            each.unflatten(-1, (2, -1)).transpose(-2, -3) for each in self.qkv(x).chunk(3, -1)
        )
        if self.how == "channels":
            query, key, value = query.mT, key.mT, value.mT
        if self.how == "shared":  # [batch, key head, query head, position, feature]
            query = torch.stack([query, query + 1], 2)
            weights = (query @ key[:, :, None].mT).softmax(-1)
            SEEN.append(weights.detach())
            return torch.einsum("bghqk,bgkd->bghqd", weights, value)
        weights = (query @ key.mT / 8**0.5).softmax(-1)
        SEEN.append(weights.detach())
        return weights @ value


@pytest.mark.parametrize("n_sentences", [1, 2])
def test_a_group_is_chosen_and_never_called_a_head_or_a_sentence(n_sentences: int) -> None:
    torch.manual_seed(0)
    rows, windows, shared = (Grouped(how).eval() for how in ("rows", "windows", "shared"))
    index = n_sentences - 1
    given: dict[str, Any] = {"tokens": names(4), "batch_index": index}
    apart, flat = torch.randn(n_sentences, 3, 4, D), torch.randn(n_sentences, 12, D)
    for group in range(3):
        trace = vt.capture(rows, apart, **given, group=group)
        np.testing.assert_allclose(trace.encoder_attention[0], SEEN[-1][index, group], atol=1e-6)
        assert f"3 groups of 4 positions; this is group {group}" in trace.notes[0]
        if n_sentences > 1:  # whose each is, the batch of windows does not tell
            said = "6 groups of 2 sentences together.*one sentence at a time"
            assert_refused([(lambda group=group: vt.capture(windows, flat, **given, group=group), said)])
            continue
        trace = vt.capture(windows, flat, **given, group=group)
        np.testing.assert_allclose(trace.encoder_attention[0], SEEN[-1][group], atol=1e-6)
    trace = vt.capture(shared, flat, tokens=names(12), batch_index=index)
    np.testing.assert_allclose(trace.encoder_attention[0], SEEN[-1][index].flatten(0, 1), atol=1e-6)
    groups, flattened = "3 groups of 4 positions", "one sentence at a time"
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: vt.capture(rows, apart, **given), groups),
        (
            lambda: vt.capture(windows, flat, **given),
            flattened if n_sentences > 1 else groups,
        ),
        (lambda: vt.capture(rows, apart, **given, group=3), "group=0 to 2"),
        (lambda: vt.capture(shared, flat, tokens=names(12), batch_index=index, group=1), "leave them out"),
        (lambda: vt.capture(np.eye(2)[None, None], run=0), "leave them out"),
        (lambda: vt.capture(shared, flat, tokens=names(12), batch_index=index, run=1), "runs once"),
        (lambda: vt.capture(rows, apart, **given, group=-1), "group=-1; give a whole number: group=0 is the"),
    ]
    assert_refused(cases)


def test_attention_between_channels_is_left_alone() -> None:
    model = Grouped("channels").eval()
    for read in (torch.randn(1, 9, D), torch.randn(2, 5, D)):
        for n in (read.shape[1], D // 2):
            assert_refused(
                [(lambda read=read, n=n: vt.capture(model, read, tokens=names(n)), "no attention")]
            )


class Looking(nn.Module):
    """Attention of one query over all keys, as RNN translators write it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.score = how, nn.Linear(D, 1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        scores = 4 * self.score(torch.tanh(query + keys))  # [batch, key, 1]
        weights = scores[..., 0].softmax(-1)  # [batch, key]
        SEEN.append(weights.detach())
        if self.how == "bmm":
            return torch.bmm(scores.squeeze(2).unsqueeze(1).softmax(-1), keys)
        if self.how == "transpose":
            return torch.bmm(scores.softmax(1).transpose(1, 2), keys)
        if self.how == "unsqueeze":
            return scores.squeeze(2).softmax(1).unsqueeze(1) @ keys
        if self.how == "einsum":
            return torch.einsum("bn,bnd->bd", scores.squeeze(2).softmax(1), keys)[:, None]
        if self.how == "sum":
            return (scores.softmax(1) * keys).sum(1, keepdim=True)
        return (scores[0, :, 0].softmax(0) @ keys[0])[None, None]  # "vector"


class Recurrent(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.words, self.attention = nn.Embedding(30, D), Looking(how)
        self.reader, self.writer = nn.GRU(D, D, batch_first=True), nn.GRU(2 * D, D, batch_first=True)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        keys, state = self.reader(self.words(source))
        for word in self.words(target).unbind(1):
            seen = self.attention(state.transpose(0, 1), keys)
            output, state = self.writer(torch.cat([word[:, None], seen], -1), state)
        return output


def test_the_usual_forms_of_an_rnns_attention_become_one_map() -> None:
    for how in ("bmm", "transpose", "unsqueeze", "einsum", "sum", "vector"):
        for n_sentences in (1,) if how == "vector" else (1, 3):
            torch.manual_seed(0)
            model = Recurrent(how).eval()
            source, target = torch.randint(30, (n_sentences, 6)), torch.randint(30, (n_sentences, 4))
            SEEN.clear()
            given = {"source_tokens": names(6), "target_tokens": names(4)}
            trace = vt.capture(model, source, target, **given, batch_index=n_sentences - 1)
            expected = torch.stack(SEEN, 1)[-1]  # [query, key]
            assert trace.kinds == ("cross",), how
            np.testing.assert_allclose(trace.cross_attention[0, 0], expected, atol=1e-6, err_msg=how)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))

    def forward(self, x: Tensor, read: Tensor) -> Tensor:
        query, key, value = (
            each.unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
            for each in (self.q(x), self.k(read), self.v(read))
        )
        blocked = torch.ones(x.shape[1], read.shape[1]).triu(1 + read.shape[1] - x.shape[1]).bool()
        weights = (query @ key.mT).masked_fill(blocked, -1e9).softmax(-1)
        return (weights @ value).transpose(1, 2).flatten(2)


class Writer(nn.Module):
    """A translator that writes four words in one forward, with a cache or without."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.reading = nn.Embedding(30, D), Attention()
        self.own, self.across = (nn.ModuleList([Attention(), Attention()]) for _ in range(2))
        self.cached = True

    def forward(self, source: Tensor, ids: Tensor | None = None) -> Tensor:
        memory = self.words(source)
        memory = memory + self.reading(memory, memory)
        written = torch.tensor([[1]]) if ids is None else ids
        while True:
            whole = self.words(written)
            x = whole[:, -1:] if self.cached and ids is None else whole
            for own, across in zip(self.own, self.across, strict=True):
                x = x + own(x, whole if self.cached and ids is None else x)
                x = x + across(x, memory)
            if ids is not None or written.shape[1] == 4:
                return written
            written = torch.cat([written, x[:, -1].argmax(-1)[None]], 1)


def test_a_translator_that_writes_in_its_forward_gives_whole_maps() -> None:
    torch.manual_seed(0)
    model, source = Writer().eval(), torch.randint(30, (1, 6))
    given = {"source_tokens": names(6), "target_tokens": names(4)}
    for cached in (True, False):
        model.cached = cached
        trace = vt.capture(model, source, **given)
        shapes = {kind: trace.attention(kind).shape for kind in trace.kinds}
        n = N_HEADS
        assert shapes == {"encoder": (1, n, 6, 6), "decoder": (2, n, 4, 4), "cross": (2, n, 4, 6)}, cached
        if not cached:  # one pass over what was written has the same weights
            whole = vt.capture(model, source, model(source), **given)
            for kind in trace.kinds:
                np.testing.assert_allclose(trace.attention(kind), whole.attention(kind), atol=1e-6)
