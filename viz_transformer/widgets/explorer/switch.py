"""The trace switch: an explorer with a chip for each of several traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from viz_transformer.analysis.comparison import match_traces
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.explorer.payload import is_small, raw_trace
from viz_transformer.widgets.explorer.view import AttentionExplorer

_DIFFERENCE = "difference"


class TraceSwitch(AttentionExplorer):
    """An explorer with a chip for each of several traces; switching keeps the selection.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the cat sleeps", "the dog sleeps")
    >>> view = vt.trace_switch({text: translator.trace(text) for text in texts})
    >>> view.shown = "the dog sleeps"
    >>> view.trace.source_tokens[:2]
    ('the', 'dog')

    Attributes:
        shown: the label of the trace shown. Set it to switch.
        labels: all labels, in the order of the chips; the difference of two comes last.
        traces: by its label, each small trace as the page reads it, which shows it without Python. None
            for a large one.
        differences: by the label of a chip for the difference of two, the labels of the trace and of the one
            that is subtracted.
    """

    _made_by = "vt.trace_switch(traces)"
    _before_about = "The chips at the left of the sentence change the sentence or the model that is shown. "

    shown = traitlets.Unicode(help="label of the trace that is shown").tag(sync=True)
    labels = traitlets.List(traitlets.Unicode(), help="labels of all traces").tag(sync=True, content=True)
    traces = traitlets.Dict(help="the small traces, by label").tag(sync=True, content=True)
    differences = traitlets.Dict(help="labels of two traces, by label").tag(sync=True, content=True)

    def __init__(
        self, traces: Mapping[str, ForwardTrace], kind: str | None = None, difference: bool = False
    ) -> None:
        """Show the first trace; see `trace_switch`."""
        self._traces = dict(traces)
        super().__init__(next(iter(self._traces.values())), kind=kind)
        # The later one minus the earlier: what has become more, and what less.
        differences = {_DIFFERENCE: [*reversed(self._traces)]} if difference else {}
        self.labels = [*self._traces, *differences]
        self.differences = differences
        self.traces = {
            label: raw_trace(trace) if is_small(trace) else None for label, trace in self._traces.items()
        }
        self.shown = self.labels[0]

    @property
    def explorer(self) -> TraceSwitch:
        """The view itself, which is an explorer."""
        return self

    def alt_text(self) -> str:
        """Return which trace is shown, and what the picture shows, in words."""
        return f"{self.shown} (one of {len(self.labels)}). {super().alt_text()}"

    def __repr__(self) -> str:
        """Return the state in short, for logs and where no view can be shown."""
        return f"{type(self).__name__}(shown={self.shown!r}, labels={self.labels!r})"

    @traitlets.validate("shown")
    def _check_shown(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self.labels:
            raise SelectionError(f"{proposal['value']!r} is not one of {self.labels}")
        return proposal["value"]

    @traitlets.observe("shown")
    def _on_shown(self, _: object) -> None:
        labels = self.differences.get(self.shown, [self.shown])
        trace = self._traces[labels[0]]
        compare = self._traces[labels[1]] if labels[1:] else None
        if self.trace is trace and self.compare is compare:
            return
        if self._from_page and all(self.traces[each] is not None for each in labels):
            self.adopt(trace, compare)  # the page draws it by itself
        else:
            self.show(trace, compare)


def trace_switch(
    traces: Mapping[str, ForwardTrace], *, kind: str | None = None, difference: bool = False
) -> TraceSwitch:
    """Return an explorer with a chip for each trace, to flip between them.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = [f"the teacher lost {whose} book" for whose in ("her", "his")]
    >>> view = vt.trace_switch({text: translator.trace(text) for text in texts}, kind="encoder")
    >>> view.layer, view.head, view.query = 1, 1, texts[0].split().index("teacher")

    Args:
        traces: the traces by their labels, at least one.
        kind: the attention shown first; cross-attention by default, where there is one.
        difference: add a chip for the second of two traces minus the first.

    Raises:
        UserError: if there is no trace, the first lacks the kind, or there are no two to be compared.
    """
    if not traces:
        raise UserError("trace_switch was given no trace; give {'label': trace, …}")
    if difference:
        _check_difference(traces)
    return TraceSwitch(traces, kind, difference)


def _check_difference(traces: Mapping[str, ForwardTrace]) -> None:
    """Raise a UserError unless these are two traces of one shape, and its label is free."""
    if len(traces) != 2 or _DIFFERENCE in traces:
        raise UserError(
            f"difference=True takes two traces, neither of them labelled {_DIFFERENCE!r}; got {list(traces)}"
        )
    one, other = traces.values()
    if match_traces(one, other)[0] is not one:
        raise UserError(
            "difference=True is for two traces of as many layers and heads; these are compared by "
            "vt.explore(trace, compare=other)"
        )
