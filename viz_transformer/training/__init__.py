"""Training: the loss, the schedules, and a run that yields what happened at every step.

`loss` is what is minimised, `optimisers` how and how fast, `run` takes the steps, `checkpointing` keeps
a run on disk so that it resumes bit for bit, `averaging` smooths the weights, `distributed` divides the
work among processes, and `terminal` shows how far it is.
"""

from viz_transformer.training.averaging import WeightAverage
from viz_transformer.training.checkpointing import load_state, save_state
from viz_transformer.training.loss import token_loss
from viz_transformer.training.optimisers import learning_rate, spare_the_compiler
from viz_transformer.training.run import Run, StepRecord, fit, make_model

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
