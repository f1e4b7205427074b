"""Attention masks: which query may attend to which key.

A mask is boolean, and **True means "may attend"**. Its axes are [batch, head, query, key]; an axis
of length 1 stands for "the same for all". So masks are joined by the logical *and*, `&`:

    target_mask = padding_mask(target_ids, pad_id) & causal_mask(target_ids.shape[1])
    #             [batch, 1, 1, key]               [1, 1, query, key]  ->  [batch, 1, query, key]

The encoder's self-attention and the decoder's cross-attention both look at the *source*, so both
take the source's padding mask. The decoder's self-attention takes the mask above.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_transformer._bounds import SIZE, fits_memory, whole_number
from viz_transformer.errors import UserError
from viz_transformer.model.inputs import check_alike


def padding_mask(ids: Int[Tensor, "batch key"], pad_id: int) -> Bool[Tensor, "batch 1 1 key"]:
    """Let every query attend to the words of its sentence and not to the padding after them.

    Args:
        ids: token ids [batch, key].
        pad_id: the id that pads the shorter sentences of a batch.

    Returns:
        bool [batch, 1, 1, key], True where the key is a word.
    """
    return (ids != pad_id)[:, None, None, :]  # [batch, key] -> [batch, 1, 1, key]


def causal_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 {length} {length}"]:
    """Let a position attend to itself and to the past, never to the future.

    While it trains, a decoder reads the whole target sentence at once; without this mask it would
    copy the next word instead of predicting it (Vaswani et al. 2017, section 3.2.3).

    Args:
        length: number of positions.
        device: where to make the mask.

    Returns:
        bool [1, 1, length, length], True on the diagonal and below it.

    Raises:
        UserError: if it is no length, or this machine has no room for such a mask.
    """
    whole_number("length", length, SIZE, least=0)
    if device is None and torch.get_default_device().type == "cpu":
        fits_memory(2 * length**2, f"a mask over {length:,} positions")
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def to_torch_mask(mask: Bool[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """Turn a mask of ours into one for `torch.nn.MultiheadAttention` and `torch.nn.Transformer`.

    Those modules mean the opposite: there True says "may *not* attend". (And
    `torch.nn.functional.scaled_dot_product_attention` means what we mean.) They also want fewer
    axes, so drop those of length 1 on the way:

        attn_mask = to_torch_mask(causal_mask(length)[0, 0])                   # [query, key]
        key_padding_mask = to_torch_mask(padding_mask(ids, pad_id)[:, 0, 0])   # [batch, key]
    """
    return ~mask


def from_torch_mask(mask: Bool[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """Turn a boolean mask of `torch.nn.MultiheadAttention` into ours: the inverse of to_torch_mask.

    Give it back the axes that torch leaves out:

        causal = from_torch_mask(attn_mask)[None, None]                        # [1, 1, query, key]
        padding = from_torch_mask(key_padding_mask)[:, None, None]             # [batch, 1, 1, key]
    """
    return ~mask


def check_mask(mask: Tensor, scores_shape: torch.Size) -> None:
    """Check that a mask is boolean and broadcasts to the scores [batch, head, query, key].

    It must have every axis that the scores have. Torch would put missing axes in front, and so
    read padding [batch, key] as [query, key] wherever there are as many sentences as queries.

    Raises:
        UserError: if it does not; the message names both shapes.
    """
    if mask.dtype != torch.bool:
        raise UserError(
            f"the mask is {mask.dtype} of shape {list(mask.shape)}, but a mask for the scores "
            f"{list(scores_shape)} is torch.bool with True for 'may attend'; "
            "compare to make one, such as `ids != pad_id`"
        )
    fits = mask.ndim == len(scores_shape) and all(
        have in (1, want) for have, want in zip(mask.shape, scores_shape, strict=True)
    )
    if not fits:
        raise UserError(
            f"the mask has shape {list(mask.shape)}, which does not broadcast to the scores "
            f"{list(scores_shape)}, [batch, head, query, key], axis by axis; make it with "
            "padding_mask(ids, pad_id) from the ids of the keys, or causal_mask(length) with the "
            "number of queries, or give it its missing axes, such as mask[:, None, None]"
        )


def check_not_inverted(mask: Tensor) -> None:
    """Check that a mask is not a causal one of the opposite meaning, which hides the past.

    Its last query may attend to nothing: a row of all False. Such a row alone is no mistake, as
    padding leaves some; this pattern in the whole mask is.

    Raises:
        UserError: if it is.
    """
    length = mask.shape[-1]
    if mask.shape[-2] != length or length < 2 or mask[..., -1, :].any():
        return
    if (mask == ~causal_mask(length, mask.device).view(length, length)).all():
        raise UserError(
            f"the mask {list(mask.shape)} hides the past and shows the future, and its last row "
            "is all False; True means 'may attend' here, and the opposite in "
            "torch.nn.MultiheadAttention: turn it with from_torch_mask(mask)"
        )


def check_memory(memory: Tensor, mask: Tensor, weight: Tensor) -> None:
    """Check what a decoder is given of its source: the memory, and a mask of padding and nothing else.

    Raises:
        UserError: if the memory is of another dtype or device than a weight of the model, or the mask is not
            bool [batch, 1, 1, source] as `padding_mask` makes it, or is False everywhere.
    """
    check_alike(memory=memory, model=weight)
    batch, source = memory.shape[:2]
    if mask.dtype != torch.bool or tuple(mask.shape) != (batch, 1, 1, source):
        raise UserError(
            f"the source mask is {mask.dtype} of shape {list(mask.shape)}, but for a memory "
            f"{list(memory.shape)} it is torch.bool {[batch, 1, 1, source]}, [batch, 1, 1, "
            "source]; make it with padding_mask(source_ids, pad_id)"
        )
    if not mask.any():
        raise UserError(
            f"the source mask {list(mask.shape)} is all False, so nothing of the memory "
            f"{list(memory.shape)} may be looked at; True means 'may attend' here, and the "
            "opposite in torch.nn.MultiheadAttention: turn such a mask with from_torch_mask(mask), "
            "or give a source that is not all padding"
        )
