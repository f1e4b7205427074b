"""Training: the loss, the schedules, and a run that yields what happened at every step.

`loss` and `schedule` say what is minimised and how fast, `run` takes the steps with the
`optimisers`, `checkpointing` keeps a run on disk so that it resumes bit for bit, `averaging` smooths
the weights, and `distributed` divides the work among processes.
"""

from viz_transformer.training.averaging import WeightAverage
from viz_transformer.training.checkpointing import load_state, save_state
from viz_transformer.training.loss import token_loss
from viz_transformer.training.run import Run, StepRecord, fit, make_model
from viz_transformer.training.schedule import learning_rate
from viz_transformer.training.without_compiler import spare_the_compiler

__all__ = [
    "Run",
    "StepRecord",
    "WeightAverage",
    "fit",
    "learning_rate",
    "load_state",
    "make_model",
    "save_state",
    "token_loss",
]

spare_the_compiler()
