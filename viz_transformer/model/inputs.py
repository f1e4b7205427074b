"""Checks of a model's inputs: token ids, segments, and tensors that are used together."""

import torch
from torch import Tensor

from viz_transformer.errors import UserError


def check_ids(
    name: str,
    ids: Tensor,
    vocab_size: int,
    max_length: int,
    start: int = 0,
    device: torch.device | None = None,
) -> None:
    """Check that ids are [batch, position], whole, in range and not too long.

    Args:
        name: the argument's name, for the message.
        ids: token ids [batch, position].
        vocab_size: ids go from 0 to vocab_size - 1.
        max_length: number of positions that the model has.
        start: the first position.
        device: the model's device; None skips the check.

    Raises:
        UserError: if they are not.
    """
    if ids.ndim != 2 or ids.numel() == 0:
        raise UserError(
            f"{name} has shape {list(ids.shape)}, but ids are [batch, position], none of them "
            f"empty; give one sentence as {name}[None]"
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise UserError(f"{name} is {ids.dtype}, but token ids are whole numbers; use {name}.long()")
    if device is not None and ids.device != device:
        raise UserError(
            f"{name} is on {ids.device} and the model on {device}; "
            f"move one of them, such as {name}.to({str(device)!r})"
        )
    if start + ids.shape[1] > max_length:
        raise UserError(
            f"{name} of shape {list(ids.shape)} reaches position {start + ids.shape[1]}, but the "
            f"model's max_length is {max_length}; shorten the text, or make a model with a "
            "larger max_length"
        )
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= vocab_size:
        raise UserError(
            f"{name} of shape {list(ids.shape)} holds the id {low if low < 0 else high}, but "
            f"vocab_size is {vocab_size}: ids go from 0 to {vocab_size - 1}; encode "
            "the text with the vocabulary that the model was made for"
        )


def check_segments(segment_ids: Tensor, ids: Tensor, n_segments: int) -> None:
    """Check that segment ids are beside token ids one by one, and are in range.

    Raises:
        UserError: if they do not, or the model has no segments.
    """
    if not n_segments:
        raise UserError(
            "segment_ids were given, but the model has no segment embeddings; leave them out, or "
            "make a model with n_segments=2"
        )
    if segment_ids.shape != ids.shape or segment_ids.dtype not in (torch.int64, torch.int32):
        raise UserError(
            f"segment_ids is {segment_ids.dtype} of shape {list(segment_ids.shape)}, but must be "
            f"whole numbers of the ids' shape {list(ids.shape)}; give one segment per token"
        )
    low, high = (int(bound) for bound in segment_ids.aminmax())
    if low < 0 or high >= n_segments:
        raise UserError(
            f"segment_ids holds {low if low < 0 else high}, but n_segments is {n_segments}: "
            f"segments go from 0 to {n_segments - 1}"
        )


def check_batch(target_ids: Tensor, source: Tensor) -> None:
    """Check that there is one target per source.

    Raises:
        UserError: if there is not.
    """
    if target_ids.shape[0] != source.shape[0]:
        raise UserError(
            f"target_ids {list(target_ids.shape)} has {target_ids.shape[0]} sentences, but the "
            f"source {list(source.shape)} has {source.shape[0]}; give one target per source"
        )


def check_alike(**tensors: Tensor) -> None:
    """Check that tensors that are used together are of one dtype and on one device.

    Raises:
        UserError: if they differ; the message names each tensor's.
    """
    first, *others = tensors.values()
    if any(other.dtype != first.dtype or other.device != first.device for other in others):
        have = ", ".join(f"{name} is {t.dtype} on {t.device}" for name, t in tensors.items())
        raise UserError(
            f"{have}, but they must agree; move or convert them, such as "
            "tensor.to(other) or model.to(other.device)"
        )
