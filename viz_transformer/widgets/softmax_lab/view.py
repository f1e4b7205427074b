"""The softmax lab's view: a bar for each score, and beside them what the softmax makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer._shared import SHARED
from viz_transformer._text import given_texts
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_sequence
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import SelectionError, TextSize, as_float
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: The largest score that can be set, below 0 too; in the page it moves in halves.
LIMIT = float(SHARED["limits"]["score"])
#: The values of the factor that multiplies all scores.
TIMES = tuple(map(float, SHARED["limits"]["times"]))
_MOST = 12  # keys: with more, bars and names would be too small
_ABOUT = (
    "One query's scores with a few keys, and the weights that softmax computes from them: e to the power "
    "of each score, divided by their sum. Drag the end of a score's bar, or multiply all scores."
)


class SoftmaxLab(View):
    """Drag scores, and see their softmax.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import viz_transformer as vt
    >>> view = vt.softmax_lab([2.0, 1.0], ["the", "cat"])
    >>> view.scores = [0.0, 3.0]

    Attributes:
        scores: a score for each key, from -5 to 5.
        times: the factor that multiplies all scores: 0, 0.25, 0.5, 1, 2, 4, 8 or 16.
        slopes: whether w (1 - w) is shown too: how much each weight moves with its own score.
        labels: the keys' names.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what it cannot be raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.softmax_lab({scores})"

    labels: traitlets.List[str] = traitlets.List().tag(sync=True, content=True)
    scores: traitlets.List[float] = traitlets.List().tag(sync=True)
    times = traitlets.Float(1.0).tag(sync=True)
    slopes = traitlets.Bool(False).tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        scores: Sequence[float] = (-3, 2, -1, 0),
        labels: Sequence[str] | None = None,
        *,
        times: float = 1.0,
        slopes: bool = False,
    ) -> None:
        """Make a view; see `softmax_lab`."""
        row = given_sequence(scores)
        names = [f"key {at}" for at in range(len(row))] if labels is None else given_texts(labels, "labels")
        if not 1 <= len(names) == len(row) <= _MOST:
            raise UserError(
                f"there are {len(row)} scores and {len(names)} labels; give 1 to {_MOST}, one for each"
            )
        self._count = len(names)
        super().__init__(
            traits={
                "about": _ABOUT,
                "labels": sendable(names),
                "scores": list(row),
                "times": as_float("times", times),
                "slopes": slopes,
            }
        )

    @property
    def weights(self) -> NDArray[np.float64]:
        """The softmax of the scores times the factor, [key]."""
        row = np.asarray(self.scores) * self.times  # [key]
        parts = np.exp(row - row.max())
        return parts / parts.sum()

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.softmax import plot_softmax

        return plot_softmax(self.scores, self.labels, times=self.times, slopes=self.slopes)

    def alt_text(self) -> str:
        """Return the scores and their weights in words."""
        told = ", ".join(
            f"{label} {weight:.3f}" for label, weight in zip(self.labels, self.weights, strict=True)
        )
        return f"Bars of scores, their exponentials and their softmax: {told}."

    def __repr__(self) -> str:
        """Return what is set in short."""
        return f"SoftmaxLab(scores={self.scores}, times={self.times:g})"

    @traitlets.validate("scores")
    def _check_scores(self, proposal: dict[str, Any]) -> list[float]:
        try:
            scores = [float(score) for score in proposal["value"]]
        except (TypeError, ValueError, OverflowError):
            scores = []
        if len(scores) != self._count or not all(-LIMIT <= score <= LIMIT for score in scores):
            raise SelectionError(
                f"scores={proposal['value']!r:.60}; give {self._count} numbers, each from -5 to 5"
            )
        return scores

    @traitlets.validate("times")
    def _check_times(self, proposal: dict[str, Any]) -> float:
        if proposal["value"] not in TIMES:
            raise SelectionError(f"times={proposal['value']!r}; choose one of {TIMES}")
        return proposal["value"]


def softmax_lab(
    scores: Sequence[float] = (-3, 2, -1, 0),
    labels: Sequence[str] | None = None,
    *,
    times: float = 1.0,
    slopes: bool = False,
) -> SoftmaxLab:
    """Return a view with a bar to drag for each score, and a factor that multiplies them all.

    >>> import viz_transformer as vt
    >>> view = vt.softmax_lab([2.0, 1.0, -1.0], ["the", "cat", "sleeps"])

    Args:
        scores: the first scores; each from -5 to 5.
        labels: the keys' names; else their indices.
        times: the first factor: 0, 0.25, 0.5, 1, 2, 4, 8 or 16.
        slopes: show how much each weight moves with its own score.

    Raises:
        UserError: if a score or the factor is none of these, or there are not as many labels.
    """
    return SoftmaxLab(scores, labels, times=times, slopes=slopes)
