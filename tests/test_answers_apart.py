"""Answers that reach around what they should do: they change no judgement, leave nothing, and end."""

from __future__ import annotations

import builtins
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viz_transformer.exercises import answer_types, comparison, footprint, sandbox
from viz_transformer.exercises.answer_types import Exercise, Function

DOUBLE = Exercise("x.1", "double", Function(lambda x: x * 2, lambda rng: (rng.normal(size=3),)))
WRONG, NO_END, TOO_LARGE = "it should be", sandbox.NO_END, sandbox.TOO_LARGE


def passes_all(*_: Any, **__: Any) -> bool:
    return True


def other_judges(x: Any) -> Any:
    np.allclose, builtins.all = passes_all, passes_all
    comparison.all_close, answer_types.all_close = passes_all, passes_all
    comparison.len = lambda _: 0  # hides the function that is built in
    torch.Tensor.__eq__, torch.Tensor.__mul__ = passes_all, passes_all
    return x


def looks_it_up(x: Any) -> Any:
    frame = sys._getframe()
    while frame is not None:
        if "wanted" in frame.f_locals:
            return frame.f_locals["wanted"][0]
        frame = frame.f_back
    return x


def goes_deeper(x: Any) -> Any:
    return goes_deeper(x)


def ignores_signals(_: Any) -> Any:
    signal.signal(sandbox._SIGNAL, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def blocks_signals(_: Any) -> Any:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def lets_no_other_thread_run(_: Any) -> Any:
    sys.setswitchinterval(1_000)
    while True:
        pass


def goes_deeper_than_python(x: Any) -> Any:
    sys.setrecursionlimit(10**9)
    return goes_deeper(x)


def leaves_no_threads(x: Any) -> Any:
    np.random.default_rng = threading.Thread = signal.getsignal = sys.excepthook = None
    return x * 3


def grows_in_numpy(_: Any) -> Any:
    return [np.zeros(2**24) for _ in itertools.count()]


def grows_in_torch(_: Any) -> Any:
    return [torch.zeros(2**24) for _ in itertools.count()]


ROWS: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (other_judges, WRONG),
    (looks_it_up, WRONG),
    (goes_deeper, "RecursionError"),
    (ignores_signals, NO_END),
    *([(blocks_signals, NO_END)] if hasattr(signal, "pthread_sigmask") else []),  # not on Windows
    (lets_no_other_thread_run, NO_END),
    (goes_deeper_than_python, "RecursionError"),
    (leaves_no_threads, WRONG),
    (grows_in_numpy, TOO_LARGE),
    (grows_in_torch, TOO_LARGE),
    (lambda _: "a" * 10**12, TOO_LARGE),
)


def test_no_answer_changes_its_judgement_or_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = sandbox.LIMIT_S
    monkeypatch.setattr(footprint, "_MEMORY_BYTES", 2**28)
    for answer, said in ROWS:
        if said == TOO_LARGE and not sys.platform.startswith("linux"):
            continue  # other systems limit no memory
        monkeypatch.setattr(sandbox, "LIMIT_S", 0.5 if said == NO_END else limit)
        check = DOUBLE.check(answer)
        assert not check.passed, answer
        assert said in check.message, (answer, check.message)
        assert np.allclose is not passes_all
        assert builtins.all is not passes_all
        assert "len" not in vars(comparison)
        assert float((torch.ones(1) * 2)[0]) == 2
    assert DOUBLE.check(lambda x: x + x).passed


ONE_CALL_OF_C = """
import itertools
from viz_transformer.exercises import footprint
from viz_transformer.exercises.answer_types import Exercise, Function

footprint._MEMORY_BYTES = 2**28
double = Exercise("x.1", "double", Function(lambda x: x * 2, lambda rng: (rng.normal(size=3),)))
print(double.check(lambda _: list(itertools.count())).message)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it would fill the memory")
def test_one_call_of_c_ends_where_memory_does() -> None:
    # A process of its own: where others left much memory in pieces, Python takes long to fill them.
    done = subprocess.run([sys.executable, "-c", ONE_CALL_OF_C], capture_output=True, text=True)
    assert TOO_LARGE in done.stdout, done.stderr


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_right_answer_leaves_nothing_behind() -> None:
    begun = threading.Event()

    def spin() -> None:
        begun.set()
        while True:
            time.sleep(0.001)

    def answer(x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        torch.manual_seed(7)
        np.random.seed(7)  # noqa: NPY002
        np.seterr(all="raise")
        random.seed(7)
        sys.setrecursionlimit(4321)
        sys.stdout = None
        warnings.simplefilter("error")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.chdir("/")
        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        started.append(thread)
        begun.wait()
        return x * 2

    def state() -> list[Any]:
        of_numpy = np.random.get_state()[1].tolist()  # noqa: NPY002
        seeds = torch.get_rng_state().tolist(), random.getstate(), of_numpy
        of_torch = torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled()
        system = sys.getrecursionlimit(), sys.stdout, signal.getsignal(signal.SIGINT), Path.cwd()
        return [seeds, of_torch, system, np.geterr(), [*warnings.filters]]

    started: list[threading.Thread] = []
    before = state()
    assert DOUBLE.check(answer).passed
    assert state() == before
    for thread in started:
        thread.join(30)
        assert not thread.is_alive()
