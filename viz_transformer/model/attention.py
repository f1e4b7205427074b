"""Attention: each query gathers values from the keys that it matches.

Letters in the shapes: `query` and `key` count positions, `d_model` is the width of a position's
vector, `d_head` = d_model / n_heads is the width of one head (d_k and d_v in the paper).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.model.masks import check_mask

#: `attend` or `attend_fused`: how a layer is told which of the two to use.
Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], tuple[Tensor, Tensor | None]]


def attend(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]]:
    """Scaled dot-product attention: softmax(Q Kᵀ / √d_k) V.

    The dot products of longer vectors are larger (their variance is d_k), and a softmax of large
    numbers puts all its weight on one key and passes hardly any gradient: hence the √d_k.

    Args:
        query: [..., query, d_k], mostly [batch, head, query, d_head].
        key: [..., key, d_k].
        value: [..., key, d_v].
        mask: bool, True = may attend, broadcastable to [..., query, key]; None lets all attend.
        dropout: probability of dropping a weight on its way to the values; 0 when not training.

    Returns:
        The output [..., query, d_v], and the weights [..., query, key] as they are before dropout.
        Each row of weights sums to 1; the row of a query that may attend to nothing is all
        zeros, and so is its output.

    Raises:
        UserError: if the mask is not boolean or does not broadcast to the scores.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [..., query, key]
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        check_mask(mask, scores.shape)
        # The lowest number instead of the paper's -inf: a row of -inf alone would become NaN,
        # and so would every gradient behind it. The second fill makes such a row zero.
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
    output = F.dropout(weights, dropout) @ value  # [..., query, d_v]
    return output, weights


def attend_fused(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query d_v"], None]:
    """Compute the same output as `attend` in one call to torch, which never shows the weights.

    For training and decoding, where speed matters and nobody looks. Arguments and errors are
    those of `attend`; in place of the weights it returns None.
    """
    if mask is not None:
        check_mask(mask, query.shape[:-1] + key.shape[-2:-1])
    return F.scaled_dot_product_attention(query, key, value, mask, dropout), None


class KeysValues(NamedTuple):
    """What a sentence offers to the queries that look at it, in every head of one layer."""

    keys: Float[Tensor, "batch head key d_head"]
    values: Float[Tensor, "batch head key d_head"]

    def extend(self, new: "KeysValues") -> "KeysValues":
        """Return these with the keys and values of further positions behind them."""
        keys = torch.cat([self.keys, new.keys], dim=2)  # [batch, head, key + new, d_head]
        values = torch.cat([self.values, new.values], dim=2)  # [batch, head, key + new, d_head]
        return KeysValues(keys, values)

    def select(self, rows: Int[Tensor, " selected"]) -> "KeysValues":
        """Return those of the given rows of the batch, in the given order."""
        return KeysValues(self.keys[rows], self.values[rows])  # [selected, head, key, d_head]


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own projection of the vectors.

        head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
        MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O

    The matrices of all heads are stored side by side as one: W^Q is [W_1^Q … W_h^Q].

    Args:
        d_model: width of every position's vector.
        n_heads: number of heads; it must divide d_model.
        dropout: probability of dropping an attention weight while training.
        bias: whether the four projections add a bias (the paper's do not).

    Raises:
        UserError: if n_heads does not divide d_model.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise UserError(
                f"n_heads={n_heads} does not divide d_model={d_model}; "
                "choose sizes such as n_heads=4 and d_model=32"
            )
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.dropout = dropout
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query_input: Float[Tensor, "batch query d_model"],
        key_value_input: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "#batch #head #query #key"] | None = None,
        attention: Attention = attend,
    ) -> tuple[
        Float[Tensor, "batch query d_model"],
        Float[Tensor, "batch {self.n_heads} query key"] | None,
    ]:
        """Look from every position of one sequence at every position of another.

        Self-attention gives the same sequence twice; cross-attention gives the decoder's vectors
        as `query_input` and the encoder's as `key_value_input`.

        Args:
            query_input: [batch, query, d_model].
            key_value_input: [batch, key, d_model].
            mask: bool, True = may attend, broadcastable to [batch, head, query, key].
            attention: `attend`, or `attend_fused` where the weights are not wanted.

        Returns:
            The output [batch, query, d_model] and what `attention` gave as weights:
            [batch, head, query, key], or None from `attend_fused`.

        Raises:
            UserError: if the mask is not boolean or does not broadcast to the scores.
        """
        return self.look(query_input, self.keys_values(key_value_input), mask, attention)

    def keys_values(self, x: Float[Tensor, "batch key d_model"]) -> KeysValues:
        """Project a sequence to the keys and values of every head."""
        return KeysValues(self._split_heads(self.w_k(x)), self._split_heads(self.w_v(x)))

    def look(
        self,
        query_input: Float[Tensor, "batch query d_model"],
        keys_values: KeysValues,
        mask: Bool[Tensor, "#batch #head #query #key"] | None,
        attention: Attention,
    ) -> tuple[
        Float[Tensor, "batch query d_model"],
        Float[Tensor, "batch {self.n_heads} query key"] | None,
    ]:
        """Look at keys and values that are there already: `forward` without its first half."""
        query = self._split_heads(self.w_q(query_input))  # [batch, head, query, d_head]
        dropout = self.dropout if self.training else 0.0
        heads, weights = attention(query, *keys_values, mask, dropout)
        return self.w_o(self._merge_heads(heads)), weights

    def _split_heads(
        self, x: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch {self.n_heads} position {self.d_head}"]:
        x = x.unflatten(-1, (self.n_heads, self.d_head))  # [batch, position, head, d_head]
        return x.transpose(1, 2)  # [batch, head, position, d_head]

    def _merge_heads(
        self, heads: Float[Tensor, "batch {self.n_heads} position {self.d_head}"]
    ) -> Float[Tensor, "batch position d_model"]:
        x = heads.transpose(1, 2)  # [batch, position, head, d_head]
        return x.flatten(-2)  # [batch, position, d_model]
