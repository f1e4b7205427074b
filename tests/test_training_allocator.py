"""Memory that steps free and take again: with glibc asked to keep it, the system is not asked."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from viz_transformer.training.allocator import keep_freed_memory

#: Takes and frees 64 MB ten times; prints the pages that the system had to bring.
STEPS = """
import resource
from viz_transformer.training.allocator import keep_freed_memory
import torch
kept = {keep} and keep_freed_memory()
def take():
    for _ in range(10):
        torch.ones(16_000_000)
take()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
take()
print(int(kept), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: bool) -> tuple[bool, int]:
    code = STEPS.format(keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, n_faults = map(int, done.stdout.split())
    return bool(kept), n_faults


def test_what_glibc_keeps_need_not_be_fetched_again() -> None:
    kept, n_faults = faults(keep=True)
    assert kept == (platform.libc_ver()[0] == "glibc")
    if kept:  # another C library is not asked, and does as it likes
        assert n_faults < faults(keep=False)[1] / 20


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_where_there_is_no_glibc_nothing_is_asked(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not keep_freed_memory()
