"""Tuning of glibc's memory allocator for training on the processor."""

from __future__ import annotations

import ctypes

#: Names of settings to glibc, from its malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Have glibc keep freed memory for the next step; return whether there is a glibc.

    By default it gives large blocks back to the system at once, which clears every page of them
    before the next step gets them again. Keeping them saves a tenth of a step's time.

    The setting holds for the whole process, to its end: use it in a command, not in a notebook's
    kernel.

    Source: mallopt(3) of the Linux manual, ``M_MMAP_MAX`` and ``M_TRIM_THRESHOLD``.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, -1))
