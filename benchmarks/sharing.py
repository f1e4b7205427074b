"""A training and a lesson beside busy kernels: whether sharing the processor explains how long they take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import nbformat

from benchmarks.lesson_cells import LESSONS, OTHERS, others_at_work, seconds
from benchmarks.table import Goal, Table

LESSON = 7
ROUNDS = 3
MOST = 1.3
#: A task that takes this much longer alone than its processor time shares the machine with other work.
_DISTURBED = 1.25
_NOTE = (
    " In this run other work shared the machine, alone and beside, so trust the processor's seconds more "
    "than the wall's."
)
_TRAIN = "from viz_transformer.recipes import six_pairs_translator\n"


class Times(NamedTuple):
    """Seconds of the processor and of the clock."""

    processor_s: float
    wall_s: float


def times(sources: Sequence[str]) -> Times:
    """Return what all cells take together in a new kernel."""
    processor, wall = zip(*seconds(sources), strict=True)
    return Times(sum(processor), sum(wall))


def middle(rounds: Sequence[Times]) -> Times:
    """Return the medians."""
    processor, wall = zip(*rounds, strict=True)
    return Times(median(processor), median(wall))


def tasks() -> dict[str, list[str]]:
    """Return the cells of each task, by its name."""
    cells = nbformat.read(LESSONS[LESSON - 1], as_version=4).cells
    lesson = [cell.source for cell in cells if cell.cell_type == "code"]
    return {"six pairs, 300 steps": [_TRAIN + "six_pairs_translator()"], f"lesson {LESSON}": lesson}


def run() -> Table:
    """Measure each task alone and beside others, by turns."""
    explained = max(1.0, (OTHERS + 1) / (os.cpu_count() or 1))
    rows, goals, note = [], [], ""
    for name, sources in tasks().items():
        times(sources)  # Python compiles what is imported for the first time
        alone, beside = [], []
        for _ in range(ROUNDS):
            alone.append(times(sources))
            with others_at_work(_TRAIN + "while True: six_pairs_translator()"):
                beside.append(times(sources))
        before, after = middle(alone), middle(beside)
        if before.wall_s > _DISTURBED * before.processor_s:
            note = _NOTE
        longer, more = after.wall_s / before.wall_s, after.processor_s / before.processor_s
        told = (before.wall_s, after.wall_s, before.processor_s, after.processor_s)
        rows.append((name, *(f"{each:.1f} s" for each in told), f"{longer:.1f}×", f"{more:.2f}×"))
        goals += [
            Goal(
                f"{name}: at most {MOST:.1f} times as long as sharing explains, {MOST * explained:.1f}×",
                f"{longer:.1f}×",
                longer <= MOST * explained,
            ),
            Goal(f"{name}: at most {MOST:.1f}× the processor", f"{more:.2f}×", more <= MOST),
        ]
    return Table(
        title="A training and a lesson beside busy kernels",
        text=(
            f"The six pairs' training, with its imports, and all cells of lesson {LESSON}, in a kernel as "
            f"`viz-transformer lab` starts it: alone, and while {OTHERS} other processes with a kernel's "
            f"settings train the six pairs without end. Medians of {ROUNDS} rounds, by turns. "
            f"Sharing the cores explains {explained:.1f} times the wall time. Threads that spin while they "
            "wait for each other would use far more of the processor beside others than alone." + note
        ),
        columns=(
            "task",
            "wall, alone",
            "wall, beside",
            "processor, alone",
            "processor, beside",
            "longer by",
            "more processor",
        ),
        rows=tuple(rows),
        goals=tuple(goals),
    )
