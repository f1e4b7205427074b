"""The scaling lab's view: scores of each width, divided by a power of it, and their softmax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from viz_transformer._bounds import SIZE, at_most
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGEST = 65_000.0  # that a float16 holds
_ABOUT = (
    "Scores of random queries with random keys: how widely they spread, and the weights that softmax "
    "gives the first twelve queries. Drag along the line on the left to change the width of the "
    "vectors, and pull the line's end down to divide all scores by a power of that width."
)


class ScalingLab(View):
    """See how scores spread with the width of queries and keys, and what dividing them does.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> view = vt.scaling_lab({d: np.eye(6) * d**0.5 for d in (4, 64)})
    >>> view.d_k = 4

    Attributes:
        d_k: width of the queries and keys, one of those that were given.
        power: the scores are divided by d_k to this power, 0 to 1: 0 leaves them as they are, 0.5
            divides by √d_k.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what it cannot be raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.scaling_lab(scores)"

    data = traitlets.Dict(help="widths, keys of each query, and scores as float16").tag(
        sync=True, content=True
    )
    d_k = Index(help="width of the queries and keys").tag(sync=True)
    power = traitlets.Float(0.0, help="of d_k, by which the scores are divided").tag(sync=True)
    text_size = TextSize()

    def __init__(self, scores: Mapping[int, ArrayLike], *, d_k: int = 64, power: float = 0.0) -> None:
        """Make a view; see `scaling_lab`."""
        self._scores = _checked(scores)
        first = next(iter(self._scores.values()))
        super().__init__(
            traits={
                "about": _ABOUT,
                "data": {
                    "widths": list(self._scores),
                    "n_keys": first.shape[1],
                    # [width, query, key]
                    "scores": np.stack(list(self._scores.values())).astype("<f2").tobytes(),
                },
                "d_k": d_k,
                "power": power,
            }
        )

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.softmax import plot_drawn_scores

        return plot_drawn_scores(self._scores[self.d_k], self.d_k, power=self.power)

    def alt_text(self) -> str:
        """Return how far the scores spread, and how large the largest weights are."""
        from viz_transformer.plots.softmax import describe_drawn_scores

        return describe_drawn_scores(self._scores[self.d_k], self.d_k, power=self.power)

    def __repr__(self) -> str:
        """Return what is chosen in short."""
        return f"ScalingLab(d_k={self.d_k}, power={self.power:g})"

    @traitlets.validate("d_k")
    def _check_width(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] not in self._scores:
            raise SelectionError(f"d_k={proposal['value']!r}; there are scores of {list(self._scores)}")
        return proposal["value"]

    @traitlets.validate("power")
    def _check_power(self, proposal: dict[str, Any]) -> float:
        if not 0 <= proposal["value"] <= 1:
            raise SelectionError(f"power={proposal['value']!r}; give 0 to 1, 0.5 to divide by √d_k")
        return proposal["value"]


def scaling_lab(scores: Mapping[int, ArrayLike], *, d_k: int = 64, power: float = 0.0) -> ScalingLab:
    """Return a view of scores of several widths, divided by a power of the width.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> draw = np.random.default_rng(0)
    >>> view = vt.scaling_lab({d: draw.normal(0, d**0.5, size=(12, 12)) for d in (4, 64)}, d_k=64)

    Args:
        scores: q·k [query, key] for each width, not divided: two widths or more, rising, all of
            one shape.
        d_k: the first width shown.
        power: the first power of d_k by which the scores are divided, 0 to 1.

    Raises:
        UserError: if the scores are not like that, or there are none of the width `d_k`.
    """
    return ScalingLab(scores, d_k=d_k, power=power)


def _checked(scores: Mapping[int, ArrayLike]) -> dict[int, np.ndarray]:
    try:
        arrays = {int(width): np.asarray(each, dtype=np.float64) for width, each in scores.items()}
    except (TypeError, ValueError, OverflowError):  # no numbers, NaN or infinity
        raise UserError("scores must be {d_k: rows of numbers}, such as {8: [[1.0, 2.0]], 64: ...}") from None
    shapes = {each.shape for each in arrays.values()}
    widths = list(arrays)
    if len(widths) < 2 or widths != sorted(widths) or widths[0] < 1:
        raise UserError(f"there are scores of the widths {widths}; give two or more, rising from 1")
    at_most("d_k", widths[-1], SIZE)
    if len(shapes) > 1 or any(len(shape) != 2 or 0 in shape for shape in shapes):
        raise UserError(f"the scores have the shapes {sorted(shapes)}; give [query, key], the same for all")
    if not all((np.abs(each) < _LARGEST).all() for each in arrays.values()):
        raise UserError(f"scores must be finite and below {_LARGEST:g}")
    return arrays
