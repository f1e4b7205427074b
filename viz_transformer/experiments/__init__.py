"""Experiments that the lessons measure, each a function from a configuration to numbers.

`score_variance` and `saturation` show why scores are divided by √d_k, `scoring` compares the three
scoring functions, and `shift` moves a sentence to other positions. `initial_loss`, `depth` and
`causal_leak` make or train small models, `overfitting` and `peeking` train a small translator, and
`head_detectors` finds the induction heads of any model.
"""

from viz_transformer.experiments.causal_leak import CausalLeak, measure_causal_leak
from viz_transformer.experiments.depth import DepthGradients, gradients_by_depth, losses_by_depth
from viz_transformer.experiments.head_detectors import head_scores
from viz_transformer.experiments.initial_loss import InitialLoss, UntrainedModel
from viz_transformer.experiments.overfitting import TwoLosses, losses_by_data
from viz_transformer.experiments.peeking import train_peeking
from viz_transformer.experiments.saturation import SlopeSpread, slope_spread, softmax_jacobian
from viz_transformer.experiments.score_variance import ScoreSpread, score_spread
from viz_transformer.experiments.scoring import compare_scorings
from viz_transformer.experiments.shift import ShiftExperiment, random_head, shift_experiment

__all__ = [
    "CausalLeak",
    "DepthGradients",
    "InitialLoss",
    "ScoreSpread",
    "ShiftExperiment",
    "SlopeSpread",
    "TwoLosses",
    "UntrainedModel",
    "compare_scorings",
    "gradients_by_depth",
    "head_scores",
    "losses_by_data",
    "losses_by_depth",
    "measure_causal_leak",
    "random_head",
    "score_spread",
    "shift_experiment",
    "slope_spread",
    "softmax_jacobian",
    "train_peeking",
]
