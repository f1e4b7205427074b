"""One explorer with a button for each of several traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin
from viz_transformer.widgets.explorer import explore


class TraceSwitch(StaticFallbackMixin, ipywidgets.VBox):
    """One explorer and a button for each of several traces; switching keeps the selection.

    Attributes:
        shown: the label of the trace shown. Set it to switch.
        explorer: the view.
    """

    shown = traitlets.Unicode(help="label of the trace that is shown")

    def __init__(self, traces: Mapping[str, ForwardTrace], kind: str | None = None) -> None:
        """Show the first trace; see `trace_switch`."""
        self._traces = dict(traces)
        first = next(iter(self._traces))
        self.explorer = explore(self._traces[first], kind=kind)
        buttons = ipywidgets.ToggleButtons(options=list(self._traces), style={"button_width": "auto"})
        super().__init__([buttons, self.explorer], shown=first)
        traitlets.link((self, "shown"), (buttons, "value"))

    @traitlets.validate("shown")
    def _check_shown(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._traces:
            raise UserError(f"{proposal['value']!r} is not one of {list(self._traces)}")
        return proposal["value"]

    @traitlets.observe("shown")
    def _on_shown(self, _: object) -> None:
        self.explorer.trace = self._traces[self.shown]


def trace_switch(traces: Mapping[str, ForwardTrace], *, kind: str | None = None) -> TraceSwitch:
    """Return one explorer with a button for each trace, to flip between them.

    Args:
        traces: the traces by their labels, at least one.
        kind: the attention shown first; cross-attention by default, where there is one.

    Raises:
        UserError: if there is no trace, or the first lacks the kind.
    """
    if not traces:
        raise UserError("trace_switch was given no trace; give {'label': trace, …}")
    return TraceSwitch(traces, kind)
