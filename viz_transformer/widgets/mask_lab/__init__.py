"""The mask lab: a mask composed and painted, and what it does to a live model."""

from viz_transformer.widgets.mask_lab.view import MaskLab

__all__ = ["MaskLab"]
