"""Scaled dot-product and multi-head attention.

Letters in the shapes: `query` and `key` count positions, `d_model` is the width of a position's
vector, `d_head` = d_model / n_heads is the width of one head (d_k and d_v in the paper).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import Scoring
from viz_transformer.errors import UserError
from viz_transformer.model.inputs import check_alike
from viz_transformer.model.masks import check_mask, check_not_inverted
from viz_transformer.model.positional import RotaryPositions
from viz_transformer.model.scoring import Score, dot, make_score, scaled_dot

#: The type of `attend` and `attend_fused`, between which a layer's caller chooses.
Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None, float, Score], tuple[Tensor, Tensor | None]]


def attend(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    dropout: float = 0.0,
    score: Score = scaled_dot,
) -> tuple[Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]]:
    """Attention: softmax(score(Q, K)) V, and with the scaled dot product softmax(Q Kᵀ / √d_k) V.

    The dot products of longer vectors are larger (their variance is d_k), and a softmax of large
    numbers puts all its weight on one key and passes hardly any gradient: hence the √d_k.

    >>> import torch
    >>> from viz_transformer.model import attend
    >>> q, k, v = torch.randn(3, 1, 2, 5, 8)  # [batch, head, position, d]
    >>> out, weights = attend(q, k, v)
    >>> tuple(out.shape), tuple(weights.shape)
    ((1, 2, 5, 8), (1, 2, 5, 5))

    Args:
        query: [..., query, d_k], mostly [batch, head, query, d_head].
        key: [..., key, d_k].
        value: [..., key, d_v].
        mask: bool, True = may attend, with as many axes as the scores [..., query, key], each as
            long as theirs or 1; None lets all attend.
        dropout: probability of dropping a weight before it multiplies its value; 0 when not training.
        score: how queries and keys are compared; see `scoring`.

    Returns:
        The output [..., query, d_v], and the weights [..., query, key] as they are before dropout.
        Each row of weights sums to 1; the row of a query that may attend to nothing is all
        zeros, and so is its output.

    Raises:
        UserError: if the mask is not boolean, does not broadcast to the scores or is an inverted
            causal mask, or if query, key and value differ in dtype or device.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    check_tensors(query, key, value, mask)
    if mask is not None:
        check_not_inverted(mask)
    weights = masked_softmax(score(query, key), mask)  # [..., query, key]
    output = F.dropout(weights, dropout) @ value  # [..., query, d_v]
    return output, weights


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "*#batch #query #key"] | None
) -> Float[Tensor, "*batch query key"]:
    """Turn each row of scores into weights that sum to 1, or to 0 where no key may be attended to."""
    if mask is None or mask.all():
        return scores.softmax(dim=-1)
    # The lowest number instead of the paper's -inf: a row of -inf alone would become NaN,
    # and so would every gradient behind it.
    lowest = scores.new_tensor(torch.finfo(scores.dtype).min)
    barred = torch.where(mask, scores.new_zeros(()), lowest)  # as small as the mask: cheap
    weights = (scores + barred).softmax(dim=-1)  # [..., query, key]
    may_attend = mask.any(dim=-1, keepdim=True)  # [..., query, 1]
    return weights if may_attend.all() else weights * may_attend


def attend_fused(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    dropout: float = 0.0,
    score: Score = scaled_dot,
) -> tuple[Float[Tensor, "*batch query d_v"], None]:
    """Compute the same output as `attend` in one call to torch, which never shows the weights.

    For training and decoding, where speed matters and the weights are not needed. Arguments and
    errors are those of `attend`; in place of the weights it returns None. Torch computes dot
    products only: any other score is computed as in `attend`.
    """
    if score is not scaled_dot and score is not dot:
        return attend(query, key, value, mask, dropout, score)[0], None
    check_tensors(query, key, value, mask)
    scale = 1.0 if score is dot else None  # None: torch's own 1/√d_k
    return F.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scale), None


def check_tensors(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Check the tensors that attention computes with.

    Raises:
        UserError: if dtypes or devices differ, or the mask is not boolean or does not broadcast.
    """
    check_alike(query=query, key=key, value=value)
    if mask is not None:
        check_mask(mask, query.shape[:-1] + key.shape[-2:-1])
        if mask.device != query.device:
            raise UserError(
                f"the mask is on {mask.device} and the query on {query.device}; "
                "move it with mask.to(query.device)"
            )


class KeysValues(NamedTuple):
    """The keys and values of a sentence, in every head of one layer."""

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


class KeyValueCache:
    """The keys and values that one attention layer has computed; each step of decoding adds to them.

    The tensors themselves are never changed: an update replaces them by longer ones.

    Attributes:
        keys_values: those of all positions so far.
    """

    def __init__(self, keys_values: KeysValues) -> None:
        """Begin with what is there."""
        self.keys_values = keys_values

    @property
    def length(self) -> int:
        """Number of positions so far."""
        return self.keys_values.keys.shape[2]

    def update(self, new: KeysValues) -> KeysValues:
        """Add those of further positions, and return all."""
        self.keys_values = self.keys_values.extend(new)
        return self.keys_values


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
        scoring: ``"scaled_dot"``, ``"dot"`` or ``"additive"``; the last has parameters of its own.
        rotary_length: for self-attention with rotary positions, how far they reach; else None.

    Raises:
        UserError: if n_heads does not divide d_model, or not into even widths for rotary positions.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        scoring: Scoring = "scaled_dot",
        rotary_length: int | None = None,
    ) -> None:
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
        self.score = make_score(scoring, n_heads, self.d_head)
        self.rotary = None if rotary_length is None else RotaryPositions(rotary_length, self.d_head)

    def forward(
        self,
        query_input: Float[Tensor, "batch query d_model"],
        key_value_input: Float[Tensor, "batch new d_model"] | KeysValues,
        mask: Bool[Tensor, "#batch #head #query #key"] | None = None,
        attention: Attention = attend,
        start: int | None = 0,
        cache: KeyValueCache | None = None,
    ) -> tuple[
        Float[Tensor, "batch query d_model"],
        Float[Tensor, "batch {self.n_heads} query key"] | None,
    ]:
        """Look from every position of one sequence at every position of another.

        Self-attention gives the same sequence twice; cross-attention gives the decoder's vectors
        as `query_input` and the encoder's as `key_value_input`.

        Args:
            query_input: [batch, query, d_model].
            key_value_input: [batch, new, d_model], or what `keys_values` made of it before.
            mask: bool, True = may attend, broadcastable to [batch, head, query, key].
            attention: `attend`, or `attend_fused` where the weights are not wanted.
            start: the first position, if positions are rotary; None leaves all vectors unturned.
            cache: keys and values of the positions before, to which those of this call are added;
                without one, key = new.

        Returns:
            The output [batch, query, d_model] and what `attention` gave as weights:
            [batch, head, query, key], or None from `attend_fused`.

        Raises:
            UserError: as `attend`.
        """
        if isinstance(key_value_input, KeysValues):
            keys_values = key_value_input
        else:
            keys_values = self.keys_values(key_value_input, start)
        if cache is not None:
            keys_values = cache.update(keys_values)
        query = self._split_heads(self.w_q(query_input))  # [batch, head, query, d_head]
        if self.rotary is not None and start is not None:
            query = self.rotary(query, start)
        dropout = self.dropout if self.training else 0.0
        heads, weights = attention(query, *keys_values, mask, dropout, self.score)
        x = heads.transpose(1, 2).flatten(-2)  # [batch, position, d_model]
        return self.w_o(x), weights

    def keys_values(self, x: Float[Tensor, "batch key d_model"], start: int | None = 0) -> KeysValues:
        """Project a sequence, its first word at `start`, to the keys and values of every head."""
        keys = self._split_heads(self.w_k(x))  # [batch, head, key, d_head]
        if self.rotary is not None and start is not None:
            keys = self.rotary(keys, start)
        return KeysValues(keys, self._split_heads(self.w_v(x)))

    def _split_heads(
        self, x: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch {self.n_heads} position {self.d_head}"]:
        x = x.unflatten(-1, (self.n_heads, self.d_head))  # [batch, position, head, d_head]
        return x.transpose(1, 2)  # [batch, head, position, d_head]
