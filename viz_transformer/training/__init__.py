"""Training: the loss, the schedules, and a run that yields what happened at every step.

`loss` says what is learned from, `schedule` how fast, `run` holds a training under way, `state`
keeps it on disk so that it goes on bit for bit, `averaging` smooths its weights, and `parallel`
shares it out among processes.
"""

from viz_transformer.training.averaging import WeightAverage
from viz_transformer.training.loss import token_loss
from viz_transformer.training.run import Run, StepRecord, fit, make_model
from viz_transformer.training.schedule import learning_rate
from viz_transformer.training.state import load_state, save_state

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
