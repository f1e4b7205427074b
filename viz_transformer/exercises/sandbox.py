"""Sandbox for a learner's code: arguments copied, whatever it raises caught, time limited."""

from __future__ import annotations

import copy
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

#: How long a learner's function may take, all its calls together, in seconds of the processor: the
#: clock would cut off right answers where a class of kernels shares it.
LIMIT_S = 3.0
#: How long a whole check may take besides: what else an answer may do, such as compare itself.
WHOLE_LIMIT_S = 30.0
#: How many times as long what only waits may take by the clock.
_WAITING = 4

#: How soon other threads are let in, as Python has it.
_SWITCH_S = sys.getswitchinterval()

Result = TypeVar("Result")
TraceFunction = Callable[[FrameType, str, Any], Any]


class _OutOfTime(BaseException):
    """Raised inside a learner's function to end it; their `except Exception` does not catch it."""


class _Insistent(_OutOfTime):
    """Where it is caught nevertheless, Python's tracing raises the next one with the line that follows."""

    def __init__(self) -> None:
        super().__init__()
        frame = sys._getframe(1)
        if frame.f_code is _watched.__code__:
            return
        while frame.f_code is not _watched.__code__ and frame.f_back is not None:
            frame.f_trace = _raise_at_once
            frame = frame.f_back
        sys.settrace(_raise_at_once)


def _raise_at_once(_: FrameType, event: str, __: object) -> TraceFunction:
    if event == "line":
        raise _OutOfTime
    return _raise_at_once


def within_time(seconds: float, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or end it with a `TimeoutError` when its processor time is up.

    The work is done where this is called, so nothing lives on when it is ended; a second thread raises
    an exception in it, again and again, until it is left. A process of its own could be ended
    surely, but would have to be forked from a kernel whose torch has threads, or be sent what
    can't be pickled, a learner's functions and modules. A tracer would make every check ten times
    as slow. What stays out of reach is one endless call of C, such as ``list(itertools.count())``.
    """
    caller, news, ended = threading.get_ident(), SimpleQueue[FrameType | None](), threading.Lock()
    tracing = sys.gettrace()
    ended.acquire()
    threading.Thread(target=_watch, args=(seconds, caller, news, ended), daemon=True).start()
    try:
        try:
            return _watched(work, news)
        finally:
            try:
                ended.acquire()  # the watcher has ended: it raises no more
            finally:
                sys.settrace(tracing)
                _raise_in(caller, None)  # what it raised may not have arrived
    except _OutOfTime:
        raise TimeoutError from None


def _watched(work: Callable[[], Result], news: SimpleQueue[FrameType | None]) -> Result:
    """Do the work; what runs below this frame may be ended, and nothing around it."""
    news.put(sys._getframe())
    try:
        return work()
    finally:
        news.put(None)


def _watch(seconds: float, caller: int, news: SimpleQueue[FrameType | None], ended: threading.Lock) -> None:
    """Wait for the end of the work, or of its time; then raise in it until it is left."""
    guard, begun, latest = news.get(), time.process_time(), time.monotonic() + _WAITING * seconds
    try:
        while time.process_time() - begun < seconds and time.monotonic() < latest:
            if _is_told(news, 0.05):
                return
        sys.setswitchinterval(1e-5)  # so that it is also raised between one `try` and the next
        while True:
            if _may_end(guard, caller):
                _raise_in(caller, _Insistent)
            if _is_told(news, 1e-4):
                return
    finally:
        sys.setswitchinterval(_SWITCH_S)
        ended.release()


def _is_told(news: SimpleQueue[FrameType | None], within_s: float) -> bool:
    try:
        news.get(timeout=within_s)
    except Empty:
        return False
    return True


def _may_end(guard: FrameType | None, caller: int) -> bool:
    """Whether a thread is below the guard's frame, and not in a shorter limit, which ends by itself."""
    frame = sys._current_frames().get(caller)
    if frame is guard:
        return False
    while frame is not None and frame is not guard and frame.f_code is not within_time.__code__:
        frame = frame.f_back
    return frame is guard


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next step of Python, or take back one that has not arrived."""
    error = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)


def call_each(answer: Callable[..., Any], draws: list[tuple[Any, ...]]) -> list[Any]:
    """Call a function with a copy of each tuple of arguments, and return the results.

    Where a call raises, its result is the exception. After `LIMIT_S` the function is stopped, and
    the last result is a `TimeoutError`.
    """
    found: list[Any] = []

    def call_all() -> None:
        for arguments in draws:
            try:
                found.append(answer(*copy.deepcopy(arguments)))
            except Exception as error:
                found.append(error)
            except (SystemExit, GeneratorExit) as error:
                found.append(RuntimeError(f"{type(error).__name__}, which ends Python; return a value"))

    try:
        within_time(LIMIT_S, call_all)
    except TimeoutError:
        found.append(TimeoutError())
    return found
