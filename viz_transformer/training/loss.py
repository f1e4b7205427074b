"""The training loss: cross-entropy and accuracy over the real tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.corpus.batches import Batch, TextBatch


def token_loss(
    logits: Tensor,
    wanted: Tensor,
    pad_id: int,
    label_smoothing: float = 0.0,
    weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy and the accuracy over the tokens to predict.

    >>> import torch
    >>> from viz_transformer.training import token_loss
    >>> loss, accuracy = token_loss(torch.zeros(1, 2, 4), torch.tensor([[3, 0]]), pad_id=0)
    >>> round(loss.item(), 3)  # ln 4: all four are equally likely, and padding does not count
    1.386

    Args:
        logits: [batch, target, vocab].
        wanted: ids [batch, target]: the text shifted by one, or the words behind masks.
        pad_id: positions with this id in `wanted` do not count.
        label_smoothing: probability mass spread over all tokens (Szegedy et al. 2016).
        weights: how much the tokens of each text count [batch]; None for all the same.
    """
    losses = F.cross_entropy(
        logits.flatten(0, 1),  # [batch · target, vocab]
        wanted.flatten(),  # [batch · target]
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
        reduction="mean" if weights is None else "none",
    )
    real = wanted != pad_id
    right = (logits.argmax(-1) == wanted) & real
    if weights is None:
        return losses, right.sum() / real.sum()
    counted = real * weights[:, None]  # [batch, target]
    loss = (losses.view_as(counted) * counted).sum() / counted.sum()
    return loss, (right * counted).sum() / counted.sum()


@torch.no_grad()
def mean_loss(
    logits_of: Callable[..., Tensor],
    batches: Iterable[Batch | TextBatch],
    pad_id: int,
    device: torch.device | str = "cpu",
) -> float:
    """Return the mean cross-entropy of all tokens to predict in some batches, in nats.

    Args:
        logits_of: gives the logits of a batch's inputs, on the device.
        batches: each once.
        pad_id: positions with this label do not count.
        device: where the model is.
    """
    total = n_tokens = 0.0
    for batch in batches:
        inputs = (torch.from_numpy(ids).to(device) for ids in batch.inputs)
        labels = torch.from_numpy(batch.labels).to(device)  # [row, position]
        loss, _ = token_loss(logits_of(*inputs), labels, pad_id)
        n_real = int((labels != pad_id).sum())
        total, n_tokens = total + loss.item() * n_real, n_tokens + n_real
    return total / n_tokens
