"""The embedding map's view: which word is chosen, what is near it, and its twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from viz_transformer._numbers import fixed_number
from viz_transformer.analysis.cosine_similarity import Neighbour, nearest
from viz_transformer.analysis.positions import as_table
from viz_transformer.analysis.projection import principal_plane
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema
from viz_transformer.widgets.base.traits import SelectionError, TextSize
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Every token of the vocabulary is a point. This plane keeps more of the vectors' variance than any "
    "other, but only a part, so two points can look close although their vectors are far apart. The list "
    "compares the whole vectors: 1 is the same direction, 0 a right angle. Of a large vocabulary only "
    "some tokens are drawn: those that you look for and their neighbours."
)
_ZOOMS = (1, 2, 4, 8)

#: Of groups: words that are read, words that are written, words of both, the others.
COLOURS = ("key", "query", "ink", "muted")


class EmbeddingMap(View):
    """Look around in an embedding table, with each token as a point.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import viz_transformer as vt
    >>> view = vt.embedding_map(vt.load_translator())
    >>> view.token = "gato"

    Attributes:
        token: the chosen token, whose nearest ones are marked and listed.
        zoom: 1, 2, 4 or 8; above 1 the chosen token is in the middle.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what it lacks raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.embedding_map(model)"

    data = traitlets.Dict(help="tokens, vectors, points and groups").tag(sync=True, content=True)
    token = traitlets.Unicode(help="the chosen token").tag(sync=True)
    zoom = traitlets.Int(1, help="1, 2, 4 or 8").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        vectors: ArrayLike,
        tokens: Sequence[str],
        groups: Sequence[str] | None = None,
        *,
        token: str | None = None,
        colours: Mapping[str, str] | None = None,
        answer: Answer | None = None,
        n_all: int | None = None,
    ) -> None:
        """Make a map.

        Args:
            vectors: [token, d_model].
            tokens: a name for each.
            groups: what each token belongs to, such as its language; at most four different ones.
            token: the token that is chosen first; by default the first.
            colours: the colour of each group, one of `COLOURS`; by default as they come.
            answer: of a larger vocabulary: given ``{"token": str}`` it returns that token and those nearest
                to it, ``{"tokens": […], "vectors": [token, d_model], "groups": […]}``.
            n_all: how many tokens that vocabulary has.

        Raises:
            UserError: if these do not fit each other, or there is no such token.
        """
        self._vectors = as_table(vectors, "vectors")
        self._tokens = sendable(tokens)
        groups = list(groups) if groups is not None else [""] * len(self._tokens)
        if not len(self._vectors) == len(self._tokens) == len(groups):
            raise UserError(
                f"there are {len(self._vectors)} vectors, {len(self._tokens)} tokens and "
                f"{len(groups)} groups; give one of each for every token"
            )
        names = list(dict.fromkeys(groups))
        if len(names) > 4:
            raise UserError(f"a map has colours for four groups, and there are {len(names)}; join some")
        colours = dict(zip(names, COLOURS, strict=False)) if colours is None else colours
        if set(names) - set(colours) or set(colours.values()) - set(COLOURS):
            raise UserError(f"colours are {dict(colours)}; give each group one of {', '.join(COLOURS)}")
        self._plane = plane = principal_plane(self._vectors)
        self._groups = names
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "data": {
                    "tokens": [*self._tokens],
                    "d_model": self._vectors.shape[1],
                    "vectors": self._vectors.astype("<f4").tobytes(),
                    "points": plane.points.astype("<f4").tobytes(),
                    "shares": list(plane.shares),
                    "groups": names,
                    "roles": [colours[name] for name in names],
                    "group_of": [names.index(each) for each in groups],
                    "n_all": len(self._tokens) if n_all is None else n_all,
                },
                "token": self._tokens[0] if token is None else token,
            },
        )

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page gets it: more tokens, the one asked for first.

        Raises:
            UserError: if there is no such token.
        """
        reply = super().answer(request)
        vectors = as_table(reply["vectors"], "vectors")
        return {
            "tokens": sendable(reply["tokens"]),
            "vectors": vectors.astype("<f4").tobytes(),
            "points": self._plane.project(vectors).astype("<f4").tobytes(),
            "group_of": [self._groups.index(each) for each in reply["groups"]],
        }

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"token": TEXT},)

    def questions(self) -> list[dict[str, Any]]:
        """Return the request for the chosen token, where the map is a part of a larger vocabulary."""
        return [{"token": self.token}] if self.live else []

    @property
    def nearest(self) -> tuple[Neighbour, ...]:
        """The tokens whose vectors point most nearly as the chosen one's, the nearest first."""
        return nearest(self._vectors, self._tokens.index(self.token))

    def figure(self) -> Figure:
        """Return the map as a matplotlib figure."""
        from viz_transformer.plots.embeddings import plot_embedding_map

        chosen = self._tokens.index(self.token)
        near = [each.index for each in self.nearest]
        return cast("Figure", plot_embedding_map(self._vectors, self._tokens, chosen, near).figure)

    def alt_text(self) -> str:
        """Return the chosen token and what is near it in words."""
        near = ", ".join(
            f"{self._tokens[each.index]} {fixed_number(each.cosine, 2)}" for each in self.nearest
        )
        shares = self.data["shares"]
        return (
            f"A map of {len(self._tokens)} embedded tokens, with {sum(shares):.0%} of their variance. "
            f"Nearest to {self.token} by cosine: {near}."
        )

    def __repr__(self) -> str:
        """Return what is chosen in short."""
        return f"EmbeddingMap(token={self.token!r}, zoom={self.zoom})"

    @traitlets.validate("token")
    def _check_token(self, proposal: dict[str, Any]) -> str:
        token: str = proposal["value"]
        if self._answer is not None:
            token = self._fetch(token)
        if token not in self._tokens:
            raise SelectionError(
                f"{token!r:.60} is not a token of this map; it has {len(self._tokens)} others"
            )
        if not np.any(self._vectors[self._tokens.index(token)]):
            raise SelectionError(f"the vector of {token!r} is all zeros and points nowhere; choose another")
        return token

    def _fetch(self, token: str) -> str:
        """Add a token and those nearest to it, and return it as it is called."""
        try:
            reply = View.answer(self, {"token": token})
        except UserError as error:  # a TraitError, so that the old token stays
            raise SelectionError(str(error)) from error
        names = sendable(reply["tokens"])
        new = [at for at, name in enumerate(names) if name not in self._tokens]
        self._tokens += [names[at] for at in new]
        self._vectors = np.concatenate([self._vectors, as_table(reply["vectors"], "vectors")[new]])
        return names[0]

    @traitlets.validate("zoom")
    def _check_zoom(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] not in _ZOOMS:
            raise SelectionError(f"zoom={proposal['value']}; choose one of {', '.join(map(str, _ZOOMS))}")
        return int(proposal["value"])
