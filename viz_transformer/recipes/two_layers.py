"""The shape that the small models of the recipes share."""

from __future__ import annotations

from viz_transformer.config import ModelConfig

#: Two layers of four heads a stack. The vocabulary's size is replaced by that of the sentences'.
TWO_LAYERS = ModelConfig(vocab_size=1, n_heads=4, n_encoder_layers=2, n_decoder_layers=2)
