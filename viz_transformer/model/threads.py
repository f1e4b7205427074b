"""The number of threads that a model runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from viz_transformer._bounds import THREADS, whole_number
from viz_transformer.config import ModelConfig


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Run on so many threads; their number decides the order of sums, and so the last bits."""
    whole_number("threads", number, THREADS)
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(config: ModelConfig) -> AbstractContextManager[None]:
    """Run a small model on one thread.

    Its matrices are too small to share out: on a machine with other work to do, threads that wait
    for each other made one translation take 5.7 s in place of 0.06 s.
    """
    return threads(1 if config.d_model <= 128 else torch.get_num_threads())
