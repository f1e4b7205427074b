"""Vectors projected to a plane: their principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.positions import as_table
from viz_transformer.errors import UserError


@dataclass(frozen=True)
class Projection:
    """Vectors as points in a plane.

    Attributes:
        points: float64 [vector, 2], with mean 0.
        shares: how much of the vectors' variance each of the two axes keeps; together at most 1.
        mean: float64 [width], where the plane's middle is.
        axes: float64 [2, width].
    """

    points: NDArray[np.float64]
    shares: tuple[float, float]
    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    def project(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Return other vectors as points of the same plane, [vector, 2]."""
        return (as_table(vectors, "vectors") - self.mean) @ self.axes.T


def principal_plane(vectors: ArrayLike) -> Projection:
    """Project vectors [vector, width] to the plane that keeps most of their variance (PCA).

    The sign of an axis is arbitrary; here the vector farthest out along it lies on the positive side,
    so that the same vectors give the same picture on every machine. Fewer than two vectors, or such that
    are all alike, have no plane.

    Source: Pearson 1901, "On lines and planes of closest fit to systems of points in space".
    """
    table = as_table(vectors, "vectors")
    if min(table.shape) < 2:
        raise UserError(f"vectors has shape {list(table.shape)}; a plane needs at least 2 vectors of width 2")
    mean = table.mean(axis=0)
    centred = table - mean  # [vector, width]
    if not centred.any():
        raise UserError("all vectors are alike, so they are one point; give vectors that differ")
    axes, variances = _axes(centred)
    points = centred @ axes.T  # [vector, 2]
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    kept = variances / (centred**2).sum()
    signs = np.where(farthest < 0, -1, 1)
    return Projection(points * signs, (float(kept[0]), float(kept[1])), mean, axes * signs[:, None])


def _axes(centred: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two axes of most variance [2, width], and the sums of squares along them.

    The products of the shorter side with itself have the same ones, and are far fewer than a whole
    singular value decomposition works with.
    """
    n, width = centred.shape
    products = centred.T @ centred if width <= n else centred @ centred.T
    sums, vectors = np.linalg.eigh(products)  # the largest last
    sums, vectors = np.maximum(sums[:-3:-1], 0), vectors[:, :-3:-1].T
    if width <= n:
        return vectors, sums
    axes = vectors @ centred
    return axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-300), sums
