"""The figure lab: a matplotlib figure that sliders move."""

from viz_transformer.widgets.figure_lab.view import FigureLab, figure_lab

__all__ = ["FigureLab", "figure_lab"]
