"""The model summary lab: an encoder–decoder of any size, its shapes and its parameters."""

from viz_transformer.widgets.model_summary_lab.view import ModelSummaryLab

__all__ = ["ModelSummaryLab"]
