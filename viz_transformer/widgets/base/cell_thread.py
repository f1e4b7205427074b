"""The thread of cells: on it a cell and a page's message are never worked on at once.

JupyterLab sends a widget's messages to a thread of the kernel beside the one that runs cells, a subshell
(Jupyter's enhancement proposal 91). There a question to a model would switch off the dropout of the
training that a cell is in the middle of, and a cell would read a view that is half changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from IPython import get_ipython

#: In how many seconds a thread that runs no cell surely takes up what it is given.
_TAKEN_UP_S = 0.1
#: So long a page waits for the end of some work before its next message is read, which may stop that work.
_DONE_S = 1.0


def on_cell_thread(work: Callable[[], None]) -> None:
    """Do the work where cells run: at once if this is there, else as soon as no cell is running.

    Returns when the work is done, because a page sends its next change after that. While a cell runs, or
    where the work takes long, it returns before: other messages, such as one that stops either, come after.
    """
    loop = _loop_of_cells()
    if loop is None or threading.current_thread() is threading.main_thread():
        work()
        return
    begun, ended = threading.Event(), threading.Event()

    def turn() -> None:
        begun.set()
        try:
            work()
        finally:
            ended.set()

    loop.add_callback(turn)
    if begun.wait(_TAKEN_UP_S):
        ended.wait(_DONE_S)


def _loop_of_cells() -> Any:
    """Return the event loop of the thread that runs cells; None where no kernel has one that is free."""
    kernel = getattr(get_ipython(), "kernel", None)
    # After %gui, a window's loop runs in that thread between cells.
    has_window = getattr(kernel, "eventloop", None) is not None
    return None if has_window else getattr(kernel, "io_loop", None)
