"""Sandbox for a learner's code: arguments copied, whatever it raises caught, time limited."""

from __future__ import annotations

import _thread
import copy
import ctypes
import signal
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from viz_transformer.exercises.footprint import leaving_nothing, within_memory

#: How long a learner's function may take, all its calls together, in seconds of the processor: the
#: clock would cut off right answers where a class of kernels shares it.
LIMIT_S = 3.0
#: How long a whole check may take besides: what else an answer may do, such as compare itself.
WHOLE_LIMIT_S = 5.0
#: How often the work is looked at, and how often what goes on beyond its time is told to end.
_LOOK_S, _TELL_S = 0.05, 0.001
#: How many times as long what computes now and then may take by the clock.
_WAITING = 4
#: How long work may use less than a share of one processor, which is to sleep. Work that has to wait for its
#: turn uses more: among thirty busy kernels on two processors, a fifteenth.
_ASLEEP_S, _ASLEEP = 4.0, 0.02
#: How many of these signals are let pass while a `with` is being entered or left: it puts back what it
#: changed, or torch's gradients would stay off. None needs as many, but one without an end has them all.
_LET_PASS = 20

#: The name of the thread that ends an answer; it is over when the answer is.
WATCHER = "time limit of an answer"
#: What is said of an answer that fills the memory.
TOO_LARGE = "It takes more than 2 GB of memory: is there a list or an array that grows without end?"
#: What is said of an answer that was ended.
NO_END = "It did not come to an end: is there a loop that never stops, or does it wait for something?"

#: The signal by which a limit's thread reaches Python's main thread. Windows has few that nothing else sends.
_SIGNAL = getattr(signal, "SIGVTALRM", signal.SIGTERM)

Result = TypeVar("Result")


class _OutOfTime(BaseException):
    """Raised inside a learner's function to end it; their `except Exception` does not catch it."""


class _Limit:
    """One limit in force.

    Attributes:
        guard: the frame that called the work; what runs below it may be ended, and nothing else.
        is_up: whether its time is up.
        is_ending: whether the work is being ended; whatever it raises from then on comes of that.
        is_over: set when the work has been left.
        n_let_pass: how many signals came while a `with` was being entered or left.
    """

    def __init__(self) -> None:
        self.guard: FrameType | None = None
        self.is_up = False
        self.is_ending = False
        self.is_over = threading.Event()
        self.n_let_pass = 0

    def watch(self, seconds: float) -> None:
        """Wait for the end of the work, or of its time; then signal until the work has been left.

        Looks are counted, not seconds: while the machine runs others, or is closed, no look is taken.
        """
        begun = woke = _computed()
        looks = asleep = 0
        while (
            _computed() - begun < seconds
            and looks * _LOOK_S < _WAITING * seconds
            and asleep * _LOOK_S < _ASLEEP_S
        ):
            if self.is_over.wait(_LOOK_S):
                return
            looks, asleep = looks + 1, asleep + 1
            # Asleep within another limit, it is that one's to end.
            if _computed() - woke > _ASLEEP * _ASLEEP_S or _limits[-1:] != [self]:
                woke, asleep = _computed(), 0
        self.is_up = True
        while not self.is_over.wait(_TELL_S):
            ctypes.pythonapi.Py_AddPendingCall(_listen_again, None)
            _signal_main_thread()


#: The limits in force, one within the other. Only the main thread changes it.
_limits: list[_Limit] = []


def _computed() -> float:
    """Return the seconds of the processor that all threads but this one have used."""
    return time.process_time() - time.thread_time()


def within_time(seconds: float, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or end it with a `TimeoutError` when its time is up or it sleeps.

    The work is done where this is called, so no part of it lives on when it is ended: a signal's handler
    raises an exception in it, again and again, until it is left. Python runs the handler between
    two steps of the work, so that it sees at which step it would raise: never in the code around.
    A process of its own could be ended surely, but would have to be forked from a kernel
    whose torch has threads, or be sent what can't be pickled, a learner's functions and modules. What stays
    out of reach is one endless call of C, such as ``list(itertools.count())``, and all that is
    not done in the main thread, as a cell is.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    if signal.getsignal(_SIGNAL) is not _end_what_is_late:
        signal.signal(_SIGNAL, _end_what_is_late)
    limit = _Limit()
    watcher = threading.Thread(target=limit.watch, args=(seconds,), name=WATCHER, daemon=True)
    _limits.append(limit)
    try:
        with _without_reports():
            watcher.start()
            return _guarded(work, limit)
    except BaseException:
        if limit.is_ending:
            raise TimeoutError from None
        raise
    finally:
        _limits.remove(limit)
        limit.is_over.set()
        watcher.join()


def _guarded(work: Callable[[], Result], limit: _Limit) -> Result:
    """Do the work; what runs below this frame may be ended."""
    limit.guard = sys._getframe()
    return work()


def _signal_main_thread() -> None:
    """Have `_end_what_is_late` run at the main thread's next step, which no longer waits for anything."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, _SIGNAL)
    else:
        _thread.interrupt_main(_SIGNAL)


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def _listen_again(_: int | None) -> int:
    """Have `_end_what_is_late` called again, at the main thread's next step, which alone may say so."""
    if signal.getsignal(_SIGNAL) is not _end_what_is_late:  # the answer ignores the signal
        signal.signal(_SIGNAL, _end_what_is_late)
    if hasattr(signal, "pthread_sigmask"):  # or blocks it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {_SIGNAL})
    return 0


def _end_what_is_late(_: int, frame: FrameType | None) -> None:
    """Raise in the work of the innermost limit, if its time is up and this is a step of that work."""
    limit = _limits[-1] if _limits else None
    if limit is None or not limit.is_up or limit.guard is None or not _is_work(frame, limit.guard):
        return
    if limit.n_let_pass < _LET_PASS and _is_in_with(frame, limit.guard):
        limit.n_let_pass += 1
        return
    limit.is_ending = True
    _signal_again.clear()
    raise _OutOfTime from _signal_again[None]


#: Signals when a key is looked up that it does not have, so that where an exception is caught, the next step
#: raises again. It does so in C: a call in Python ends with a look for signals, and would not return.
_signal_again: defaultdict[None, None] = defaultdict(partial(_thread.interrupt_main, _SIGNAL))


def _is_work(frame: FrameType | None, guard: FrameType) -> bool:
    """Whether a frame is below the guard's, and no part of what keeps a limit within this one."""
    if frame is guard:
        return False
    own = within_time.__code__, _end_what_is_late.__code__
    while frame is not None and frame is not guard and frame.f_code not in own:
        frame = frame.f_back
    return frame is guard


def _is_in_with(frame: FrameType | None, guard: FrameType) -> bool:
    """Whether a step of the work is one of entering or leaving a `with`."""
    while frame is not None and frame is not guard:
        if frame.f_code.co_name in ("__enter__", "__exit__"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _without_reports() -> Iterator[None]:
    """Have Python say nothing of what ends the work where it can't be raised, such as in a `__del__`."""
    report = sys.unraisablehook
    sys.unraisablehook = deque[Any](maxlen=0).append  # in C: a signal can't end it
    try:
        yield
    finally:
        sys.unraisablehook = report


def call_each(answer: Callable[..., Any], draws: list[tuple[Any, ...]]) -> list[Any]:
    """Call a function with a copy of each tuple of arguments, and return the results.

    Where a call raises, its result is the exception. After `LIMIT_S` the function is stopped, and
    the last result is a `TimeoutError`; so are its threads at the end. What it changes besides is put back.
    """
    found: list[Any] = []
    threads = set(threading.enumerate())

    def call_all() -> None:
        for arguments in draws:
            try:
                found.append(answer(*copy.deepcopy(arguments)))
            except Exception as error:
                if _limits and _limits[-1].is_ending:
                    raise
                no_room = isinstance(error, RuntimeError) and "allocate memory" in str(error)  # torch's
                found.append(MemoryError() if no_room else error)
                if isinstance(found[-1], MemoryError):
                    return  # each further call may take as long, and the limit's thread had no room either
            except (SystemExit, GeneratorExit) as error:
                found.append(RuntimeError(f"{type(error).__name__}, which ends Python; return a value"))

    try:
        with leaving_nothing(), within_memory():
            within_time(LIMIT_S, call_all)
    except TimeoutError:
        found.append(TimeoutError())
    finally:
        for thread in set(threading.enumerate()) - threads:
            target = getattr(thread, "_target", None)
            if getattr(target, "__module__", None) == getattr(answer, "__module__", None):
                # SystemExit ends a thread without a word, at the next step of its Python code.
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
                )
    return found
