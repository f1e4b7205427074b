"""Several heads as one matrix, large ones as small ones, and the scale of differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray


def combine_heads(heads: Iterable[FloatArray], how: str) -> FloatArray:
    """Return several heads as one, ``[query, key]``.

    Args:
        heads: of one shape ``[query, key]``, one or more; taken one by one.
        how: ``"mean"``, whose rows sum to 1 if those of the heads do; or ``"max"``, the largest
            weight that any head gives, whose rows sum to more. Of differences ``"max"`` is the one
            that is farthest from 0.

    Raises:
        UserError: if there is no head, or `how` is neither.
    """
    if how not in ("mean", "max"):
        raise UserError(f"how={how!r} is not a way to combine heads; choose 'mean' or 'max'")
    result: FloatArray | None = None
    count = 0
    for weights in heads:
        count += 1
        if result is None:
            result = np.array(weights, dtype=np.result_type(weights, np.float32))  # half is too coarse
        elif how == "mean":
            result += weights
        else:
            np.copyto(result, weights, where=np.abs(weights) > np.abs(result))
    if result is None:
        raise UserError("no head was given to combine; give at least one")
    return result / np.float32(count) if how == "mean" else result


def strongest(weights: FloatArray, side: int) -> FloatArray:
    """Shrink matrices to at most `side` cells a side; each is the weight farthest from 0 there.

    So a thin line of attention is never averaged away.

    Args:
        weights: ``[head, query, key]``.
        side: of the small matrices, in cells; what is smaller stays as it is.
    """
    for axis in (1, 2):  # queries first: that reads the weights in their order, and leaves few
        n = weights.shape[axis]
        if n <= side:
            continue
        edges = np.arange(side + 1) * n // side
        parts = [
            weights[:, start:end] if axis == 1 else weights[..., start:end]
            for start, end in itertools.pairwise(edges)
        ]
        weights = np.stack([_farthest(part, axis) for part in parts], axis=axis)
    return weights


def difference_limit(differences: Iterable[FloatArray]) -> float:
    """Return the end of a scale for some differences: their largest size, rounded up to two digits.

    Where nothing differs it is 0.01.
    """
    farthest = max(max(float(each.max()), -float(each.min())) for each in differences)
    if not farthest:
        return 0.01
    step = 10.0 ** (math.floor(math.log10(farthest)) - 1)
    return float(f"{math.ceil(farthest / step - 1e-6) * step:.2g}")  # as JavaScript rounds it


def _farthest(weights: FloatArray, axis: int) -> FloatArray:
    most, least = weights.max(axis=axis), weights.min(axis=axis)
    return np.where(most >= -least, most, least)
