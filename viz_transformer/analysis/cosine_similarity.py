"""Cosine similarity: how alike the directions of vectors are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.positions import as_table
from viz_transformer.errors import UserError


@dataclass(frozen=True)
class Neighbour:
    """A row of a table that is like another.

    Attributes:
        index: its place in the table, from 0.
        cosine: -1 to 1.
    """

    index: int
    cosine: float


def cosines(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine of every vector with every other.

    Args:
        vectors: [vector, width], none of them all zeros.

    Returns:
        float64 [vector, vector], 1 for the same direction, 0 for a right angle, -1 for opposites.

    Raises:
        UserError: if it is no such table.
    """
    table = as_table(vectors, "vectors")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)  # [vector, 1]
    if not lengths.all():
        raise UserError(
            f"vector {int((lengths[:, 0] == 0).argmax())} is all zeros and points nowhere; leave it out"
        )
    unit = table / lengths  # [vector, width]
    return unit @ unit.T


def nearest(vectors: ArrayLike, index: int, n: int = 8) -> tuple[Neighbour, ...]:
    """Return the vectors whose direction is nearest to that of one of them, the nearest first.

    Args:
        vectors: [vector, width].
        index: which one, from 0; it is not among those returned.
        n: how many.

    Raises:
        UserError: as `cosines`, or if there is no such vector.
    """
    similarity = cosines(vectors)  # [vector, vector]
    if not 0 <= index < len(similarity):
        raise UserError(f"index={index}, but there are {len(similarity)}; choose 0 and up")
    order = (-similarity[index]).argsort(kind="stable")
    others = [int(other) for other in order if other != index]
    return tuple(Neighbour(other, float(similarity[index, other])) for other in others[:n])
