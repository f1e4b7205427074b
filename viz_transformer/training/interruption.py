"""Ctrl-C between steps: a step that is cut in two could not be gone on with."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Let the first Ctrl-C set the event, to be looked at when it suits; a second one interrupts.

    In a notebook it is the button that interrupts the kernel. Outside the main thread, where
    Python hears no signals, and where Ctrl-C is ignored, as in a script's background job, the event
    is never set.
    """
    asked = threading.Event()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):  # None: not ours
        yield asked
        return

    def hear(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
