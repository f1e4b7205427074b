"""Section 3, modules: merging heads, an unused source, three mistakes in a block, shared layers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.exercises.answer_types import Exercise
from viz_transformer.exercises.clinic.checks import build_module, is_close, no_leak, random_vectors, runs
from viz_transformer.exercises.clinic.hidden_tests import HiddenTests, Property, WrongAnswer
from viz_transformer.exercises.instruments import who_learns

# -- 9: merging heads ------------------------------------------------------------------------------


def _self_attention(merge: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return causal self-attention that merges its heads [batch, head, position, d_head] so."""

    def self_attention(x: Tensor, w_qkv: Tensor, n_heads: int) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # [batch, head, position, d_head]
            for part in (x @ w_qkv).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return merge(scores.masked_fill(future, -math.inf).softmax(-1) @ v)

    return self_attention


def _side_by_side(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _reshaped(heads: Tensor) -> Tensor:
    batch, n_heads, length, d_head = heads.shape
    return heads.reshape(batch, length, n_heads * d_head)


def _left_apart(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2)


def _averaged(heads: Tensor) -> Tensor:
    return heads.mean(1)


def _shuffled(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(2)


def _heads_have_their_shape(attention: Callable[..., Any]) -> bool:
    output = attention(random_vectors(2, 5, 8), random_vectors(8, 24, seed=1), 4)
    return isinstance(output, Tensor) and output.shape == (2, 5, 8)


def _heads_hide_the_future(attention: Callable[..., Any]) -> bool:
    return no_leak(lambda x: attention(x, random_vectors(8, 24, seed=1), 4), random_vectors(2, 5, 8))


def _heads_are_side_by_side(attention: Callable[..., Any]) -> bool:
    x, w_qkv = random_vectors(2, 5, 8), random_vectors(8, 24, seed=1)
    return is_close(attention(x, w_qkv, 4), _self_attention(_side_by_side)(x, w_qkv, 4))


MERGED = HiddenTests(
    (
        Property(
            "the output has the shape of the input",
            _heads_have_their_shape,
            "The heads are not merged: the output must be [batch, position, d_model], with the four heads "
            "of a position each layer reads the output of the one before in one vector.",
        ),
        Property(
            "no leak from the future",
            _heads_hide_the_future,
            "Later words still leak, although the mask is right: look at how the heads are merged. "
            "reshape takes the numbers in memory order, in which the positions of a head follow each "
            "other, not the heads of a position.",
        ),
        Property(
            "each head has its own part",
            _heads_are_side_by_side,
            "Each position has its own numbers now, but in the wrong order: all numbers of head 0 come "
            "first, then all of head 1, as W_O expects.",
        ),
    ),
    _self_attention(_side_by_side),
    (
        WrongAnswer("no leak from the future", _self_attention(_reshaped)),
        WrongAnswer("the output has the shape of the input", _self_attention(_left_apart)),
        WrongAnswer(
            "the output has the shape of the input",
            _self_attention(_averaged),
            "You take the mean of the heads. Join their vectors each layer reads the output of the one "
            "before instead, so that the outputs of different heads are not mixed.",
        ),
        WrongAnswer("each head has its own part", _self_attention(_shuffled)),
    ),
    "transpose(1, 2) before the merge reverses the transpose(1, 2) of the split.",
    lambda attention: attention(random_vectors(2, 5, 8), random_vectors(8, 24, seed=1), 4),
)

# -- 10: cross-attention ---------------------------------------------------------------------------


class _CrossAttention(nn.Module):
    """The right one; a wrong one makes its queries, keys or values from another input."""

    reads = "qkv"  # which of query, key and value W_Q, W_K and W_V are given

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        given = {"q": query, "k": key, "v": value}
        q, k, v = (given[name] for name in self.reads)
        return self.w_q(q), self.w_k(k), self.w_v(v)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = self.project(query, key, value)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.w_o(weights @ v)


class _ReturnsEarly(_CrossAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = self.project(query, key, value)
        return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v


class _QueryOnly(_ReturnsEarly):
    reads = "qqq"


class _IgnoresValues(_CrossAttention):
    reads = "qkq"


class _Swapped(_CrossAttention):
    reads = "qvk"


class _OneProjection(_CrossAttention):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(key), self.w_k(value)


_Q, _K, _V = (random_vectors(2, 4, 8, seed=seed) for seed in range(3))


def _depends_on_keys(cross: Callable[[int], nn.Module]) -> bool:
    module = build_module(cross, 8)
    return not is_close(module(_Q, _K, _V), module(_Q, random_vectors(2, 4, 8, seed=3), _V))


def _depends_on_values(cross: Callable[[int], nn.Module]) -> bool:
    module = build_module(cross, 8)
    return not is_close(module(_Q, _K, _V), module(_Q, _K, random_vectors(2, 4, 8, seed=3)))


def _all_learn(cross: Callable[[int], nn.Module]) -> bool:
    return not who_learns(build_module(cross, 8), _Q, _K, _V).silent


def _order_of_keys_is_irrelevant(cross: Callable[[int], nn.Module]) -> bool:
    module, order = build_module(cross, 8), torch.tensor([2, 0, 3, 1])
    return is_close(module(_Q, _K[:, order], _V[:, order]), module(_Q, _K, _V))


def _one_output_a_query(cross: Callable[[int], nn.Module]) -> bool:
    output = build_module(cross, 8)(_Q[:, :3], _K, _V)
    return isinstance(output, Tensor) and output.shape == (2, 3, 8)


def _follows_the_formula(cross: Callable[[int], Any]) -> bool:
    module = build_module(cross, 8)
    q, k, v = module.w_q(_Q), module.w_k(_K), module.w_v(_V)
    weights = (q @ k.transpose(-2, -1) / math.sqrt(8)).softmax(-1)
    return is_close(module(_Q, _K, _V), module.w_o(weights @ v))


DEAF = HiddenTests(
    (
        Property(
            "other keys give another output",
            _depends_on_keys,
            "The output still does not depend on the keys: other keys give the same output. Which of the "
            "three inputs of forward does each projection get?",
        ),
        Property(
            "other values give another output",
            _depends_on_values,
            "The output depends on the keys but not on the values. Which input are the values made from?",
        ),
        Property(
            "every parameter takes part",
            _all_learn,
            "The output does not depend on one of the parameters, so it is never trained; who_learns "
            "shows which. Which line uses it, and is that line run?",
        ),
        Property(
            "the order of the keys does not matter",
            _order_of_keys_is_irrelevant,
            "The output changes if keys and values are shuffled together. It is a sum over the keys, so "
            "their order must not matter.",
        ),
        Property(
            "one output for each query",
            _one_output_a_query,
            "For three queries and four keys the output must have three vectors.",
        ),
        Property(
            "it follows the formula",
            _follows_the_formula,
            "All parts are used, but in the wrong order: compute the weights from query and key, multiply "
            "them by value, and apply W_O last.",
        ),
    ),
    _CrossAttention,
    (
        WrongAnswer("other keys give another output", _QueryOnly),
        WrongAnswer("other values give another output", _IgnoresValues),
        WrongAnswer("every parameter takes part", _ReturnsEarly),
        WrongAnswer(
            "every parameter takes part",
            _OneProjection,
            "Keys and values use the same projection, so w_v is never trained. Keys determine the weights "
            "and values the output, so each needs its own projection.",
        ),
        WrongAnswer("it follows the formula", _Swapped),
    ),
    "Queries come from the decoder, and keys and values from the encoder.",
    lambda cross: build_module(cross, 8)(_Q, _K, _V),
)

# -- 11: three mistakes in one block --------------------------------------------------------------


class _Block(nn.Module):
    """The right one; `batch_first` and `attend` are what the wrong ones change."""

    batch_first = True

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=self.batch_first)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x, attn_mask=may_not, key_padding_mask=padding)[0]

    def forward(self, x: Tensor, may_not: Tensor | None = None, padding: Tensor | None = None) -> Tensor:
        x = self.norm_1(x + self.attend(x, may_not, padding))
        return self.norm_2(x + self.feed_forward(x))


class _WithTuple(_Block):
    batch_first = False

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x)


class _SequenceFirst(_Block):
    batch_first = False

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x)[0]


class _NoMasks(_SequenceFirst):
    batch_first = True


class _NoPadding(_Block):
    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x, attn_mask=may_not)[0]


_Blocks = Callable[[int, int, int], nn.Module]


def _block(block: _Blocks) -> nn.Module:
    return build_module(block, 8, 2, 16)


def _gives_a_tensor(block: _Blocks) -> bool:
    module, x = _block(block), random_vectors(3, 4, 8)
    return runs(module, x) and is_close(module(x) * 0, x * 0)


def _sentences_are_apart(block: _Blocks) -> bool:
    return no_leak(_block(block), random_vectors(3, 4, 8), between="sentences")


def _causal_mask_is_used(block: _Blocks) -> bool:
    module, future = _block(block), torch.ones(4, 4, dtype=torch.bool).triu(1)
    return no_leak(lambda x: module(x, future), random_vectors(3, 4, 8))


def _padding_is_used(block: _Blocks) -> bool:
    module, x = _block(block), random_vectors(3, 4, 8)
    longer = torch.cat([x, random_vectors(3, 2, 8, seed=1)], 1)  # two positions of padding behind
    padding = torch.tensor([[False] * 4 + [True] * 2]).expand(3, 6)
    return is_close(module(longer, None, padding)[:, :4], module(x))


BLOCK = HiddenTests(
    (
        Property(
            "the output has the shape of the input",
            _gives_a_tensor,
            "It still raises an error: nn.MultiheadAttention returns a tuple of the output and the "
            "weights, which cannot be added to a tensor. Add the output only.",
        ),
        Property(
            "no leak between sentences",
            _sentences_are_apart,
            "It runs, but words attend to other sentences: by default, nn.MultiheadAttention takes the "
            "first axis for positions and the second for the batch.",
        ),
        Property(
            "the causal mask is used",
            _causal_mask_is_used,
            "The block does not use may_not, so later words leak. Which argument of nn.MultiheadAttention "
            "is the mask [query, key]?",
        ),
        Property(
            "padding does not change the output",
            _padding_is_used,
            "Two positions of padding after a sentence change the outputs of its words. One argument of "
            "forward is not used yet.",
        ),
    ),
    _Block,
    (
        WrongAnswer("the output has the shape of the input", _WithTuple),
        WrongAnswer("no leak between sentences", _SequenceFirst),
        WrongAnswer("the causal mask is used", _NoMasks),
        WrongAnswer("padding does not change the output", _NoPadding),
    ),
    "There were three mistakes, but only the first one raised an error. With the others the model would "
    "have been trained wrongly.",
)

# -- 12: the same layer six times ------------------------------------------------------------------


class _Stack(nn.Module):
    """The right one; the wrong ones make or use their layers in another way."""

    def __init__(self, make_layer: Callable[[], nn.Module], n_layers: int) -> None:
        super().__init__()
        self.layers = self.build(make_layer, n_layers)

    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class _OneLayer(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return nn.ModuleList([make_layer()] * n_layers)


class _OneLayerWithoutReturn(_OneLayer):
    def forward(self, x: Tensor) -> None:
        super().forward(x)


class _Copies(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        layer = make_layer()
        return nn.ModuleList([copy.deepcopy(layer) for _ in range(n_layers)])


class _PlainList(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return [make_layer() for _ in range(n_layers)]


class _OnlyTheLast(_Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            y = layer(x)
        return y


def _stack(stack: Callable[..., nn.Module]) -> nn.Module:
    return build_module(stack, lambda: nn.Linear(8, 8), 6)


def _returns(stack: Callable[..., nn.Module]) -> bool:
    return isinstance(_stack(stack)(random_vectors(2, 4, 8)), Tensor)


def _linears(stack: Callable[..., nn.Module]) -> list[nn.Module]:
    return [each for each in _stack(stack).modules() if isinstance(each, nn.Linear)]


def _registered(stack: Callable[..., nn.Module]) -> bool:
    return len(_linears(stack)) > 0


def _six_of_them(stack: Callable[..., nn.Module]) -> bool:
    return len(_linears(stack)) == 6


def _all_different(stack: Callable[..., nn.Module]) -> bool:
    return not who_learns(_stack(stack), random_vectors(2, 4, 8)).twins


def _one_after_another(stack: Callable[..., nn.Module]) -> bool:
    x = random_vectors(2, 4, 8)
    found = _stack(stack)(x)
    for layer in _linears(stack):
        x = layer(x)
    return is_close(found, x)


LAYERS = HiddenTests(
    (
        Property(
            "forward returns a tensor",
            _returns,
            "It still returns None: forward runs the layers but has no return. (That is not its only "
            "mistake.)",
        ),
        Property(
            "torch registers the layers",
            _registered,
            "torch does not register the layers of a plain list: parameters() is empty, so no parameter "
            "would be trained or saved. Use nn.ModuleList.",
        ),
        Property(
            "the six layers are different objects",
            _six_of_them,
            "The list holds the same layer six times: [layer] * 6 repeats one object. The stack has a "
            "sixth of the parameters.",
        ),
        Property(
            "the layers have different initial parameters",
            _all_different,
            "There are six layers now, but all have the same initial parameters: a copy has the same "
            "weights. Call make_layer once for each.",
        ),
        Property(
            "each layer reads the output of the one before",
            _one_after_another,
            "Each layer must read the output of the one before it. Here the outputs of some layers are "
            "not used.",
        ),
    ),
    _Stack,
    (
        WrongAnswer("forward returns a tensor", _OneLayerWithoutReturn),
        WrongAnswer("the six layers are different objects", _OneLayer),
        WrongAnswer("the layers have different initial parameters", _Copies),
        WrongAnswer("torch registers the layers", _PlainList),
        WrongAnswer("each layer reads the output of the one before", _OnlyTheLast),
    ),
    "Each of the six layers now has its own parameters.",
)

EXERCISES = (
    Exercise(
        "clinic.9",
        "Several heads from one projection",
        MERGED,
        (
            "Trace the shapes: what are the axes before the merge, and which two of them must be next to "
            "each other to become d_model?",
            "First [batch, position, head, d_head], by one transpose; then the last two axes become one.",
        ),
        repairs={
            "    future = torch.ones(length, length, dtype=torch.bool).triu(1)": (
                "    future = torch.ones(length, length, dtype=torch.bool).tril()",
            ),
            "    return heads.reshape(batch, length, d_model)": (
                "    return heads.transpose(1, 2)",
                "    return heads.permute(0, 2, 3, 1).reshape(batch, length, d_model)",
                "    return heads.mean(1)",
                "    return heads.transpose(1, 2).reshape(batch, length, d_model)",
            ),
        },
    ),
    Exercise(
        "clinic.10",
        "Cross-attention",
        DEAF,
        (
            "Two things are wrong: the inputs of the projections, and the return.",
            "A line after return is never run.",
        ),
        repairs={
            "        k = self.w_k(query)": ("        k = self.w_k(key)", "        k = self.w_k(value)"),
            "        v = self.w_v(query)": ("        v = self.w_v(key)", "        v = self.w_v(value)"),
            "        return weights @ v": ("",),
        },
    ),
    Exercise(
        "clinic.11",
        "A block",
        BLOCK,
        (
            "Repair the error first, then use the leak meter, once between sentences and once between "
            "positions.",
            "output, weights = self.attention(…); batch_first=True; attn_mask= and key_padding_mask=.",
        ),
        repairs={
            "        self.attention = nn.MultiheadAttention(d_model, n_heads)": (
                "        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)",
            ),
            "        x = self.norm_1(x + self.attention(x, x, x))": (
                "        x = self.norm_1(x + self.attention(x, x, x)[0])",
                "        x = self.norm_1(x + self.attention(x, x, x, attn_mask=may_not)[0])",
                "        attended, _ = self.attention(x, x, x, attn_mask=may_not, key_padding_mask=padding)\n"
                "        x = self.norm_1(x + attended)",
                "        attended, _ = self.attention(x, x, x, attn_mask=padding, key_padding_mask=may_not)\n"
                "        x = self.norm_1(x + attended)",
            ),
        },
    ),
    Exercise(
        "clinic.12",
        "A stack of layers",
        LAYERS,
        (
            "Count the parameters: one layer has 8 × 8 + 8 = 72.",
            "make_layer() builds a new layer each time that it is called.",
        ),
        repairs={
            "        self.layers = nn.ModuleList([make_layer()] * n_layers)": (
                "        self.layers = [make_layer() for _ in range(n_layers)]",
                "        self.layers = nn.ModuleList([make_layer() for _ in range(n_layers)])",
                "        layer = make_layer()\n"
                "        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n_layers)])",
            ),
            "            x = layer(x)": (
                "            return layer(x)",
                "            y = layer(x)\n        return y",
                "            x = layer(x)\n        return x",
            ),
        },
    ),
)
