"""One training in several processes, started by `torchrun`: each has its share of every batch.

Outside `torchrun` there is one process, and these functions change nothing. The gradients of all
processes are averaged by torch's DistributedDataParallel; as every process weighs its loss by its
share of the step's real tokens, the step is the one that a single process would have taken.
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
def joined(device: str) -> Iterator[str]:
    """Join the processes that `torchrun` started, if it did; yields this process's device."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield f"cuda:{os.environ['LOCAL_RANK']}" if device == "cuda" else device
    finally:
        dist.destroy_process_group()


def n_processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def process_number() -> int:
    """Return this process's number, from 0."""
    return dist.get_rank() if n_processes() > 1 else 0


def shared(model: nn.Module) -> nn.Module:
    """Return what to call in place of the model, so that the processes' gradients are averaged."""
    return DistributedDataParallel(model) if n_processes() > 1 else model


def average(loss: Tensor) -> Tensor:
    """Return the loss to go backward from, of a process's part of the step's loss.

    DistributedDataParallel averages the processes' gradients, and their sum is wanted.
    """
    return loss * n_processes() if n_processes() > 1 else loss


def sum_of(value: float, device: torch.device) -> float:
    """Return the sum of a number over all processes."""
    if n_processes() == 1:
        return value
    total = torch.tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()


def own_share(batch: Batch) -> Batch:
    """Return this process's sentences of a batch: every n-th, so that lengths are alike.

    Raises:
        UserError: if there are more processes than sentences.
    """
    if n_processes() == 1:
        return batch
    if len(batch.source) < n_processes():
        raise UserError(
            f"a batch of {len(batch.source)} sentences cannot be shared by {n_processes()} "
            "processes; give larger batches, or start fewer"
        )
    rows = slice(process_number(), None, n_processes())
    return Batch(batch.source[rows], batch.target[rows])
