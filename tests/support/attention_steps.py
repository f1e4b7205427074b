"""Layers made by hand for the stepper's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.trace import AttentionSteps


def random_steps(
    n_queries: int = 3, n_keys: int = 4, *, kind: str = "cross", bias: bool = True, **changes: Any
) -> AttentionSteps:
    """A layer of seeded random numbers: 2 heads, d_model 6, d_head 3."""
    rng = np.random.default_rng(n_queries * 100 + n_keys)
    heads, d_model, d_head = 2, 6, 3

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    given: dict[str, Any] = {
        "kind": kind,
        "query_tokens": [f"q{i}" for i in range(n_queries)],
        "key_tokens": [f"k{i}" for i in range(n_keys)],
        "x": draw(n_queries, d_model),
        "memory": draw(n_keys, d_model) if kind == "cross" else None,
        **{f"w_{name}": draw(heads, d_model, d_head) for name in "qkv"},
        "w_o": draw(heads * d_head, d_model),
    }
    if bias:
        given |= {f"b_{name}": draw(heads, d_head) for name in "qkv"} | {"b_o": draw(d_model)}
    return AttentionSteps(**(given | changes))


def turned_steps() -> AttentionSteps:
    """A layer whose two heads share their keys and values, with rotary positions and a divisor of its own."""
    rng = np.random.default_rng(4)
    angles = rng.normal(size=(4, 1)) * [1, 1, 0]
    shared = {f"w_{name}": rng.normal(size=(1, 6, 3)) for name in "kv"}
    shared |= {f"b_{name}": rng.normal(size=(1, 3)) for name in "kv"}
    turn = {"cos": np.cos(angles), "sin": np.sin(angles) * [-1, 1, 0], "partner": (1, 0, 2)}
    return random_steps(4, 4, kind="decoder", mask=np.tri(4, dtype=bool), divisor=2.5, **shared, **turn)


def barred_steps() -> AttentionSteps:
    """A layer whose query 1 may look at nothing, and query 0 at all but the last key."""
    mask = np.ones((3, 4), dtype=bool)
    mask[0, 3] = False
    mask[1] = False
    return random_steps(mask=mask)
