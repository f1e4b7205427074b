"""The lessons' cells under a classroom's load: processor time of each, and wall time of the heaviest."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from benchmarks.table import Goal, Table
from viz_transformer.cli import lab_environment

LESSONS = sorted((Path(__file__).parents[1] / "notebooks").glob("[0-9]*.ipynb"))
OTHERS = 8
N_HEAVIEST = 3
MOST_S = 10.0
_TIMEOUT_S = 600
#: Run first: notes seconds of the processor and of the clock for each cell after it.
_WATCH = """\
def _watch():
    import time
    start = []
    def before(_):
        start[:] = time.process_time(), time.perf_counter()
    def after(_):
        if start:
            spent.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    spent = []
    events = get_ipython().events
    events.register("pre_run_cell", before)
    events.register("post_run_cell", after)
    return spent
_spent = _watch()"""


@dataclass(frozen=True)
class Cell:
    """One cell of code: where it stands, and the seconds that it took."""

    lesson: Path
    name: str
    processor_s: float
    wall_s: float


def measure(lesson: Path, last: str = "") -> list[Cell]:
    """Run a lesson in a kernel as `viz-transformer lab` starts it, up to the cell `last`."""
    notebook = nbformat.read(lesson, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    names = [cell.id for cell in code]
    if last:
        code = code[: names.index(last) + 1]
    spent = seconds([cell.source for cell in code])
    return [Cell(lesson, cell.id, *each) for cell, each in zip(code, spent, strict=True)]


def seconds(sources: Sequence[str]) -> list[tuple[float, float]]:
    """Run cells in a kernel as `viz-transformer lab` starts it; return each one's processor and wall time."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (_WATCH, *sources, "print(_spent)")]
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=_TIMEOUT_S, resources={"metadata": {"path": folder}}, kernel_name="python3"
        )
        client.execute(env=lab_environment())
    return list(ast.literal_eval(notebook.cells[-1].outputs[0].text))


@contextmanager
def others_at_work(program: str = "while True: pass") -> Iterator[None]:
    """Keep as many processes as there are neighbours in a classroom busy meanwhile."""
    # Each in a session of its own, as kernels are: Linux shares the processor out by session first.
    command = [sys.executable, "-c", program]
    busy = [subprocess.Popen(command, env=lab_environment(), start_new_session=True) for _ in range(OTHERS)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def run() -> Table:
    """Measure every lesson alone, then the heaviest cells of all again beside others."""
    # The second time counts. By then Python has kept what it compiled, as pip does when it installs.
    alone = {lesson: [measure(lesson) for _ in range(2)][-1] for lesson in LESSONS}
    every = sorted((cell for cells in alone.values() for cell in cells), key=lambda cell: cell.processor_s)
    heaviest = every[: -N_HEAVIEST - 1 : -1]
    with others_at_work():
        beside = {cell: measure(cell.lesson, cell.name)[-1].wall_s for cell in heaviest}
    rows = []
    for lesson, cells in alone.items():
        most = max(cells, key=lambda cell: cell.processor_s)
        total = sum(cell.processor_s for cell in cells)
        wall = f"{beside[most]:.1f} s" if most in beside else "–"
        told = (f"{total:.1f} s", most.name, f"{most.processor_s:.1f} s", f"{most.wall_s:.1f} s", wall)
        rows.append((lesson.stem, str(len(cells)), *told))
    slowest = max(beside.values())
    return Table(
        title="The lessons' cells in a classroom",
        text=(
            "Each lesson is run from top to bottom in a kernel of its own, as `viz-transformer lab` starts "
            "it: on one thread. Seconds of the processor are the kernel's own, and Python has compiled every "
            "module before, as it has where pip installs them. The last column is the wall "
            f"time of the {N_HEAVIEST} heaviest cells of all while {OTHERS} other processes never rest."
        ),
        columns=(
            "lesson",
            "cells",
            "processor",
            "heaviest cell",
            "its processor",
            "its wall",
            "beside others",
        ),
        rows=tuple(rows),
        goals=(
            Goal(
                f"no cell over {MOST_S:.0f} s beside {OTHERS} others at work",
                f"{slowest:.1f} s at the most",
                slowest <= MOST_S,
            ),
        ),
    )
