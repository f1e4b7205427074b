"""Answers to exercises, and arguments of the command line."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import nbconvert  # noqa: F401, before the clock runs

from tests.support.fuzz.campaign import Drawn
from tests.support.fuzz.values import TEXTS, any_value
from viz_transformer.cli import main
from viz_transformer.exercises import check, exercises_of
from viz_transformer.exercises.course import LESSONS
from viz_transformer.exercises.sandbox import WATCHER


def _endless() -> None:
    while True:
        pass


def _stubborn(*_: Any) -> None:
    while True:
        with contextlib.suppress(BaseException):
            _endless()


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    lambda *_: _endless(),
    lambda *_: sys.exit(),
    lambda *_: os._exit,
    lambda *_: (_ for _ in iter(int, 1)),
    lambda *_: [0] * 10**7,
    lambda *x: x,
    lambda *_: next(iter(())),
    lambda: 1,
    _stubborn,
)


def exercise(rng: Random) -> Drawn:
    """Draw an exercise and an answer that is none."""
    name = rng.choice([one.name for lesson in LESSONS for one in exercises_of(lesson)])
    shape = rng.random()
    if shape < 0.6:
        answer = any_value(rng)
    elif shape < 0.75:
        result = any_value(rng)
        answer = lambda *_, **__: result  # noqa: E731
    else:
        # The endless take their seconds, so they are rare.
        answer = rng.choice(_FUNCTIONS if rng.random() < 0.05 else _FUNCTIONS[1:-1])
    return f"check({name!r}, {type(answer).__name__})", lambda: _check(name, answer)


def _check(name: str, answer: Any) -> None:
    str(check(name, answer))
    # By its name: a library, such as torch's compiler, may start threads of its own at any time.
    assert all(each.name != WATCHER for each in threading.enumerate()), "a thread lives on"


_COMMANDS = (
    *("translate", "train", "evaluate", "html", "lessons", "reset", "assignment", "coreference"),
    *("--version", "--help", "", "nonsense"),
)
_FLAGS = (
    *("--model", "--html", "--png", "--beam-width", "--length-penalty", "--pairs", "--source", "--target"),
    *("--out", "--steps", "--seed", "--folder", "-o", "--output", "--max-megabytes", "--links", "--tokens"),
    "--minutes",
)
_WORDS = (
    *TEXTS,
    *("1", "0", "-1", "nan", "x.html", "/dev/null", "/proc/1/mem", ".", "..", "missing.ipynb", "en-es"),
    *("1e30", "9" * 30, "10000000000", "inf"),
)


def command(rng: Random) -> Drawn:
    """Draw the arguments of a command that ends soon."""
    arguments = [rng.choice(_COMMANDS)]
    for _ in range(rng.choice([0, 1, 2, 3])):
        arguments += [rng.choice(_FLAGS), rng.choice(_WORDS)] if rng.random() < 0.5 else [rng.choice(_WORDS)]
    if arguments[0] in ("train", "evaluate", "coreference"):
        arguments.append("missing")  # what they need would take minutes
    return str(arguments)[:200], lambda: _run(arguments)


def _run(arguments: list[str]) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    err.flush()
    said = err.buffer.getvalue().decode().strip()  # type: ignore[attr-defined]
    assert code in (0, 2), f"exit code {code}"
    lines = said.split("\n") if code else []
    assert len(lines) <= 1 or lines[0].startswith("usage:"), f"{len(lines)} lines: {said[:100]!r}"
    assert "Traceback" not in said
