"""The attention explorer: every head at a glance, one large, and its words joined by lines."""

from viz_transformer.widgets.explorer.payload import EXACT_BYTES, is_small, pack, raw_trace
from viz_transformer.widgets.explorer.switch import TraceSwitch, trace_switch
from viz_transformer.widgets.explorer.view import AttentionExplorer, explore

__all__ = [
    "EXACT_BYTES",
    "AttentionExplorer",
    "TraceSwitch",
    "explore",
    "is_small",
    "pack",
    "raw_trace",
    "trace_switch",
]
