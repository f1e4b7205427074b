"""Ward 3: modules. Heads merged crosswise, and cross-attention that does not listen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.exercises.clinic.properties import (
    Property,
    Wrong,
    close,
    made,
    mended,
    no_leak,
    vectors,
)
from viz_transformer.exercises.instruments import who_learns
from viz_transformer.exercises.kinds import Exercise

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
    output = attention(vectors(2, 5, 8), vectors(8, 24, seed=1), 4)
    return isinstance(output, Tensor) and output.shape == (2, 5, 8)


def _heads_hide_the_future(attention: Callable[..., Any]) -> bool:
    return no_leak(lambda x: attention(x, vectors(8, 24, seed=1), 4), vectors(2, 5, 8))


def _heads_stand_side_by_side(attention: Callable[..., Any]) -> bool:
    x, w_qkv = vectors(2, 5, 8), vectors(8, 24, seed=1)
    return close(attention(x, w_qkv, 4), _self_attention(_side_by_side)(x, w_qkv, 4))


MERGED = mended(
    (
        Property(
            "the output has the shape of the input",
            _heads_have_their_shape,
            "The heads are not merged: the output is to be [batch, position, d_model], the four "
            "heads of a position behind each other in one vector.",
        ),
        Property(
            "no leak from the future",
            _heads_hide_the_future,
            "The future still leaks, and the mask is right: look at how the heads are merged. "
            "reshape takes the numbers as they lie in memory, and there a head's positions lie "
            "behind each other, not a position's heads.",
        ),
        Property(
            "each head has its own part",
            _heads_stand_side_by_side,
            "Each position has its own numbers now, in another order: the whole of head 0 first, "
            "then the whole of head 1. So W_O can find them.",
        ),
    ),
    _self_attention(_side_by_side),
    (
        Wrong("no leak from the future", _self_attention(_reshaped)),
        Wrong("the output has the shape of the input", _self_attention(_left_apart)),
        Wrong(
            "the output has the shape of the input",
            _self_attention(_averaged),
            "You take the mean of the heads. Their vectors are to stand behind each other: what "
            "one head found must not be mixed with what another one found.",
        ),
        Wrong("each head has its own part", _self_attention(_shuffled)),
    ),
    "transpose(1, 2) before the merge undoes the transpose(1, 2) of the split.",
    lambda attention: attention(vectors(2, 5, 8), vectors(8, 24, seed=1), 4),
)

# -- 10: deaf cross-attention ----------------------------------------------------------------------


class _CrossAttention(nn.Module):
    """The right one; a wrong one says what else its queries, keys and values are made of."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(key), self.w_v(value)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = self.project(query, key, value)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.w_o(weights @ v)


class _NothingAfterReturn(_CrossAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        q, k, v = self.project(query, key, value)
        return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v


class _Deaf(_NothingAfterReturn):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(query), self.w_v(query)


class _DeafToValues(_CrossAttention):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(key), self.w_v(query)


class _Swapped(_CrossAttention):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(value), self.w_v(key)


class _OneProjection(_CrossAttention):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.w_q(query), self.w_k(key), self.w_k(value)


_Q, _K, _V = (vectors(2, 4, 8, seed=seed) for seed in range(3))


def _hears_keys(cross: Callable[[int], nn.Module]) -> bool:
    module = made(cross, 8)
    return not close(module(_Q, _K, _V), module(_Q, vectors(2, 4, 8, seed=3), _V))


def _hears_values(cross: Callable[[int], nn.Module]) -> bool:
    module = made(cross, 8)
    return not close(module(_Q, _K, _V), module(_Q, _K, vectors(2, 4, 8, seed=3)))


def _all_learn(cross: Callable[[int], nn.Module]) -> bool:
    return not who_learns(made(cross, 8), _Q, _K, _V).silent


def _order_of_keys_is_nothing(cross: Callable[[int], nn.Module]) -> bool:
    module, order = made(cross, 8), torch.tensor([2, 0, 3, 1])
    return close(module(_Q, _K[:, order], _V[:, order]), module(_Q, _K, _V))


def _one_output_a_query(cross: Callable[[int], nn.Module]) -> bool:
    output = made(cross, 8)(_Q[:, :3], _K, _V)
    return isinstance(output, Tensor) and output.shape == (2, 3, 8)


def _follows_the_formula(cross: Callable[[int], nn.Module]) -> bool:
    module = made(cross, 8)
    q, k, v = module.w_q(_Q), module.w_k(_K), module.w_v(_V)
    weights = (q @ k.transpose(-2, -1) / math.sqrt(8)).softmax(-1)
    return close(module(_Q, _K, _V), module.w_o(weights @ v))


DEAF = mended(
    (
        Property(
            "other keys give another output",
            _hears_keys,
            "Still deaf: put other keys in, and the output stays the same. Read in forward which "
            "of its three inputs each projection is given.",
        ),
        Property(
            "other values give another output",
            _hears_values,
            "It hears the keys and not the values: the weights come from elsewhere, and what they "
            "gather does not.",
        ),
        Property(
            "every parameter takes part",
            _all_learn,
            "A parameter takes no part in the output and will never learn; who_learns names it. "
            "Which line uses it, and is that line ever reached?",
        ),
        Property(
            "the order of the keys is nothing",
            _order_of_keys_is_nothing,
            "Keys and values shuffled together change the output. A sum over keys has no order.",
        ),
        Property(
            "one output for each query",
            _one_output_a_query,
            "Three queries look at four keys, and three vectors should come out.",
        ),
        Property(
            "it follows the formula",
            _follows_the_formula,
            "Everything takes part, in the wrong place: the weights come from query and key, what "
            "they gather from value, and W_O comes last.",
        ),
    ),
    _CrossAttention,
    (
        Wrong("other keys give another output", _Deaf),
        Wrong("other values give another output", _DeafToValues),
        Wrong("every parameter takes part", _NothingAfterReturn),
        Wrong(
            "every parameter takes part",
            _OneProjection,
            "Keys and values go through the same projection, so w_v never learns. What a word is "
            "found by and what it hands over are two different things.",
        ),
        Wrong("it follows the formula", _Swapped),
    ),
    "The decoder asks, the encoder answers: query from the one, key and value from the other.",
    lambda cross: made(cross, 8)(_Q, _K, _V),
)

EXERCISES = (
    Exercise(
        "clinic.9",
        "Heads merged crosswise",
        MERGED,
        (
            "Trace the shapes: what are the axes before the merge, and which two of them must "
            "stand next to each other to become d_model?",
            "First [batch, position, head, d_head], by one transpose; then the last two axes become one.",
        ),
    ),
    Exercise(
        "clinic.10",
        "Attention that does not listen",
        DEAF,
        (
            "Two things are wrong: what the projections are given, and what is returned.",
            "No line after return is ever reached.",
        ),
    ),
)
