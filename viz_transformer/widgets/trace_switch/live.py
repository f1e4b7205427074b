"""One explorer with a button for each of several traces."""

from __future__ import annotations

from collections.abc import Mapping

import traitlets

from viz_transformer.analysis.matching import match_traces
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import AttentionExplorer, explore, is_small, raw_trace
from viz_transformer.widgets.trace_switch import SwitchView

_DIFFERENCE = "difference"


class TraceSwitch(SwitchView):
    """One explorer and a button for each of several traces; switching keeps the selection.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the cat sleeps", "the dog sleeps")
    >>> view = vt.trace_switch({text: translator.trace(text) for text in texts})
    >>> view.shown = "the dog sleeps"
    >>> view.explorer.trace.source_tokens[:2]
    ('the', 'dog')

    Attributes:
        shown: the label of the trace shown. Set it to switch.
        explorer: the view.
    """

    explorer: AttentionExplorer

    def __init__(
        self, traces: Mapping[str, ForwardTrace], kind: str | None = None, difference: bool = False
    ) -> None:
        """Show the first trace; see `trace_switch`."""
        self._traces = dict(traces)
        small = {
            label: raw_trace(trace) if is_small(trace) else None for label, trace in self._traces.items()
        }
        first = next(iter(self._traces.values()))
        # The later one minus the earlier: what has become more, and what less.
        differences = {_DIFFERENCE: [*reversed(self._traces)]} if difference else {}
        super().__init__(small, explore(first, kind=kind), differences)

    @traitlets.observe("shown")
    def _on_shown(self, _: object) -> None:
        labels = self.differences.get(self.shown, [self.shown])
        trace = self._traces[labels[0]]
        compare = self._traces[labels[1]] if labels[1:] else None
        if self.explorer.trace is trace and self.explorer.compare is compare:
            return
        if self._from_page and all(self.traces[each] is not None for each in labels):
            self.explorer.adopt(trace, compare)  # the page has drawn it
        else:
            self.explorer.show(trace, compare)


def trace_switch(
    traces: Mapping[str, ForwardTrace], *, kind: str | None = None, difference: bool = False
) -> TraceSwitch:
    """Return one explorer with a button for each trace, to flip between them.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = [f"the teacher lost {whose} book" for whose in ("her", "his")]
    >>> view = vt.trace_switch({text: translator.trace(text) for text in texts}, kind="encoder")
    >>> view.explorer.layer, view.explorer.head, view.explorer.query = 1, 1, texts[0].split().index("teacher")

    Args:
        traces: the traces by their labels, at least one.
        kind: the attention shown first; cross-attention by default, where there is one.
        difference: add a button for the second of two traces minus the first.

    Raises:
        UserError: if there is no trace, the first lacks the kind, or there are no two to be compared.
    """
    if not traces:
        raise UserError("trace_switch was given no trace; give {'label': trace, …}")
    if difference:
        _check_difference(traces)
    return TraceSwitch(traces, kind, difference)


def _check_difference(traces: Mapping[str, ForwardTrace]) -> None:
    """Raise a UserError unless these are two traces of one shape, and the button's label is free."""
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
