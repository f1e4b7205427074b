"""The mask lab: a mask composed from parts or painted, and what leaks through it in a live model."""

from viz_transformer.widgets.mask_lab.view import MaskLab

__all__ = ["MaskLab"]
