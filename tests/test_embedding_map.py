"""The embedding map: the plane, the groups, what is nearest, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.analysis.projection import principal_plane
from viz_transformer.widgets.embedding_map import EmbeddingMap

RNG = np.random.default_rng(0)
#: Twelve vectors that differ most along one direction, less along another, and hardly at all elsewhere.
VECTORS = RNG.normal(size=(12, 3)) @ np.diag([5.0, 2.0, 0.1])
TOKENS = [f"t{number}" for number in range(12)]


class TestPlane:
    def test_it_keeps_the_directions_in_which_the_vectors_differ_most(self) -> None:
        plane = principal_plane(VECTORS)
        centred = VECTORS - VECTORS.mean(axis=0)
        variances, axes = np.linalg.eigh(centred.T @ centred)  # rising
        np.testing.assert_allclose(np.abs(plane.points), np.abs(centred @ axes[:, [2, 1]]), atol=1e-9)
        np.testing.assert_allclose(plane.shares, variances[[2, 1]] / variances.sum())

    def test_points_that_lie_in_a_plane_keep_their_distances(self) -> None:
        flat = RNG.normal(size=(9, 2)) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0][:2]
        plane = principal_plane(flat)
        assert sum(plane.shares) == pytest.approx(1)
        apart = [np.linalg.norm(flat[i] - flat[j]) for i in range(9) for j in range(i)]
        drawn = [np.linalg.norm(plane.points[i] - plane.points[j]) for i in range(9) for j in range(i)]
        np.testing.assert_allclose(drawn, apart)

    def test_the_sign_is_settled(self) -> None:
        np.testing.assert_allclose(principal_plane(VECTORS).points, principal_plane(VECTORS.copy()).points)
        plane = principal_plane(VECTORS)
        for axis in range(2):
            column = plane.points[:, axis]
            assert column[np.abs(column).argmax()] > 0

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [(np.ones((1, 4)), "at least 2"), (np.ones((4, 1)), "at least 2"), (np.ones((4, 4)), "one point")],
    )
    def test_what_has_no_plane_is_refused(self, wrong: np.ndarray, told: str) -> None:
        with pytest.raises(vt.UserError, match=told):
            principal_plane(wrong)


class TestOfTheTranslator:
    def test_it_has_every_token_but_padding_in_its_language(self) -> None:
        shown, vocabulary = vt.embedding_map(), vt.load_translator().vocabulary
        assert shown.data["tokens"] == list(vocabulary.tokens[1:])
        of = {
            token: shown.data["groups"][group]
            for token, group in zip(shown.data["tokens"], shown.data["group_of"], strict=True)
        }
        assert (of["cat"], of["gato"], of["animal"], of["<eos>"]) == (
            "English", "Spanish", "English and Spanish", "special",
        )  # fmt: skip

    def test_the_nearest_are_those_of_the_whole_vectors(self) -> None:
        shown = vt.embedding_map(token="maestra")
        assert shown.data["tokens"][shown.nearest[0].index] == "profesora"
        assert "profesora 0.95" in shown.alt_text()
        assert "11% of their variance" in shown.alt_text()

    def test_the_other_families_have_a_map_too(self) -> None:
        for model in (vt.load_language_model(), vt.load_masked_model()):
            assert vt.embedding_map(model, "gato").token == "gato"

    def test_an_unknown_token_is_refused_in_a_line(self) -> None:
        with pytest.raises(vt.UserError, match="'blorp' is not in this model's vocabulary"):
            vt.embedding_map(token="blorp")


def test_its_traits_refuse_what_there_is_not_and_stay() -> None:
    shown = EmbeddingMap(VECTORS, TOKENS, token="t3")
    for name, wrong in (("token", "t99"), ("zoom", 3)):
        before = getattr(shown, name)
        with pytest.raises(vt.UserError):
            setattr(shown, name, wrong)
        assert getattr(shown, name) == before
    assert repr(shown) == "EmbeddingMap(token='t3', zoom=1)"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((VECTORS, TOKENS[:-1]), "12 vectors, 11 tokens"),
        ((VECTORS, TOKENS, ["a"]), "1 groups"),
        ((VECTORS, TOKENS, list("abcdeabcdeab")), "four groups"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple, told: str) -> None:
    with pytest.raises(vt.UserError, match=told):
        EmbeddingMap(*arguments)


def test_a_vector_of_zeros_points_nowhere() -> None:
    vectors = VECTORS.copy()
    vectors[4] = 0
    with pytest.raises(vt.UserError, match="points nowhere"):
        EmbeddingMap(vectors, TOKENS, token="t4")
