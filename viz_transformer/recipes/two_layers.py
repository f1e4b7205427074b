"""The shape and the training that the small models of the recipes share."""

from __future__ import annotations

from dataclasses import replace

from viz_transformer.config import ModelConfig, TrainConfig

#: Two layers of four heads a stack. The vocabulary's size is replaced by that of the sentences'.
TWO_LAYERS = ModelConfig(vocab_size=1, n_heads=4, n_encoder_layers=2, n_decoder_layers=2)
#: The bundled models': so small that their heads can be looked at one by one and each has work to do.
BUNDLED = replace(TWO_LAYERS, d_model=64, d_ff=128, max_length=64, dropout=0.0, norm="post")
#: Muon comes nearer to the grammar's probabilities than Adam in as many steps (docs/models.md).
BUNDLED_TRAINING = TrainConfig(
    n_steps=8000,
    batch_size=128,
    optimiser="muon",
    learning_rate=5e-3,
    warmup_steps=200,
    fused=False,
    seed=0,
)
