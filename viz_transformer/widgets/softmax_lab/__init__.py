"""The softmax lab: scores that are dragged, and the weights that a softmax makes of them."""

from viz_transformer.widgets.softmax_lab.view import SoftmaxLab, softmax_lab

__all__ = ["SoftmaxLab", "softmax_lab"]
