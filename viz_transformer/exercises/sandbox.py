"""Sandbox for a learner's code: arguments copied, whatever it raises caught, time limited."""

from __future__ import annotations

import copy
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: How long a learner's function may take, all its calls together, in seconds of the processor: the
#: clock would cut off right answers where a class of kernels shares it.
LIMIT_S = 3.0
#: How long a whole check may take besides: what else an answer may do, such as compare itself.
WHOLE_LIMIT_S = 30.0
#: How many times as long what only waits may take by the clock.
_WAITING = 4


class _OutOfTime(BaseException):
    """Raised inside a learner's function to end it; their `except Exception` does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End what the block does with a `TimeoutError` when its time on the processor is up.

    The block runs where it was called, so nothing lives on when it is ended; a second thread raises
    an exception in it, again and again, until it is left. A process of its own could be ended
    surely, but would have to be forked from a kernel whose torch has threads, or be sent what
    can't be pickled, a learner's functions and modules. A tracer would make every check ten times
    as slow. What stays out of reach is one endless call of C, such as ``list(itertools.count())``.
    """
    caller, left = threading.get_ident(), threading.Event()

    def raise_there(kind: type[BaseException] | None) -> None:
        error = None if kind is None else ctypes.py_object(kind)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(caller), error)

    def watch() -> None:
        begun, latest = time.process_time(), time.monotonic() + _WAITING * seconds
        while time.process_time() - begun < seconds and time.monotonic() < latest:
            if left.wait(0.05):
                return
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)  # so that it is also raised between a loop's `try` and its next turn
        while not left.wait(1e-4):
            raise_there(_OutOfTime)
        sys.setswitchinterval(interval)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    late = False
    try:
        yield
    except _OutOfTime:
        late = True
    finally:
        while watcher.is_alive():
            try:
                left.set()
                watcher.join()
            except _OutOfTime:
                late = True
        raise_there(None)  # one that was raised, but has not arrived
    if late:
        raise TimeoutError


def call_each(answer: Callable[..., Any], draws: list[tuple[Any, ...]]) -> list[Any]:
    """Call a function with a copy of each tuple of arguments, and return the results.

    Where a call raises, its result is the exception. After `LIMIT_S` the function is stopped, and
    the last result is a `TimeoutError`.
    """
    found: list[Any] = []
    try:
        with time_limit(LIMIT_S):
            for arguments in draws:
                try:
                    found.append(answer(*copy.deepcopy(arguments)))
                except Exception as error:
                    found.append(error)
                except (SystemExit, GeneratorExit) as error:
                    found.append(RuntimeError(f"{type(error).__name__}, which ends Python; return a value"))
    except TimeoutError:
        found.append(TimeoutError())
    return found
