"""Weights that are there already, and the labels of sub-words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import viz_transformer as vt
from tests.support.refusals import assert_refused
from viz_transformer.analysis.words import join_pieces
from viz_transformer.capturing.arguments import labels_of_ids
from viz_transformer.errors import UserError
from viz_transformer.trace.byte_level import text_of_bytes

NAMES = ["a", "b", "c"]


def weights(*shape: int, causal: bool = False) -> torch.Tensor:
    scores = torch.randn(shape)
    if causal:
        scores = scores.masked_fill(torch.ones(shape[-2:]).triu(1).bool(), -torch.inf)
    return scores.softmax(-1)


@pytest.mark.parametrize("causal", [True, False])
def test_an_array_of_layers(causal) -> None:
    kind = "decoder" if causal else "encoder"
    for as_array in (np.asarray, torch.as_tensor, lambda x: x.double()):
        for shape in ((3, 3), (4, 3, 3), (2, 4, 3, 3)):  # fewer axes are one head, or one layer
            given = weights(*shape, causal=causal)
            trace = vt.capture(as_array(given), tokens=NAMES)
            assert (trace.kinds, trace.key_tokens(kind)) == ((kind,), tuple(NAMES))
            n_layers = 2 if len(shape) == 4 else 1
            np.testing.assert_array_equal(trace.attention(kind), given.reshape(n_layers, -1, 3, 3))


def test_weights_are_kept_on_the_cpu_wherever_new_tensors_go() -> None:
    given = weights(2, 4, 3, 3).numpy()
    with torch.device("meta"):  # as in a session whose default device is a GPU
        np.testing.assert_array_equal(vt.capture(given, tokens=NAMES).encoder_attention, given)


def test_a_sequence_of_layers() -> None:
    for container in (list, tuple):
        layers = container(weights(2, 4, 3, 3) for _ in range(5))
        trace = vt.capture(layers, tokens=NAMES, batch_index=1)
        np.testing.assert_array_equal(trace.encoder_attention, np.stack([x[1] for x in layers]))
        with pytest.raises(UserError, match="batch_index=0 to 1"):
            vt.capture(layers, tokens=NAMES)


def test_a_named_side_decides() -> None:
    given = weights(1, 1, 3, 3)
    assert vt.capture(given, target_tokens=NAMES).kinds == ("decoder",)
    assert vt.capture(given, source_tokens=NAMES).kinds == ("encoder",)
    cross = vt.capture(weights(1, 2, 2, 3), source_tokens=NAMES, target_tokens=NAMES[:2])
    assert (cross.kinds, cross.target_tokens) == (("cross",), ("a", "b"))


def test_labels_are_numbers_where_none_were_given() -> None:
    """0, 1, 2 …, whether the weights are an array, layers, a cache or cross-attention."""
    numbers = ("0", "1", "2")
    assert vt.capture(weights(2, 4, 3, 3)).source_tokens == numbers
    assert vt.capture([weights(1, 4, 3, 3, causal=True)] * 2).target_tokens == numbers
    assert vt.capture(weights(2, 3, 3)[None].tolist()).source_tokens == numbers
    cross = vt.capture(weights(1, 2, 2, 3))
    assert (cross.kinds, cross.target_tokens, cross.source_tokens) == (("cross",), numbers[:2], numbers)
    both = vt.capture(
        {
            "encoder.0.attn.hook_pattern": weights(1, 2, 3, 3),
            "decoder.0.cross_attn.hook_pattern": weights(1, 4, 2, 3),
        }
    )
    assert (both.source_tokens, both.target_tokens) == (numbers, numbers[:2])


class Cache:
    """A cache that is no dict, as TransformerLens's is not."""

    def __init__(self, held: dict) -> None:
        self.held = held

    def keys(self):
        return self.held.keys()

    def __getitem__(self, name):
        return self.held[name]


@pytest.mark.parametrize("cache", [dict, Cache])
@pytest.mark.parametrize("shape", [(1, 2, 3, 3), (2, 3, 3)])
def test_a_transformer_lens_cache(cache, shape) -> None:
    layers = [weights(*shape, causal=True) for _ in range(11)]  # "10" sorts before "9" as text
    held = {f"blocks.{i}.attn.hook_pattern": layer for i, layer in enumerate(layers)}
    held = {"hook_embed": torch.zeros(1, 3, 8), **dict(reversed(held.items()))}
    trace = vt.capture(cache(held), tokens=NAMES)
    expected = np.stack([layer.reshape(2, 3, 3) for layer in layers])
    np.testing.assert_array_equal(trace.decoder_attention, expected)


def test_the_cache_of_an_encoder_decoder() -> None:
    held = {
        "encoder.0.attn.hook_pattern": weights(1, 2, 3, 3),
        "decoder.0.attn.hook_pattern": weights(1, 4, 2, 2, causal=True),
        "decoder.0.cross_attn.hook_pattern": weights(1, 4, 2, 3),
    }
    trace = vt.capture(held, source_tokens=NAMES, target_tokens=NAMES[:2])
    for kind, given in zip(("encoder", "decoder", "cross"), held.values(), strict=True):
        np.testing.assert_array_equal(trace.attention(kind), given)


def test_a_gap_in_the_layers_leaves_each_its_number() -> None:
    first, last = weights(2, 3, 3), weights(2, 3, 3)
    held = {"blocks.2.attn.hook_pattern": last, "blocks.0.attn.hook_pattern": first}
    for given in (held, [first, None, last]):
        trace = vt.capture(given, tokens=NAMES)
        assert trace.layer_numbers("encoder") == (0, 2)
        np.testing.assert_array_equal(trace.encoder_attention, np.stack([first, last]))


def test_rows_that_attend_to_nothing_may_be_zero() -> None:
    given = weights(1, 1, 3, 3)
    given[..., 1, :] = 0
    np.testing.assert_array_equal(vt.capture(given, tokens=NAMES).encoder_attention, given)


def test_what_does_not_fit_is_refused() -> None:
    cases = [
        ({"blocks.0.attn.hook_q": weights(2, 3, 3)}, "no attention was captured"),
        ({}, "no attention was captured"),
        ([], "no attention was captured"),
        (SimpleNamespace(), "SimpleNamespace is neither a torch module nor attention weights"),
        (torch.randn(1, 2, 3, 3), "after the softmax and before dropout"),
        (weights(1, 2, 3, 3) * 0.9, "sums to 0.900"),
        (weights(1, 2, 3, 4), "3 queries and 4 keys, so it is no map of a sequence onto itself"),
        (weights(1, 2, 4, 4), "3 source tokens were given, but .* 4 source positions"),
        (torch.full((1, 2, 3, 3), torch.nan), "NaN"),
        (
            [weights(2, 3, 3), weights(4, 3, 3)],
            r"layers=\[0\] \(2 heads, 3 × 3\), layers=\[1\] \(4 heads",
        ),
        ([weights(2, 3, 3), weights(2, 2, 2)], r"\(2 heads, 3 × 3\), layers=\[1\] \(2 heads, 2 × 2\)"),
        ([torch.ones(3)], r"shape \[3\]"),
        (weights(1, 1, 1, 2, 3, 3), r"shape \[1, 1, 2, 3, 3\]"),
        ([weights(2, 3, 3), weights(2, 3, 3, causal=True)], "some layers look ahead"),
    ]
    rows = [(lambda given=given: vt.capture(given, tokens=NAMES), said) for given, said in cases]
    explored = (
        r"not Tensor; capture makes .* layer=2, head=4, query=3, key=3: vt.explore\(vt.capture",
        r"not dict; make one with vt\.capture\(model",
    )
    rows += [
        (lambda: vt.capture(weights(1, 1, 1, 1)), "one token has nothing to hide"),
        (lambda: vt.capture(weights(2, 3, 3), input_ids=[1, 2, 3]), "Tensor is not .* so it reads no input"),
        (lambda: vt.capture("bert-base-uncased", "the cat", tokens=NAMES), "a str is not a torch module"),
        (lambda: vt.explore(weights(2, 4, 3, 3)), explored[0]),
        (lambda: vt.explore({}), explored[1]),
    ]
    assert_refused(rows)


def byte_level(merges: list[tuple[str, str]]) -> PreTrainedTokenizerFast:
    """A tokenizer of bytes, some of which are merged."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, *map("".join, merges)]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_bytes_are_read_as_text() -> None:
    tokenizer = byte_level([("ä", "½"), ("å", "¥"), ("å¥", "½")])  # 你 in two pieces, 好 in one
    encoding = tokenizer(" 你好", return_tensors="pt")
    labels = labels_of_ids(tokenizer, encoding["input_ids"][0].tolist(), encoding)
    assert labels.tokens == ("Ġ", "<0xE4><0xBD>", "<0xA0>", "好")
    assert labels.words == (0, 0, 0, 0)
    assert join_pieces(list(labels.tokens)) == "你好"
    by_marks = labels_of_ids(tokenizer, encoding["input_ids"][0].tolist())
    assert (by_marks.tokens, by_marks.words) == (labels.tokens, labels.words)
    assert labels_of_ids(tokenizer, [0, 300]).tokens[1] == "<300>", "an id without a token"
    words = {"Ġthe": "Ġthe", "cafÃ©": "café", "Ġä½łå¥½": "Ġ你好", "âĢĻs": "’s", "Ċ": "Ċ", "你": "你"}
    assert {token: text_of_bytes(token) for token in words} == words
    assert join_pieces(["Ġ<0xE4><0xBD>", "<0xA0>", "好"]) == "你好"
    assert join_pieces(["<0xE4>", "<0xBD>"]) == "<0xE4><0xBD>"
