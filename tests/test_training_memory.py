"""Memory that steps free and take again: with glibc asked to keep it, the system is not asked."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from viz_transformer.training.memory import keep_freed_memory

#: Takes and frees 64 MB ten times; prints the pages that the system had to bring.
STEPS = """
import resource
from viz_transformer.training.memory import keep_freed_memory
import torch
if {keep}:
    assert keep_freed_memory()
def take():
    for _ in range(10):
        torch.ones(16_000_000)
take()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
take()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: bool) -> int:
    code = STEPS.format(keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library is not asked")
def test_what_is_kept_need_not_be_fetched_again() -> None:
    assert faults(keep=True) < faults(keep=False) / 20


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_where_there_is_no_glibc_nothing_is_asked(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not keep_freed_memory()
