"""The position lab: positional encodings, and what attention makes of them."""

from viz_transformer.widgets.position_lab.view import PositionLab

__all__ = ["PositionLab"]
