"""The head lab: heads of a live model switched off or scaled."""

from viz_transformer.widgets.head_lab.view import HeadLab

__all__ = ["HeadLab"]
