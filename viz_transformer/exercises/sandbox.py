"""Sandbox for a learner's function: arguments copied, errors caught, time limited."""

from __future__ import annotations

import copy
import ctypes
import threading
from collections.abc import Callable
from typing import Any

#: How long a learner's function may take, all its calls together.
LIMIT_S = 10.0


class _OutOfTime(BaseException):
    """Raised inside a learner's function to end it; their `except Exception` does not catch it."""


def call_each(answer: Callable[..., Any], draws: list[tuple[Any, ...]]) -> list[Any]:
    """Call a function with a copy of each tuple of arguments, and return the results.

    Where a call raises, its result is the exception. After `LIMIT_S` the function is stopped, and
    the last result is a `TimeoutError`.
    """
    found: list[Any] = []

    def call() -> None:
        try:
            for arguments in draws:
                try:
                    found.append(answer(*copy.deepcopy(arguments)))
                except Exception as error:
                    found.append(error)
        except _OutOfTime:
            pass

    worker = threading.Thread(target=call, daemon=True)
    worker.start()
    worker.join(LIMIT_S)
    if worker.is_alive():
        # Python has no gentler way to stop a thread than to raise between two of its instructions.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(worker.ident or 0), ctypes.py_object(_OutOfTime)
        )
        worker.join(1)
        found.append(TimeoutError())
    return found
