"""What a learner's memory is made of: a kernel, step by step, and after lessons; on Linux."""

from __future__ import annotations

import asyncio
import shutil
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import psutil

from benchmarks.classroom_kernels import Kernel, code_of, kernel, own_and_library_mib, run_cell
from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import LabServer
from viz_transformer.cli.course import find_lesson

#: One kernel does all of these, one after the other.
STEPS = (
    ("a kernel that has run nothing", ""),
    ("+ numpy", "import numpy"),
    ("+ matplotlib and one figure", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"),
    (
        "+ viz_transformer and a view without a model",
        "import viz_transformer as vt\nvt.softmax_lab()",
    ),
    ("+ a bundled training, replayed", 'vt.watch_training(vt.load_training("six-pairs-0"))'),
    ("+ torch", "import torch"),
    ("+ the translator, one translation", 'vt.load_translator().translate("the black cat sleeps")'),
)
#: A kernel of its own for each.
LESSONS = ("1", "7", "10", "11", "13")
GOALS = {"+ a bundled training, replayed": 120.0, "after lesson 10": 200.0}


async def after_steps() -> list[tuple[str, float, float]]:
    """Return the memory after each step of one kernel: own and of libraries, MiB."""
    rows = []
    with TemporaryDirectory() as folder:
        async with kernel(Path(folder)) as one:
            for name, source in STEPS:
                await run_soundly(one, source)
                rows.append((name, *own_and_library_mib(one.pid)))
    return rows


async def after_lesson(name: str) -> tuple[str, float, float]:
    """Return the memory of a kernel that has run a lesson."""
    with TemporaryDirectory() as folder:
        async with kernel(Path(folder)) as one:
            for source in code_of(find_lesson(name)):
                await run_soundly(one, source)
            return f"after lesson {name}", *own_and_library_mib(one.pid)


def of_server() -> tuple[str, float, float]:
    """Return the memory of JupyterLab's server once it has shown a lesson."""
    with TemporaryDirectory() as folder, LabServer(Path(folder)) as server:
        (process,) = psutil.Process().children()
        lesson = find_lesson("1").path
        shutil.copy(lesson, server.root)
        for address in (server.address(lesson.name), f"{server.url}/api/contents?token={server.token}"):
            with urlopen(address) as page:
                page.read()
        return "JupyterLab's server", *own_and_library_mib(process.pid)


async def run_soundly(one: Kernel, source: str) -> None:
    """Run a cell that must not fail."""
    _, error = await run_cell(one, source)
    if error:
        raise RuntimeError(f"{error} in: {source}")


def what_is_left(own_mib: dict[str, float]) -> str:
    """Say what libraries leave of the goal for lesson 10, from the memory after each step."""
    names = [name for name, _ in STEPS]
    grown = {name: own_mib[name] - own_mib[before] for before, name in pairwise(names)}
    torch, matplotlib = grown["+ torch"], grown["+ matplotlib and one figure"]
    most = GOALS["after lesson 10"]
    left = most - torch - matplotlib - own_mib["+ numpy"]
    return (
        f"Of the {most:.0f} MiB that are the goal after lesson 10, torch takes {torch:.0f}, a kernel with "
        f"numpy {own_mib['+ numpy']:.0f} and matplotlib {matplotlib:.0f}. That leaves {left:.0f} for the "
        "package, its views, the lesson's figures and its trainings."
    )


def run() -> Table:
    """Measure the steps and the lessons."""
    measured = [of_server(), *asyncio.run(after_steps())]
    measured += [asyncio.run(after_lesson(name)) for name in LESSONS]
    own_mib = {name: own for name, own, _ in measured}
    return Table(
        title="What a learner's memory is made of",
        text=(
            "One kernel, started as `viz-transformer lab` starts it, does the steps one after the other; "
            "each lesson then has a kernel of its own. Under JupyterHub each learner has a server, too. "
            "*Own* is what every further learner adds. *Files* are pages of programs and libraries, which "
            "are in memory once, however many kernels there are: a class needs as many times *own* as it "
            f"has learners, and once *files*. {what_is_left(own_mib)} `python -m benchmarks "
            "classroom_memory --write` measures this again."
        ),
        columns=("process", "own", "files"),
        rows=tuple((name, f"{own:.0f} MiB", f"{files:.0f} MiB") for name, own, files in measured),
        goals=tuple(
            Goal(
                f"{name.lstrip('+ ')}: at most {most:.0f} MiB of its own",
                f"{own_mib[name]:.0f} MiB",
                own_mib[name] <= most,
            )
            for name, most in GOALS.items()
        ),
    )
