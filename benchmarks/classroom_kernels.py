"""Kernels as `viz-transformer lab` starts them, their cells' replies, and their memory on Linux."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from viz_transformer.cli import lab_environment
from viz_transformer.cli.course import Lesson

#: For a kernel's start and for one cell: only what hangs takes longer.
TIMEOUT_S = 600


@dataclass(frozen=True)
class Kernel:
    """A running kernel: its process, and the client that sends it cells."""

    pid: int
    client: AsyncKernelClient


@asynccontextmanager
async def kernel(folder: Path) -> AsyncIterator[Kernel]:
    """Start a kernel in a folder, which is made, and end it afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    manager = AsyncKernelManager(kernel_name="python3")
    # Each kernel warns there that it listens on TCP, which is how JupyterLab starts it.
    await manager.start_kernel(env=lab_environment(), cwd=str(folder), stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=TIMEOUT_S)
        yield Kernel(manager.provisioner.pid, client)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def run_cell(kernel: Kernel, source: str) -> tuple[float, str]:
    """Run a cell; return seconds until the kernel is idle again, and the error's name or ``""``.

    By then the kernel has sent what the cell shows: text, pictures, and its views' data.
    """
    start = perf_counter()
    try:
        reply = await kernel.client.execute_interactive(
            source, output_hook=lambda _: None, allow_stdin=False, timeout=TIMEOUT_S
        )
    except (RuntimeError, TimeoutError) as error:  # the kernel died, or hangs
        return perf_counter() - start, type(error).__name__
    return perf_counter() - start, reply["content"].get("ename", "")


def code_of(lesson: Lesson) -> list[str]:
    """Return the lesson's cells of code, unanswered, in their order."""
    cells = nbformat.read(lesson.path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def own_and_library_mib(pid: int) -> tuple[float, float]:
    """Return what a process holds for itself, and pages of files, which processes share, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    own = _kib("RssAnon", status) + _kib("RssShmem", status)
    return own / 1024, _kib("RssFile", status) / 1024


def proportional_mib(pid: int) -> float:
    """Return a process's proportional share of memory (PSS): what it shares is divided, in MiB."""
    return _kib("Pss", Path(f"/proc/{pid}/smaps_rollup").read_text()) / 1024


def _kib(field: str, text: str) -> int:
    return int(re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)[1])
