"""The Transformer of lesson 9 beside torch's own, with the same parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.exercises import lent


def with_torch(model: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function from source and target ids to logits, computed by ``nn.Transformer``.

    >>> import torch
    >>> from viz_transformer.exercises.against_torch import with_torch
    >>> from viz_transformer.exercises.lent import Transformer
    >>> model = Transformer(9, d_model=8, n_heads=2, d_ff=16, n_layers=2)
    >>> source, target = torch.tensor([[3, 4, 5, 0]]), torch.tensor([[1, 6, 7]])
    >>> torch.allclose(with_torch(model)(source, target), model(source, target), atol=1e-5)
    True

    Args:
        model: a Transformer whose parts have the names of lesson 9; its parameters are copied.
    """
    table, first = model.table.detach(), model.encoder[0]
    d_model = table.shape[1]
    twin = nn.Transformer(
        d_model,
        first.attention.n_heads,
        len(model.encoder),
        len(model.decoder),
        first.feed_forward[0].out_features,
        dropout=0,
        batch_first=True,
    ).eval()
    twin.encoder.use_nested_tensor = False  # it is a prototype, and warns of that
    twin.encoder.norm = twin.decoder.norm = None  # torch adds one after each stack, the paper does not
    theirs: list[Any] = [*twin.encoder.layers, *twin.decoder.layers]
    for layer, block in zip(theirs, [*model.encoder, *model.decoder], strict=True):
        _copy(layer, block)

    def vectors(ids: Tensor) -> Tensor:
        return table[ids] * math.sqrt(d_model) + lent.positional_encoding(ids.shape[1], d_model)

    @torch.no_grad()
    def logits(source: Tensor, target: Tensor) -> Tensor:
        padding = source == 0  # in nn.Transformer True means: may not be attended to
        found: Tensor = twin(
            vectors(source),
            vectors(target),
            tgt_mask=~lent.causal_mask(target.shape[1]),
            src_key_padding_mask=padding,
            tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=padding,
        )
        return found @ table.T

    return logits


@torch.no_grad()
def _copy(layer: Any, block: Any) -> None:
    """Copy the parameters of a block into a layer of torch's."""
    _copy_attention(layer.self_attn, block.attention)
    if hasattr(block, "cross_attention"):
        _copy_attention(layer.multihead_attn, block.cross_attention)
    layer.linear1.load_state_dict(block.feed_forward[0].state_dict())
    layer.linear2.load_state_dict(block.feed_forward[2].state_dict())
    for number, norm in enumerate(block.norms, start=1):
        getattr(layer, f"norm{number}").load_state_dict({"weight": norm.scale, "bias": norm.shift})


def _copy_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    inner = ours.query, ours.key, ours.value
    theirs.in_proj_weight.copy_(torch.cat([one.weight for one in inner]))
    theirs.in_proj_bias.copy_(torch.cat([one.bias for one in inner]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
