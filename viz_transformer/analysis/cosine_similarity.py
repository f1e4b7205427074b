"""How alike vectors are: the cosine of the angle between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.positions import as_table
from viz_transformer.errors import UserError


class Neighbour(NamedTuple):
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
    """Return the vectors that point most nearly where one of them points, the nearest first.

    Args:
        vectors: [vector, width].
        index: of the one, from 0; it is not among those returned.
        n: how many.

    Raises:
        UserError: as `cosines`, or if there is no such vector.
    """
    likeness = cosines(vectors)
    if not 0 <= index < len(likeness):
        raise UserError(f"index={index}, but there are {len(likeness)}; choose 0 and up")
    order = (-likeness[index]).argsort(kind="stable")
    return tuple(Neighbour(int(other), float(likeness[index, other])) for other in order if other != index)[
        :n
    ]
