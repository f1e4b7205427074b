"""The figure lab: a matplotlib figure with sliders and lists for its parameters."""

from viz_transformer.widgets.figure_lab.view import FigureLab, figure_lab

__all__ = ["FigureLab", "figure_lab"]
