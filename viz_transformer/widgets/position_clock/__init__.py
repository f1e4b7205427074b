"""The clock of positions: each pair of columns of a table of positions as the hand of a clock."""

from viz_transformer.widgets.position_clock.view import PositionClock

__all__ = ["PositionClock"]
