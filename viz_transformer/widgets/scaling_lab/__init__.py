"""The scaling lab: scores of wider and wider vectors, and what a division by √d_k does to them."""

from viz_transformer.widgets.scaling_lab.view import ScalingLab, scaling_lab

__all__ = ["ScalingLab", "scaling_lab"]
