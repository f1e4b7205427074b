"""Recipes: how models are made, and how good they are.

The one place where corpus, training, checkpoint, translator and traces come together. `bundled` is
the English→Spanish translator, `six_pairs` the tiny one, `positions` the learned positions.
"""

from viz_transformer.recipes.bundled import (
    MODEL,
    TRAINING,
    Score,
    evaluate_english_spanish,
    exact_match,
    train_english_spanish,
)
from viz_transformer.recipes.positions import POSITIONS, POSITIONS_TRAINING, train_learned_positions
from viz_transformer.recipes.six_pairs import SIX_PAIRS_MODEL, six_pairs_translator

__all__ = [
    "MODEL",
    "POSITIONS",
    "POSITIONS_TRAINING",
    "SIX_PAIRS_MODEL",
    "TRAINING",
    "Score",
    "evaluate_english_spanish",
    "exact_match",
    "six_pairs_translator",
    "train_english_spanish",
    "train_learned_positions",
]
