"""The same queries and keys under the three scoring functions."""

from __future__ import annotations

import numpy as np
import torch

from viz_transformer._bounds import SEED, room_for, whole_number
from viz_transformer.experiments.checks import check_counts
from viz_transformer.model.scoring import AdditiveScore, dot, scaled_dot


def compare_scorings(d_k: int, *, n_words: int = 8, seed: int = 0) -> dict[str, np.ndarray]:
    """Score random queries with random keys by each of the three functions of `model.scoring`.

    >>> import viz_transformer as vt
    >>> scores = vt.compare_scorings(d_k=64)
    >>> sorted(scores), scores["dot"].shape
    (['additive', 'dot', 'scaled dot'], (8, 8))

    Args:
        d_k: width of the queries and keys, whose numbers are drawn from N(0, 1).
        n_words: how many queries there are, and how many keys.
        seed: fixes the draw, including the additive network's weights.

    Returns:
        float32 ``[query, key]`` under the names ``"dot"``, ``"scaled dot"`` and ``"additive"``.

    Raises:
        UserError: if a size is not a whole number of at least 1.
    """
    check_counts(d_k=d_k, n_words=n_words)
    whole_number("seed", seed, SEED, least=0)
    room_for(max(n_words**2 * d_k, d_k**2), f"d_k={d_k} and n_words={n_words}")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        query, key = torch.randn(2, 1, 1, n_words, d_k)  # each [batch, head, word, d_k]
        scores = {
            "dot": dot(query, key),
            "scaled dot": scaled_dot(query, key),
            "additive": AdditiveScore(1, d_k)(query, key),
        }
    return {name: each[0, 0].numpy() for name, each in scores.items()}  # [query, key]
