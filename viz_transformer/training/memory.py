"""The memory that every step of a training takes, frees and takes again."""

from __future__ import annotations

import ctypes

#: Names of settings to glibc, from its malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Have glibc keep what is freed for the next step; return whether there is a glibc to ask.

    Unasked it gives large blocks back to the system at once, which must clear every page of them
    before the next step has them again: a tenth of the time of a training on the processor.

    It holds for the whole process, to its end: for a command, not for a notebook's kernel.

    Source: mallopt(3) of the Linux manual, ``M_MMAP_MAX`` and ``M_TRIM_THRESHOLD``.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, -1))
