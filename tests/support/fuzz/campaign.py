"""A campaign: many seeded inputs, what each did, and a table of the counts."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import torch

from viz_transformer.errors import UserError

#: An input that takes more seconds of the processor is a hang, however busy the machine is, and so is
#: one that has not ended after the second number of seconds.
HANG_S, GIVEN_UP_S = 5.0, 120.0
#: The most letters of an error: one line that can be read.
_MOST_LETTERS = 1_200
#: Inputs that a process tries at a time, and how often before a new one takes its place.
_PART, _PARTS_EACH = 50, 20


@dataclass(frozen=True)
class Door:
    """A public function, a file, a message or a command.

    Attributes:
        name: in the table.
        draw: draws one input, and returns it in a few words and a call that gives it to the door.
        share: how many of a campaign's inputs it gets, against the others.
    """

    name: str
    draw: Callable[[Random], tuple[str, Callable[[], Any]]]
    share: float = 1.0


@dataclass
class Count:
    """What became of a door's inputs; each failure with the seed that makes it again."""

    inputs: int = 0
    refused: int = 0
    raw: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    half_written: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        """Add what became of other inputs."""
        self.inputs += other.inputs
        self.refused += other.refused
        for name in ("raw", "hangs", "half_written"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def failures(self) -> list[str]:
        """All failures."""
        return [*self.raw, *self.hangs, *self.half_written]


class HalfWrittenError(AssertionError):
    """A file that was there is no longer what it was, after writing failed."""


class _GivenUpError(BaseException):
    """Ends an input that takes too long."""


def run(doors: Iterable[Door], n: int, seed: int) -> Iterator[tuple[Door, Count]]:
    """Give every door its share of `n` inputs; yields each door with its count when it is done.

    Inputs are tried in as many processes as there are processors, some at a time. New ones take their
    place now and then: Python 3.11's own way to renew them, `max_tasks_per_child`, can wait for ever.
    """
    doors = list(doors)
    shares = sum(door.share for door in doors)
    spawn = multiprocessing.get_context("spawn")  # a fork would share torch's threads
    at_once = _PARTS_EACH * (os.cpu_count() or 1)
    for door in doors:
        share, count = max(1, round(n * door.share / shares)), Count()
        parts = [range(first, min(first + _PART, share)) for first in range(0, share, _PART)]
        for first in range(0, len(parts), at_once):
            with ProcessPoolExecutor(mp_context=spawn, initializer=quietly) as pool:
                for found in pool.map(partial(try_some, door, seed), parts[first : first + at_once]):
                    count.add(found)
        yield door, count


def quietly() -> None:
    """Show no warnings and compute on one thread in this process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def try_some(door: Door, seed: int, numbers: range) -> Count:
    """Give a door the inputs of these numbers."""
    count = Count()
    for number in numbers:
        try_one(door, f"{seed}/{number}", count)
    return count


def try_one(door: Door, seed: str, count: Count) -> None:
    """Give a door one input, and count what it did."""
    with _scratch() as folder:
        what, call = door.draw(Random(f"{door.name}/{seed}"))
        start, failure, ended = _worked_s(), "", True
        try:
            with _time_limit():
                call()
        except UserError as error:
            count.refused += 1
            if "\n" in str(error) or len(str(error)) > _MOST_LETTERS:
                failure = f"a message of {len(str(error))} letters: {str(error)[:200]!r}"
        except HalfWrittenError as error:
            count.half_written.append(f"{seed} {what}: {error}")
        except _GivenUpError:
            ended = False
        except BaseException as error:  # what the campaign is for
            failure = f"{type(error).__name__}: {str(error)[:200]!r}"
        taken = _worked_s() - start
        count.inputs += 1
        if failure:
            count.raw.append(f"{seed} {what}: {failure}")
        if taken > HANG_S or not ended:
            count.hangs.append(f"{seed} {what}: {taken:.0f} s" + ", and no end" * (not ended))
        if left := [each.name for each in folder.rglob("*") if each.name.endswith((".part", ".old"))]:
            count.half_written.append(f"{seed} {what}: left {left}")


def _worked_s() -> float:
    """Return the seconds of the processor of this process and of those that it waited for."""
    return sum(os.times()[:4])


@contextmanager
def _scratch() -> Iterator[Path]:
    """Work in an empty folder."""
    before, folder = Path.cwd(), tempfile.mkdtemp(prefix="vt-fuzz-")
    os.chdir(folder)
    try:
        yield Path(folder)
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _time_limit() -> Iterator[None]:
    def give_up(_: int, __: FrameType | None) -> None:
        raise _GivenUpError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, GIVEN_UP_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
