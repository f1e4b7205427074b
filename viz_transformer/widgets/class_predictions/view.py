"""The view of a class's predictions: how many gave each answer, before and after a discussion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import traitlets

from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import SelectionError, TextSize
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "How many of the class gave each answer, the first time and after a discussion. No names are read. "
    "Only files whose learners agreed are counted; they agree with vt.share_predictions() in a lesson."
)


class ClassPredictions(View):
    """The answers of a class to a prediction, as bars; `class_predictions` makes it from files.

    >>> import viz_transformer as vt
    >>> asked = {"name": "1.p1", "question": "How many heads?", "options": ["8", "24"], "right": 1}
    >>> view = vt.ClassPredictions([{**asked, "first": [7, 5], "after": [1, 11]}], n_learners=12)

    Attributes:
        shown: the name of the prediction that is shown, such as ``"3.p1"``.
        counts: each prediction's name, question, options, how many gave each ``first`` and ``after`` a
            discussion, and the place of the ``right`` one, or None.
        n_learners: how many files are counted.
        n_left_out: how many are not, as their learners did not agree.
        n_unreadable: how many are no progress files, or damaged.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting `shown` to a name that is not there raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    counts = traitlets.List(traitlets.Dict(), help="how many gave each answer").tag(sync=True, content=True)
    shown = traitlets.Unicode(help="the name of the prediction").tag(sync=True)
    n_learners = traitlets.Int(help="files that are counted").tag(sync=True, content=True)
    n_left_out = traitlets.Int(help="files without a yes").tag(sync=True, content=True)
    n_unreadable = traitlets.Int(help="files that cannot be read").tag(sync=True, content=True)
    text_size = TextSize()

    def __init__(
        self,
        counts: Sequence[Mapping[str, Any]],
        n_learners: int,
        n_left_out: int = 0,
        n_unreadable: int = 0,
    ) -> None:
        """Show counted answers; see `class_predictions`."""
        super().__init__(
            traits={
                "about": _ABOUT,
                "counts": [dict(each) for each in counts],
                "n_learners": n_learners,
                "n_left_out": n_left_out,
                "n_unreadable": n_unreadable,
                "shown": counts[0]["name"],
            }
        )

    @property
    def _shown(self) -> dict[str, Any]:
        return next(each for each in self.counts if each["name"] == self.shown)

    def figure(self) -> Figure:
        """Return the shares of the answers to the question as a matplotlib figure."""
        from viz_transformer.plots.probabilities import plot_probabilities

        shares = {}
        for when, told in (("first", ""), ("after", ", after the discussion")):
            counts = self._shown[when]
            for answer, count in zip(self._shown["options"], counts, strict=True):
                if sum(counts):
                    shares[f"{answer}{told}"] = count / sum(counts)
        axes = plot_probabilities(shares, self._shown["question"][:80])
        axes.set_xlabel("share of the answers")
        return cast("Figure", axes.figure)

    def alt_text(self) -> str:
        """Return the question and its counts in words."""
        one = self._shown
        rows = zip(one["options"], one["first"], one["after"], strict=True)
        told = "; ".join(f"{answer}: {first} at first, {after} after" for answer, first, after in rows)
        return f"Bars of a class's answers to “{one['question']}” {told}."

    def __repr__(self) -> str:
        """Return what is shown in short."""
        return f"ClassPredictions(shown={self.shown!r}, n_learners={self.n_learners})"

    @traitlets.validate("shown")
    def _check_shown(self, proposal: dict[str, Any]) -> str:
        names = [each["name"] for each in self.counts]
        if proposal["value"] not in names:
            raise SelectionError(f"shown={proposal['value']!r:.40}; choose one of {names}")
        return proposal["value"]
