"""Turns: a cell and a page's message are never worked on at once.

JupyterLab sends a widget's messages to a thread of the kernel beside the one that runs cells, a subshell
(Jupyter's enhancement proposal 91). There a question to a model would switch off the dropout of the
training that a cell is in the middle of, and a cell would read a view that is half changed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def in_turn(work: Callable[[], None]) -> None:
    """Do the work where cells run: at once if this is there, else as soon as no cell is running."""
    loop = _loop_of_cells()
    if loop is None or threading.current_thread() is threading.main_thread():
        work()
    else:
        loop.add_callback(work)


def _loop_of_cells() -> Any:
    """Return the event loop of the thread that runs cells; None where no kernel has one that is free."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    # After %gui, a window's loop runs in that thread between cells.
    has_window = getattr(kernel, "eventloop", None) is not None
    return None if has_window else getattr(kernel, "io_loop", None)
