"""The variance of attention scores, with and without the division by √d_k."""

from typing import NamedTuple

import torch
from torch import Tensor

from viz_transformer._bounds import SEED, room_for, whole_number
from viz_transformer.experiments.checks import check_counts
from viz_transformer.model.scoring import dot, scaled_dot


class ScoreSpread(NamedTuple):
    """The variance of random vectors' scores, and the softmax weights that result.

    >>> from viz_transformer.experiments import ScoreSpread
    >>> spread = ScoreSpread(64, 63.8, 1.0, largest_weight=0.86, largest_scaled_weight=0.32)
    >>> f"one of ten keys gets {spread.largest_weight:.0%}; scaled, {spread.largest_scaled_weight:.0%}"
    'one of ten keys gets 86%; scaled, 32%'

    Attributes:
        d_k: width of the queries and keys.
        variance: of q·k; about d_k.
        scaled_variance: of q·k / √d_k; about 1.
        largest_weight: mean of the largest of a query's weights, from q·k.
        largest_scaled_weight: the same from q·k / √d_k.
    """

    d_k: int
    variance: float
    scaled_variance: float
    largest_weight: float
    largest_scaled_weight: float


def score_spread(d_k: int, *, n_keys: int = 10, n_queries: int = 2000, seed: int = 0) -> ScoreSpread:
    """Measure why the paper divides by √d_k.

    The numbers in a query and a key are drawn from N(0, 1). Their product's variance is then 1, so
    that of a sum of d_k products is d_k; and a softmax of numbers that far apart gives nearly all
    its weight to the largest one.

    >>> from viz_transformer.experiments import score_spread
    >>> spread = score_spread(64)
    >>> spread.variance > 50, spread.scaled_variance < 1.5
    (True, True)

    Args:
        d_k: width of the queries and keys.
        n_keys: keys that share each query's weight.
        n_queries: queries to average over, each with keys of its own.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.

    Source: Vaswani et al. 2017, section 3.2.1 and its footnote 4.
    """
    query, key = random_queries_and_keys(d_k, n_keys, n_queries, seed)
    plain, scaled = dot(query, key), scaled_dot(query, key)  # [sample, query, key]
    return ScoreSpread(
        d_k=d_k,
        variance=plain.var().item(),
        scaled_variance=scaled.var().item(),
        largest_weight=plain.softmax(-1).amax(-1).mean().item(),
        largest_scaled_weight=scaled.softmax(-1).amax(-1).mean().item(),
    )


def random_queries_and_keys(d_k: int, n_keys: int, n_queries: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw queries [sample, 1, d_k], each with keys of its own [sample, key, d_k], from N(0, 1).

    Raises:
        UserError: if a number is below 1.
    """
    check_counts(d_k=d_k, n_keys=n_keys, n_queries=n_queries)
    whole_number("seed", seed, SEED, least=0)
    room_for(n_queries * n_keys * d_k, f"d_k={d_k}, n_keys={n_keys} and n_queries={n_queries}")
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(n_queries, 1, d_k, generator=generator)  # [sample, query, d_k]
    return query, torch.randn(n_queries, n_keys, d_k, generator=generator)  # [sample, key, d_k]
