"""The peak of a process's memory while something runs, on Linux with glibc."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def can_be_measured() -> bool:
    """Return whether this is Linux with glibc."""
    return Path("/proc/self/clear_refs").exists() and hasattr(ctypes.CDLL(None), "malloc_trim")


def peak_mib(action: Callable[[], object]) -> float:
    """Return how far an action raises this process's memory, in MiB, what it returns included.

    Run the action once before, so that code which it loads is not counted.
    """
    # Hand free memory back, or the action would fill it again and seem to need none.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    # 5 sets the peak back to what the process holds now. The peak of getrusage would not do: it
    # remembers imports, and even the parent process.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_mib("VmRSS")
    result = action()
    peak = _status_mib("VmHWM") - before
    del result
    return peak


def in_a_fresh_process(module: str, call: str) -> Any:
    """Return what a call of a module's function returns in a process of its own."""
    code = f"import json, {module}\nprint(json.dumps({module}.{call}))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return json.loads(done.stdout.splitlines()[-1])


def _status_mib(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024
