"""Data-parallel training in several processes, started by `torchrun`.

Each process has its shard of every batch. Outside `torchrun` there is one process, and these
functions have no effect. Torch's DistributedDataParallel averages the gradients; as every process
weighs its loss by its share of the step's real tokens, the step is the one that a single process
would have taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from viz_transformer.corpus.batches import Batch
from viz_transformer.errors import UserError


@contextmanager
def process_group(device: str) -> Iterator[str]:
    """Join the processes that `torchrun` started, if it did; yields this process's device."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield f"cuda:{os.environ['LOCAL_RANK']}" if device == "cuda" else device
    finally:
        dist.destroy_process_group()


def world_size() -> int:
    """Return how many processes train together; 1 outside `torchrun`."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return this process's number, from 0."""
    return dist.get_rank() if world_size() > 1 else 0


def data_parallel(model: nn.Module) -> nn.Module:
    """Return what to call in place of the model, so that gradients are averaged over the processes."""
    return DistributedDataParallel(model) if world_size() > 1 else model


def undo_average(loss: Tensor) -> Tensor:
    """Return a process's part of the loss, scaled so that the gradients add up over the processes.

    DistributedDataParallel averages them; their sum is the gradient of the step's loss.
    """
    return loss * world_size() if world_size() > 1 else loss


def all_reduce_sum(value: float, device: torch.device) -> float:
    """Return the sum of a number over all processes."""
    if world_size() == 1:
        return value
    total = torch.tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()


def shard(batch: Batch) -> Batch:
    """Return this process's sentences of a batch: every n-th, so that their lengths are alike.

    Raises:
        UserError: if there are more processes than sentences.
    """
    if world_size() == 1:
        return batch
    if len(batch.source) < world_size():
        raise UserError(
            f"a batch of {len(batch.source)} sentences cannot be shared by {world_size()} "
            "processes; give larger batches, or start fewer"
        )
    rows = slice(rank(), None, world_size())
    weights = None if batch.weights is None else batch.weights[rows]
    return Batch(batch.source[rows], batch.target[rows], weights)
