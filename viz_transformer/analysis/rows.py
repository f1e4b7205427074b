"""The attention of several queries together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray


def row_of_queries(weights: FloatArray, queries: int | Sequence[int], how: str = "mean") -> FloatArray:
    """Return what several queries give to each key, averaged or summed.

    >>> import numpy as np
    >>> from viz_transformer.analysis import row_of_queries
    >>> row_of_queries(np.array([[1.0, 0.0], [0.5, 0.5]]), [0, 1]).tolist()
    [0.75, 0.25]

    Args:
        weights: ``[..., query, key]``, such as a trace's attention.
        queries: a position, or several.
        how: ``"mean"``, whose weights sum to 1 again, or ``"sum"``.

    Returns:
        float32 ``[..., key]``.

    Raises:
        UserError: if there is no such query or `how`.
    """
    places, n = np.atleast_1d(np.asarray(queries)), weights.shape[-2]
    if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size or not (places >= 0).all():
        raise UserError(f"{shown(queries)} names no queries; give positions, counted from 0, such as [3, 4]")
    if places.max() >= n:
        raise UserError(f"{shown(queries)} is not among the {n} queries; choose from 0 to {n - 1}")
    if how not in ("mean", "sum"):
        raise UserError(f"how={how!r}; choose 'mean' or 'sum'")
    rows = weights[..., places, :].astype(np.float32)  # [..., chosen query, key]
    return rows.mean(axis=-2) if how == "mean" else rows.sum(axis=-2)
