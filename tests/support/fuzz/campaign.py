"""A campaign: many seeded inputs, what each did, and a table of the counts."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import torch

from viz_transformer.errors import UserError

#: An input that takes more seconds of the processor is a hang, however busy the machine is, and so is
#: one that has not ended after the second number of seconds.
HANG_S, GIVEN_UP_S = 5.0, 120.0
#: An input that takes more bytes fails. A process that would hold more than the second gets no more.
MOST_BYTES, _HELD_BYTES = 2 * 10**9, 5 * 10**9
#: The most letters of an error: one line that can be read.
_MOST_LETTERS = 1_200
#: Inputs that a process tries at a time, and how often before a new one takes its place.
_PART, _PARTS_EACH = 50, 20
#: How an input can fail.
FAILURES = RAW, HANG, HALF_WRITTEN, CHANGED, LARGE = (
    *("raw exceptions", "over 5 s", "half-written files"),
    *("silently changed values", "over 2 GB"),
)
#: Where Linux says how much memory a process held at most, and where it begins to count again.
_STATUS, _COUNT_AGAIN = Path("/proc/self/status"), Path("/proc/self/clear_refs")

#: One input in a few words, and a call that gives it to its door.
Drawn = tuple[str, Callable[[], Any]]


@dataclass(frozen=True)
class Door:
    """A public function, a file, a message or a command.

    Attributes:
        name: in the table.
        draw: draws one input.
        share: how many of a campaign's inputs it gets, against the others.
    """

    name: str
    draw: Callable[[Random], Drawn]
    share: float = 1.0


@dataclass
class Count:
    """What became of a door's inputs; each failure with the seed that makes it again.

    Attributes:
        most_bytes: the most memory that an input took, beside what its process held before.
    """

    inputs: int = 0
    refused: int = 0
    most_bytes: int = 0
    failed: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in FAILURES})

    def add(self, other: Count) -> None:
        """Add what became of other inputs."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.most_bytes = max(self.most_bytes, other.most_bytes)
        for kind, failures in other.failed.items():
            self.failed[kind] += failures

    @property
    def failures(self) -> list[str]:
        """All failures."""
        return [failure for failures in self.failed.values() for failure in failures]


class HalfWrittenError(AssertionError):
    """A file that was there is no longer what it was, after writing failed."""


class ChangedError(AssertionError):
    """A damaged file was read as if it were whole, and holds other values."""


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
    """Show no warnings, compute on one thread, and take no memory that others need, in this process."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (_HELD_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    torch.set_num_threads(1)


def try_some(door: Door, seed: int, numbers: range) -> Count:
    """Give a door the inputs of these numbers."""
    count = Count()
    for number in numbers:
        try_one(door, f"{seed}/{number}", count)
    return count


def try_one(door: Door, seed: str, count: Count) -> None:
    """Give a door one input, in an empty folder, and count what it did."""
    found: dict[str, str] = {}
    with TemporaryDirectory(prefix="vt-fuzz-", ignore_cleanup_errors=True) as folder, chdir(folder):
        what, call = door.draw(Random(f"{door.name}/{seed}"))
        start = _worked_s()
        _held_bytes()
        before = _held_bytes()
        try:
            with _time_limit():
                call()
        except UserError as error:
            count.refused += 1
            if "\n" in str(error) or len(str(error)) > _MOST_LETTERS:
                found[RAW] = f"a message of {len(str(error))} letters: {str(error)[:200]!r}"
        except HalfWrittenError as error:
            found[HALF_WRITTEN] = str(error)
        except ChangedError as error:
            found[CHANGED] = str(error)
        except _GivenUpError:
            found[HANG] = "no end"
        except BaseException as error:  # what the campaign is for
            found[RAW] = f"{type(error).__name__}: {str(error)[:200]!r}"
        if (taken := _worked_s() - start) > HANG_S:
            found[HANG] = f"{taken:.0f} s"
        taken_bytes = _held_bytes() - before
        count.most_bytes = max(count.most_bytes, taken_bytes)
        if taken_bytes > MOST_BYTES:
            found[LARGE] = f"{taken_bytes / 1e9:.1f} GB"
        if left := [each.name for each in Path(folder).rglob("*") if each.name.endswith((".part", ".old"))]:
            found[HALF_WRITTEN] = f"left {left}"
    count.inputs += 1
    for kind, told in found.items():
        count.failed[kind].append(f"{seed} {what}: {told}")


def _worked_s() -> float:
    """Return the seconds of the processor of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _held_bytes() -> int:
    """Return the most memory that this process held since this was called before; 0 where nobody counts."""
    if not _COUNT_AGAIN.exists():
        return 0
    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", _STATUS.read_text(encoding="utf-8"))
    _COUNT_AGAIN.write_text("5", encoding="utf-8")
    return 1024 * int(most)


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
