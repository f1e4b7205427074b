"""How far the writing of a page is, in one line on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from viz_transformer._work import Work

#: A page that is written sooner is written without a word.
_QUIET_S = 2.0
#: A file that keeps what is printed gets a line of its own each time, and not so often.
_LINE_PAUSE_S = 30.0


@contextmanager
def progress_line(name: str) -> Iterator[None]:
    """Inside this, work that calls `between_parts` shows on stderr how far the page of this name is.

    Ctrl-C, or the notebook's button that interrupts, ends it.
    """
    start = time.monotonic()
    last = start + _QUIET_S - _LINE_PAUSE_S
    # A terminal and a notebook write over a line.
    is_live = sys.stderr.isatty() or "ipykernel" in sys.modules
    newest, shown = "", ""

    def tell(words: str) -> None:
        nonlocal last, newest, shown
        newest = words or newest
        now = time.monotonic()
        if now - start < _QUIET_S or (not is_live and now - last < _LINE_PAUSE_S):
            return
        last = now
        line = f"Writing {name}: {now - start:.0f} s. {newest}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line:<{len(shown)}}" if is_live else f"{line}\n")
        sys.stderr.flush()
        shown = line

    with Work(tell).under_way():
        try:
            yield
        finally:
            if shown and is_live:
                sys.stderr.write(f"\r{'':<{len(shown)}}\r")
                sys.stderr.flush()
