"""How alike vectors are, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from viz_transformer.analysis.cosine_similarity import cosines, nearest
from viz_transformer.errors import UserError

VECTORS = [[1, 0], [2, 2], [-3, 0], [0, 5]]


def test_cosines_are_those_of_the_angles() -> None:
    half = np.sqrt(0.5)
    expected = [[1, half, -1, 0], [half, 1, -half, half], [-1, -half, 1, 0], [0, half, 0, 1]]
    np.testing.assert_allclose(cosines(VECTORS), expected, atol=1e-12)


def test_the_nearest_neighbours_come_first_without_the_vector_itself() -> None:
    assert [each.index for each in nearest(VECTORS, 0)] == [1, 3, 2]
    assert nearest(VECTORS, 0, 1)[0].cosine == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: cosines([[1, 0], [0, 0]]), "vector 1 is all zeros"),
        (lambda: cosines([1, 2]), r"vectors has shape \[2\]"),
        (lambda: nearest(VECTORS, 4), "index=4, but there are 4"),
        (lambda: nearest(VECTORS, -1), "index=-1"),
    ],
)
def test_zero_vectors_and_unknown_words_are_refused(call, told: str) -> None:
    with pytest.raises(UserError, match=told):
        call()
