"""What the code of an answer may change around it, put back when it has run.

An answer shares its process with what judges it. So numpy's and torch's functions are again what they were
when its results are compared, and nothing that it set goes on: a default type, gradients off, seeds.
"""

from __future__ import annotations

import builtins
import copy
import gc
import inspect
import math
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

#: So many bytes may be taken beyond what the kernel held before.
_MEMORY_BYTES = 2 * 2**30
#: What Python may be set to meanwhile: how deep it calls, and how long one thread may run before another.
_DEEPEST, _LONGEST_S = 20_000, 0.05
#: The modules that judge.
_JUDGES = "viz_transformer.exercises"


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Put back what the code inside changes: functions, default types, gradients, seeds, streams, folders."""
    names = [(space, dict(vars(space))) for space in _namespaces()]
    states = [(put_back, read()) for read, put_back in _states()]
    try:
        with warnings.catch_warnings(), _kept_endable():
            yield
    finally:
        for space, kept in names:
            _put_back(space, kept)
        for put_back, state in states:
            put_back(state)


@contextmanager
def _kept_endable() -> Iterator[None]:
    """Let no code make it last for minutes, or for ever, until it can be ended."""
    deeper, switch_later = sys.setrecursionlimit, sys.setswitchinterval
    sys.setrecursionlimit = lambda limit: deeper(min(limit, _DEEPEST))
    sys.setswitchinterval = lambda seconds: switch_later(min(seconds, _LONGEST_S))
    interval = sys.getswitchinterval()
    try:
        yield
    finally:
        sys.setrecursionlimit, sys.setswitchinterval = deeper, switch_later
        sys.setswitchinterval(interval)


def _put_back(space: Any, kept: dict[str, Any]) -> None:
    """Give the names of a module or class the values that they had.

    Names that were added are removed, for they would hide what is inherited or built in; but in a library
    they stay, and so do modules: they are parts that it loads late.
    """
    for name, value in [*vars(space).items()]:
        if name in kept:
            if value is not kept[name]:
                setattr(space, name, kept[name])
        elif _is_judge(space) and not isinstance(value, ModuleType):
            delattr(space, name)
    for name in kept.keys() - vars(space).keys():
        setattr(space, name, kept[name])


def _is_judge(space: Any) -> bool:
    return isinstance(space, type) or space.__name__.startswith(_JUDGES)


@contextmanager
def within_memory() -> Iterator[None]:
    """Let the code inside take two GiB more at most, on Linux; beyond them Python raises a MemoryError."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    held = int(pages[5]) * resource.getpagesize()  # data and stacks
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [each for each in (soft, hard, held + _MEMORY_BYTES) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _namespaces() -> list[Any]:
    """Return the modules and classes whose functions the judging uses."""
    torch = sys.modules.get("torch")
    of_torch = [torch, torch.Tensor, torch.nn, torch.nn.Module, torch.nn.functional] if torch else []
    judges = [module for name, module in [*sys.modules.items()] if name.startswith(_JUDGES)]
    of_python = [builtins, copy, gc, inspect, math, os, random, signal, sys, threading, time]
    of_numpy = [np, np.linalg, np.random, np.testing]
    return [*of_python, *of_numpy, *of_torch, *judges]


def _states() -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Return how each state of the process is read, and how it is put back."""
    torch = sys.modules.get("torch")
    of_torch = (
        [
            (torch.get_default_dtype, torch.set_default_dtype),
            (torch.get_default_device, _set_default_device),
            (torch.is_grad_enabled, torch.set_grad_enabled),
            (torch.get_num_threads, torch.set_num_threads),
            (torch.get_rng_state, torch.set_rng_state),
        ]
        if torch
        else []
    )
    return [
        (random.getstate, random.setstate),
        (np.random.get_state, np.random.set_state),
        (np.geterr, lambda kept: np.seterr(**kept)),
        (np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
        (lambda: dict(os.environ), _set_environment),
        (lambda: [*sys.path], _set_path),
        (gc.isenabled, lambda kept: gc.enable() if kept else gc.disable()),
        (sys.gettrace, sys.settrace),
        (sys.getprofile, sys.setprofile),
        (lambda: (sys.stdout, sys.stderr), _set_streams),
        (sys.getrecursionlimit, sys.setrecursionlimit),
        (lambda: signal.getsignal(signal.SIGINT), _set_interrupt),
        (os.getcwd, os.chdir),
        *of_torch,
    ]


def _set_default_device(kept: Any) -> None:
    torch = sys.modules["torch"]
    if torch.get_default_device() != kept:  # setting one makes every call slower
        torch.set_default_device(None if kept.type == "cpu" else kept)


def _set_environment(kept: dict[str, str]) -> None:
    if dict(os.environ) != kept:
        os.environ.clear()
        os.environ.update(kept)


def _set_path(kept: list[str]) -> None:
    sys.path[:] = kept


def _set_streams(kept: Any) -> None:
    sys.stdout, sys.stderr = kept


def _set_interrupt(kept: Any) -> None:
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not kept:
        signal.signal(signal.SIGINT, kept)
