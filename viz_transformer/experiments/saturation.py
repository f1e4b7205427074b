"""Saturation of the softmax, whose gradient vanishes when scores are far apart.

The Jacobian of a softmax is how much each weight changes with each score. Where one weight is
nearly 1 and all others nearly 0, its entries are nearly 0 too.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_transformer.experiments.score_variance import random_queries_and_keys
from viz_transformer.model.scoring import dot


def drawn_scores(
    d_k: int, *, n_keys: int = 10, n_queries: int = 2000, seed: int = 0
) -> Float[Tensor, "query key"]:
    """Return q·k of random queries, each with keys of its own, not yet divided by √d_k.

    The same draw as in `score_spread`.

    Args:
        d_k: width of the queries and keys, whose numbers are drawn from N(0, 1).
        n_keys: keys for each query.
        n_queries: queries.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.
    """
    query, key = random_queries_and_keys(d_k, n_keys, n_queries, seed)
    return dot(query, key)[:, 0]  # [query, key]


def softmax_jacobian(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch key key"]:
    """Return the Jacobian of the softmax: how much each weight changes with each score.

    ∂w_i / ∂s_j = w_i (1 - w_i) where i = j, and -w_i w_j elsewhere.

    >>> import torch
    >>> from viz_transformer.experiments import softmax_jacobian
    >>> softmax_jacobian(torch.tensor([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]

    Args:
        weights: what a softmax returned, [..., key].

    Returns:
        [..., key i, key j]; every row and column sums to 0, because the weights always sum to 1.
    """
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


class SlopeSpread(NamedTuple):
    """The steepness and saturation of softmaxes, for queries and keys of one width.

    >>> from viz_transformer.experiments import SlopeSpread
    >>> spread = SlopeSpread(64, slope=0.05, scaled_slope=0.2, settled=0.33, scaled_settled=0.0)
    >>> f"d_k = {spread.d_k}: {spread.settled:.0%} of the queries settled on one key"
    'd_k = 64: 33% of the queries settled on one key'

    Attributes:
        d_k: width of the queries and keys.
        slope: of the steepest weight of a query, w (1 - w), at most 1/4; the median over queries,
            from q·k.
        scaled_slope: the same from q·k / √d_k.
        settled: share of the queries that give one key more than 0.99, from q·k.
        scaled_settled: the same from q·k / √d_k.
    """

    d_k: int
    slope: float
    scaled_slope: float
    settled: float
    scaled_settled: float


def slope_spread(d_k: int, *, n_keys: int = 10, n_queries: int = 2000, seed: int = 0) -> SlopeSpread:
    """Measure how steep softmaxes of random scores are, with and without the division by √d_k.

    >>> from viz_transformer.experiments import slope_spread
    >>> for d_k in (4, 64, 512):
    ...     spread = slope_spread(d_k)
    ...     print(d_k, round(spread.slope, 2), round(spread.scaled_slope, 1))
    4 0.22 0.2
    64 0.05 0.2
    512 0.0 0.2

    Args:
        d_k: width of the queries and keys.
        n_keys: keys that share each query's weight.
        n_queries: queries, each with keys of its own.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.
    """
    scores = drawn_scores(d_k, n_keys=n_keys, n_queries=n_queries, seed=seed)  # [query, key]
    plain, scaled = scores.softmax(-1), (scores / math.sqrt(d_k)).softmax(-1)  # [query, key]
    return SlopeSpread(d_k, _steepest(plain), _steepest(scaled), _settled(plain), _settled(scaled))


def _steepest(weights: Tensor) -> float:
    return (weights * (1 - weights)).amax(-1).median().item()


def _settled(weights: Tensor) -> float:
    return (weights.amax(-1) > 0.99).double().mean().item()
