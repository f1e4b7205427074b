"""Configurations of a short training on the six pairs."""

from __future__ import annotations

from tests.support.six_pairs import VOCABULARY
from viz_transformer.config import ModelConfig, TrainConfig

MODEL = ModelConfig(
    vocab_size=len(VOCABULARY),
    d_model=16,
    n_heads=2,
    n_encoder_layers=1,
    n_decoder_layers=1,
    d_ff=32,
    max_length=20,
    dropout=0.1,
)
CONFIG = TrainConfig(n_steps=12, batch_size=2, accumulate=2, warmup_steps=3)
