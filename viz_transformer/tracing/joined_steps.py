"""The attention weights of several steps of writing, joined into whole maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.tracing.selection import as_array


def join_steps(layers: Sequence[Any], kind: str) -> Sequence[Any]:
    """Return layers as they are, or joined if they are those of several steps of `generate`."""
    if not are_steps(layers):
        return layers
    first, last = layers[0][0].shape[-2], layers[-1][0].shape[-2]
    if last > first:  # without a cache, each step reads everything again
        return layers[-1]
    if kind == "cross":  # each step adds rows, [..., new query, source]
        steps = [[as_array(layer) for layer in step] for step in layers]
        return [np.concatenate(of_layer, axis=-2) for of_layer in zip(*steps, strict=True)]
    return _join_cached_steps(layers)


def _join_cached_steps(steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Join the steps of `generate` with a cache into whole matrices.

    The first step reads the whole beginning; each later one reads a token, whose row of weights
    is one key longer than the row before:

        step 0:  a .        step 1:  a b c        whole:  a . .
                 a b                                      a b .
                                                          a b c

    Args:
        steps: per step and layer [..., new query, keys so far].

    Returns:
        per layer [..., query, key].

    Raises:
        UserError: if the steps do not continue each other.
    """
    lengths = [step[0].shape[-2] for step in steps]
    n_positions = sum(lengths)
    whole = []
    for of_layer in zip(*steps, strict=True):
        before = tuple(of_layer[0].shape[:-2])  # batch and heads
        joined = np.zeros((*before, n_positions, n_positions), dtype=np.float32)
        end = 0
        for weights, length in zip(of_layer, lengths, strict=True):
            start, end = end, end + length
            rows = as_array(weights)  # [..., new query, keys so far]
            if rows.shape[:-1] != (*before, length) or rows.shape[-1] > end:
                raise UserError(
                    f"a step of generate has weights of shape {list(rows.shape)}, but "
                    f"{[*before, length]} and up to {end} keys was expected; generate with "
                    "the default cache, or let the model read the finished text once: vt.capture(model, ...)"
                )
            # A cache that drops the oldest keys keeps the latest.
            joined[..., start:end, end - rows.shape[-1] : end] = rows
        whole.append(joined)
    return whole


def are_steps(layers: Sequence[Any]) -> bool:
    """Return whether layers are those of several steps of `generate`, rather than of one pass."""
    return bool(layers) and isinstance(layers[0], list | tuple) and layers[0][0] is not None
