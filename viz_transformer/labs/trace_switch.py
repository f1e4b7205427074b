"""One explorer with a button for each of several traces."""

from __future__ import annotations

from collections.abc import Mapping

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import AttentionExplorer, explore, is_small, raw_trace
from viz_transformer.widgets.trace_switch import SwitchView


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

    def __init__(self, traces: Mapping[str, ForwardTrace], kind: str | None = None) -> None:
        """Show the first trace; see `trace_switch`."""
        self._traces = dict(traces)
        small = {
            label: raw_trace(trace) if is_small(trace) else None for label, trace in self._traces.items()
        }
        first = next(iter(self._traces.values()))
        super().__init__(small, explore(first, kind=kind))

    @traitlets.observe("shown")
    def _on_shown(self, _: object) -> None:
        trace = self._traces[self.shown]
        if self.explorer.trace is trace:
            return
        if self._from_page and self.traces[self.shown] is not None:
            self.explorer.adopt(trace)  # the page has drawn it
        else:
            self.explorer.trace = trace


def trace_switch(traces: Mapping[str, ForwardTrace], *, kind: str | None = None) -> TraceSwitch:
    """Return one explorer with a button for each trace, to flip between them.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = [f"the teacher lost {whose} book" for whose in ("her", "his")]
    >>> view = vt.trace_switch({text: translator.trace(text) for text in texts}, kind="encoder")
    >>> view.explorer.layer, view.explorer.head, view.explorer.query = 1, 1, texts[0].split().index("teacher")

    Args:
        traces: the traces by their labels, at least one.
        kind: the attention shown first; cross-attention by default, where there is one.

    Raises:
        UserError: if there is no trace, or the first lacks the kind.
    """
    if not traces:
        raise UserError("trace_switch was given no trace; give {'label': trace, …}")
    return TraceSwitch(traces, kind)
