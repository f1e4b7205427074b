"""Explanation of a `NameError`, for lessons whose cells are run out of order."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


def explain_name_errors() -> None:
    """Make this kernel explain a `NameError`; outside IPython, do nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.set_custom_exc((NameError,), _explain)


def _explain(
    shell: Any,
    kind: type[BaseException],
    error: NameError,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> None:
    shell.showtraceback((kind, error, traceback), tb_offset)
    sys.stderr.write(
        f"\nThere is no “{error.name}” yet. If a cell above makes it, choose Run ▸ Run All Above "
        "Selected Cell and run this cell again; if you wrote the name yourself, is it spelt the "
        "same everywhere?\n"
    )
