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
from viz_transformer.widgets.base.traits import SelectionError, TextSize
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Every token of the vocabulary is a point. No plane keeps more of the vectors' variance than this "
    "one, but it keeps only a part, so two points can look close and be far apart. The list compares "
    "the whole vectors: 1 is the same direction, 0 a right angle."
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

    Setting one of them to what there is not raises SelectionError, a UserError, and changes nothing.
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
    ) -> None:
        """Make a map.

        Args:
            vectors: [token, d_model].
            tokens: a name for each.
            groups: what each token belongs to, such as its language; at most four different ones.
            token: the token that is chosen first; by default the first.
            colours: the colour of each group, one of `COLOURS`; by default as they come.

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
            raise UserError(f"a map tells four groups apart, and there are {len(names)}; join some")
        colours = dict(zip(names, COLOURS, strict=False)) if colours is None else colours
        if set(names) - set(colours) or set(colours.values()) - set(COLOURS):
            raise UserError(f"colours are {dict(colours)}; give each group one of {', '.join(COLOURS)}")
        plane = principal_plane(self._vectors)
        super().__init__(
            traits={
                "about": _ABOUT,
                "data": {
                    "tokens": self._tokens,
                    "d_model": self._vectors.shape[1],
                    "vectors": self._vectors.astype("<f4").tobytes(),
                    "points": plane.points.astype("<f4").tobytes(),
                    "shares": list(plane.shares),
                    "groups": names,
                    "roles": [colours[name] for name in names],
                    "group_of": [names.index(each) for each in groups],
                },
                "token": self._tokens[0] if token is None else token,
            }
        )

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
        if token not in self._tokens:
            raise SelectionError(
                f"{token!r:.60} is not a token of this map; it has {len(self._tokens)} others"
            )
        if not np.any(self._vectors[self._tokens.index(token)]):
            raise SelectionError(f"the vector of {token!r} is all zeros and points nowhere; choose another")
        return token

    @traitlets.validate("zoom")
    def _check_zoom(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] not in _ZOOMS:
            raise SelectionError(f"zoom={proposal['value']}; choose one of {', '.join(map(str, _ZOOMS))}")
        return int(proposal["value"])
