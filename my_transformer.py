"""My Transformer: the parts that I wrote in the lessons."""

from __future__ import annotations

from viz_transformer.exercises.lent import (
    embed,
    softmax,
    attend,
    split_heads,
    join_heads,
    MultiHeadAttention,
    positional_encoding,
    loss,
    padding_mask,
    causal_mask,
    LayerNorm,
    EncoderBlock,
    DecoderBlock,
    Transformer,
    training_step,
)  # lent until lessons 2, 3, 4, 5, 6, 7, 8, 9 and 10 are done
