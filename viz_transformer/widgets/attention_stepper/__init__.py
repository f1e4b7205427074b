"""The attention stepper: one query of one head, worked through number by number."""

from viz_transformer.widgets.attention_stepper.view import AttentionStepper

__all__ = ["AttentionStepper"]
