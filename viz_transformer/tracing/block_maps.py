"""Whole maps of Hugging Face models that attend in blocks of positions: LongT5 and BigBird."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from viz_transformer.errors import UserError

#: How to look at the other half of a model whose encoder can't be traced.
DECODER_ALONE = "its decoder alone: vt.capture(model.decoder, input_ids=..., encoder_hidden_states=...)"


def whole_blocks(model: Any, layers: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Put a model's maps of its encoder together, if it attends in blocks.

    Args:
        model: Hugging Face's; of any other model nothing changes.
        layers: what it returned, by kind.
        n: how many positions its encoder read.

    Raises:
        UserError: if a part of the attention goes to no position of the text.
    """
    config = model.config
    put: Callable[[Tensor, Any, int], Tensor]
    if hasattr(config, "local_radius"):
        put = _from_local_blocks
    elif getattr(config, "attention_type", None) == "block_sparse" and n > _longest_full(config):
        put = _with_random_blocks
    else:
        return dict(layers)
    return {
        kind: [put(layer, config, n) for layer in of_kind] if kind in ("self", "encoder") else of_kind
        for kind, of_kind in layers.items()
    }


def _from_local_blocks(blocks: Tensor, config: Any, n: int) -> Tensor:
    """Set LongT5's blocks at their places: each attends to itself and to its two neighbours.

    Args:
        blocks: [1, block, head, query, key], the keys those of three blocks.
        config: the model's.
        n: how many positions there are without the padding of the last block.

    Source: Guo et al. 2022, *LongT5*, section 3.1.1.
    """
    if blocks.ndim == 4:
        return blocks  # of the decoder alone, which attends to all
    _, n_blocks, n_heads, size, n_keys = blocks.shape
    if n_keys != 3 * size:
        raise UserError(
            f"this LongT5's encoder attends to {n_keys - 3 * size} global tokens too, each the sum of a "
            "block, which are no positions of the text; capture a LongT5 with encoder_attention_type="
            f"'local', or {DECODER_ALONE}"
        )
    whole = blocks.new_zeros(n_heads, n_blocks * size, (n_blocks + 2) * size)  # a block more on each side
    for i, block in enumerate(blocks[0]):
        whole[:, i * size : (i + 1) * size, i * size : (i + 3) * size] = block
    return whole[None, :, :n, size : size + n]  # [1, head, query, key]


def _with_random_blocks(layer: Tensor, config: Any, n: int) -> Tensor:
    """Add what BigBird's map leaves out: the weights of its random blocks.

    Only training draws them. In evaluation every random block is the first one, whose keys are then in the
    softmax several times, with the same weight each time; the map that the model returns has it once.

    Args:
        layer: [1, head, query, key], padded to whole blocks.
        config: the model's.
        n: how many positions there are without that padding.

    Source: Zaheer et al. 2020, *Big Bird*, appendix D.
    """
    size = config.block_size
    whole = layer.clone()
    # The first and the last block attend to all keys, and have no random ones.
    whole[:, :, size:-size, :size] *= 1 + config.num_random_blocks
    return whole[:, :, :n, :n]


def _longest_full(config: Any) -> int:
    """Return how many positions BigBird still reads with full attention."""
    return (5 + 2 * config.num_random_blocks) * config.block_size
