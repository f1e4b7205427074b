"""Learners who step through a lesson at the same time, each in a kernel: their waits and memory.

`python -m benchmarks classroom --learners 10 --lesson 1` tries one class; `--write` puts the
default classes into docs/contributing/benchmarks.md. Thirty learners need a quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.classroom_kernels import Kernel, code_of, kernel, proportional_mib, run_cell
from benchmarks.table import Goal, Table
from viz_transformer.cli.course import find_lesson

CLASSES = (1, 10, 30)
#: Seconds: the class opens the lesson within ARRIVAL_S; THINK_S is the mean pause before a cell.
ARRIVAL_S = 30.0
THINK_S = 15.0
#: The goal for thirty learners in lesson 1 on two cores.
GOAL_LEARNERS = 30
GOAL_MEDIAN_S = 3.0

TEXT = """\
Learners take a lesson at the same time on one machine, each in a kernel of their own, started as
`viz-transformer lab` starts it. They arrive within {arrival:.0f} s, and run each cell as it is
shipped after a pause of 0 to {most:.0f} s (seed {seed}). A wait lasts from Shift+Enter until the
kernel has sent what the cell shows and is idle. Each learner's first cell imports the package and
loads the model, and stands apart (its median). Memory is each kernel's proportional share (PSS) after the
lesson, while all kernels are there. `python -m benchmarks classroom --write` measures this again."""


@dataclass(frozen=True)
class Visit:
    """One learner's lesson: seconds until each cell was done, the first apart, and what failed."""

    first_s: float
    waits_s: tuple[float, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Class:
    """What a class of learners met in a lesson; `memory_mib` is each kernel's share at its end."""

    lesson: str
    visits: tuple[Visit, ...]
    memory_mib: tuple[float, ...]

    @property
    def waits_s(self) -> list[float]:
        """The seconds of all cells but each learner's first, which loads the package."""
        return [wait for visit in self.visits for wait in visit.waits_s]

    def row(self) -> tuple[str, ...]:
        """Return the row of the table."""
        waits = self.waits_s
        return (
            str(len(self.visits)),
            self.lesson,
            str(len(waits) + len(self.visits)),
            f"{median(visit.first_s for visit in self.visits):.1f} s",
            f"{median(waits):.2f} s",
            f"{np.quantile(waits, 0.95):.1f} s",
            f"{max(waits):.1f} s",
            str(sum(len(visit.errors) for visit in self.visits)),
            f"{np.mean(self.memory_mib):.0f} MiB",
            f"{sum(self.memory_mib) / 1024:.1f} GiB",
        )


async def visit(learner: Kernel, cells: list[str], pauses_s: list[float]) -> Visit:
    """Step through the cells, with a pause before each."""
    waits, errors = [], []
    for source, pause_s in zip(cells, pauses_s, strict=True):
        await asyncio.sleep(pause_s)
        wait_s, error = await run_cell(learner, source)
        waits.append(wait_s)
        errors += [error] if error else []
    return Visit(waits[0], tuple(waits[1:]), tuple(errors))


async def hold_class(name: str, n_learners: int, think_s: float, seed: int) -> Class:
    """Let that many learners take a lesson, each with a folder, a kernel and a pace of their own."""
    cells = code_of(find_lesson(name))
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        async with AsyncExitStack() as kernels:

            async def learn(number: int, arrives_s: float, pauses_s: list[float]) -> tuple[int, Visit]:
                await asyncio.sleep(arrives_s)
                learner = await kernels.enter_async_context(kernel(Path(folder, str(number))))
                return learner.pid, await visit(learner, cells, pauses_s)

            paces = [
                (draw.uniform(0, ARRIVAL_S), [draw.uniform(0, 2 * think_s) for _ in cells])
                for _ in range(n_learners)
            ]
            done = await asyncio.gather(*(learn(number, *pace) for number, pace in enumerate(paces)))
            memory = tuple(proportional_mib(pid) for pid, _ in done)  # while all of them are there
    return Class(name, tuple(visit for _, visit in done), memory)


def run(*flags: str) -> Table:
    """Hold each class in turn; the flags are those of `python -m benchmarks classroom`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks classroom")
    parser.add_argument("--learners", type=int, nargs="+", default=CLASSES, metavar="N")
    parser.add_argument("--lesson", nargs="+", default=("1",), metavar="LESSON")
    parser.add_argument("--think", type=float, default=THINK_S, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(flags)
    classes = [
        asyncio.run(hold_class(lesson, n_learners, options.think, options.seed))
        for lesson in options.lesson
        for n_learners in options.learners
    ]
    return Table(
        title="A classroom",
        text=TEXT.format(most=2 * options.think, arrival=ARRIVAL_S, seed=options.seed),
        columns=(
            "learners",
            "lesson",
            "cells run",
            "first cell",
            "median",
            "95th percentile",
            "longest",
            "errors",
            "memory a learner",
            "memory in all",
        ),
        rows=tuple(each.row() for each in classes),
        goals=tuple(goal(each) for each in classes if is_goal(each)),
    )


def is_goal(each: Class) -> bool:
    """Return whether the goal is set for this class."""
    return (len(each.visits), each.lesson) == (GOAL_LEARNERS, "1")


def goal(each: Class) -> Goal:
    """Return the goal with what the class reached."""
    reached = median(each.waits_s)
    return Goal(
        f"{GOAL_LEARNERS} learners in lesson 1 on two cores wait under {GOAL_MEDIAN_S:.0f} s at the median",
        f"{reached:.2f} s",
        reached < GOAL_MEDIAN_S,
    )
