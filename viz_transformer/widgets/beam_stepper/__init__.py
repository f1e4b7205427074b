"""The beam stepper: a search, walked through step by step."""

from viz_transformer.widgets.beam_stepper.view import BeamStepper

__all__ = ["BeamStepper"]
