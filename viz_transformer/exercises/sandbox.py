"""Calls of a learner's function: arguments copied, errors caught, and a time limit."""

from __future__ import annotations

import copy
import ctypes
import threading
from collections.abc import Callable
from typing import Any

#: How long a learner's function may take, all its calls together.
LIMIT_S = 10.0


class _OutOfTime(BaseException):
    """Ends a learner's function; no `except Exception` of theirs catches it."""


def call_each(answer: Callable[..., Any], draws: list[tuple[Any, ...]]) -> list[Any]:
    """Call a function with each of the draws, copied, and return what came out.

    What a call raises stands in the place of its value. After `LIMIT_S` the function is ended, and
    the last value is a `TimeoutError`.
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
        # Raised between two of its instructions: Python has no kinder way to end a thread.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(worker.ident or 0), ctypes.py_object(_OutOfTime)
        )
        worker.join(1)
        found.append(TimeoutError())
    return found
