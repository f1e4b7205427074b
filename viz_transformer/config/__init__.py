"""Configurations: frozen, validated when made, and written to JSON and back without loss.

`model` holds the sizes and choices of a model, `training` those of a training run, `presets` the
published sizes, and `parameters` counts what a model of some sizes would weigh, without building
it.
"""

from viz_transformer.config.model import (
    Activation,
    Family,
    ModelConfig,
    Norm,
    Pooler,
    Positional,
    Scoring,
)
from viz_transformer.config.parameters import count_parameters, parameter_bill
from viz_transformer.config.training import TrainConfig

__all__ = [
    "Activation",
    "Family",
    "ModelConfig",
    "Norm",
    "Pooler",
    "Positional",
    "Scoring",
    "TrainConfig",
    "count_parameters",
    "parameter_bill",
]
