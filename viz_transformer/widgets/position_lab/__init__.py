"""The position lab: how a model is told the order of its words."""

from viz_transformer.widgets.position_lab.view import PositionLab

__all__ = ["PositionLab"]
