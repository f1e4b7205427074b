"""Conversion to `torch.nn` and back: the same weights, and so the same numbers.

`torch.nn.MultiheadAttention` stores W^Q, W^K and W^V stacked in one matrix, `in_proj_weight`.
`torch.nn.TransformerEncoder` and `torch.nn.Transformer` are the stacks of layers alone: they have
no embeddings, positions or output layer, and their masks mean the opposite of ours
(`masks.to_torch_mask`). Weights are copied, never shared.

Two things differ and are dealt with openly. Torch's Transformer adds one more LayerNorm after each
stack, which the paper has not: we leave it out with post-norm, and cannot take a model that has it.
And torch's `bias=False` also drops the biases of LayerNorm and of the feed-forward network; ours
does not.
"""

from viz_transformer.model.conversion.attention import from_torch_attention, to_torch_attention
from viz_transformer.model.conversion.encoder import from_torch_encoder, to_torch_encoder
from viz_transformer.model.conversion.transformer import (
    from_torch_transformer,
    to_torch_transformer,
)

__all__ = [
    "from_torch_attention",
    "from_torch_encoder",
    "from_torch_transformer",
    "to_torch_attention",
    "to_torch_encoder",
    "to_torch_transformer",
]
