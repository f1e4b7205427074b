"""The trace switch: one explorer with a button for each of several traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets
from ipywidgets import widget_serialization

from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "The buttons change the sentence or the model whose attention is shown. The head and the words that "
    "you have chosen stay, so you compare a head with itself."
)


class SwitchView(View):
    """A button for each of several traces, and the explorer that shows one of them.

    Attributes:
        shown: the label of the trace shown.
        labels: all labels, in the order of the buttons.
        traces: by its label, each small trace as the explorer's page reads it: the page shows it
            without Python. None for a large one.
        differences: by the label of a button for the difference of two, the labels of the trace and of the
            one that is subtracted.
        explorer: the view.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    shown = traitlets.Unicode(help="label of the trace that is shown").tag(sync=True)
    labels = traitlets.List(traitlets.Unicode(), help="labels of all traces").tag(sync=True, content=True)
    traces = traitlets.Dict(help="the small traces, by label").tag(sync=True, content=True)
    differences = traitlets.Dict(help="labels of two traces, by label").tag(sync=True, content=True)
    explorer = traitlets.Instance(View, help="the view").tag(sync=True, content=True, **widget_serialization)

    def __init__(
        self,
        traces: Mapping[str, dict[str, Any] | None],
        explorer: View,
        differences: Mapping[str, Sequence[str]],
    ) -> None:
        """Show the first trace.

        Args:
            traces: the trait, in the order of the buttons.
            explorer: shows the first of them.
            differences: the trait; their buttons come last.
        """
        labels = [*traces, *differences]
        super().__init__(
            traits={
                "about": _ABOUT,
                "labels": labels,
                "traces": dict(traces),
                "differences": {label: list(pair) for label, pair in differences.items()},
                "explorer": explorer,
                "shown": labels[0],
            }
        )

    def figure(self) -> Figure | None:
        """Return what the explorer shows now as a matplotlib figure."""
        return self.explorer.figure()

    def alt_text(self) -> str:
        """Return which trace is shown, and what the explorer shows, in words."""
        return f"{self.shown} (one of {len(self.labels)}). {self.explorer.alt_text()}"

    def __repr__(self) -> str:
        """Return the state in short, for logs and where no view can be shown."""
        return f"{type(self).__name__}(shown={self.shown!r}, labels={self.labels!r})"

    @traitlets.validate("shown")
    def _check_shown(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self.labels:
            raise SelectionError(f"{proposal['value']!r} is not one of {self.labels}")
        return proposal["value"]
