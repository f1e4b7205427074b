"""Work that a page waits for: it reports its progress, and the viewer can stop it between two of its parts.

JupyterLab brings the word to stop on a thread of its own (see `turns`). Other notebooks bring it when the
work is done, and then it comes too late; their page has let go of the reply.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

#: A page needs no report of progress more often.
_PAUSE_S = 0.25


class Stopped(BaseException):
    """The viewer has stopped the work. No part of it catches this, as it would an error."""


class Work:
    """What a page has asked for, from the moment when its request comes in.

    Attributes:
        tell: sends words on how far it is; there may be none.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self._stopped = threading.Event()
        self._told = time.monotonic()

    def stop(self) -> None:
        """Have it end at its next part, or never begin; any thread may call this."""
        self._stopped.set()

    def go_on(self, words: str) -> None:
        """Say how far it is, or end it.

        Raises:
            Stopped: if the viewer has stopped it.
        """
        if self._stopped.is_set():
            raise Stopped
        now = time.monotonic()
        if now - self._told >= _PAUSE_S:
            self._told = now
            self.tell(words)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Let `between_parts` and the modules of torch, each before its forward, report this work."""
        set_before = _current.set(self)
        try:
            with _before_modules():
                self.go_on("")
                yield
        finally:
            _current.reset(set_before)


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def between_parts(words: str = "") -> None:
    """Say how far the work is that a page waits for, where one does, and end it if the viewer has stopped it.

    Args:
        words: such as ``"Writing word 3 of at most 60"``; none leaves it at how long it has taken.

    Raises:
        Stopped: if the viewer has stopped it. Whatever was changed meanwhile must then be restored.
    """
    work = _current.get()
    if work is not None:
        work.go_on(words)


def _before_modules() -> Any:
    torch = sys.modules.get("torch")  # without torch no module runs
    if torch is None:
        return nullcontext()
    return torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: between_parts())
