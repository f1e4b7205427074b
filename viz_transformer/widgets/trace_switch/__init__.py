"""The trace switch: one explorer with a button for each of several traces."""

from viz_transformer.widgets.trace_switch.view import SwitchView

__all__ = ["SwitchView"]
