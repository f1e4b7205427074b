"""The docstrings of public names: each explains its arguments and has an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import viz_transformer as vt
from tools import docs_api
from viz_transformer.recipes import AttentionOnly

#: All that has a page in the documentation: the package, the modules that it names, and its rooms.
ROOMS = [
    vt,
    *(room for name in vt.__all__ if isinstance(room := getattr(vt, name), ModuleType)),
    *(import_module(f"viz_transformer.{room}") for room in docs_api.ROOMS),
]
PUBLIC: dict[Callable[..., Any], str] = {
    inspect.unwrap(made): f"{room.__name__}.{name}"
    for room in reversed(ROOMS)
    for name in getattr(room, "__all__", dir(room))
    if callable(made := getattr(room, name)) and made.__module__.startswith("viz_transformer")
}
#: Those used most tell what they refuse, too.
NAMES: list[Callable[..., Any]] = [
    vt.capture,
    vt.explore,
    vt.head_lab,
    vt.head_scores,
    vt.export_html,
    vt.load_translator,
    vt.attention_stepper,
    vt.mask_lab,
    vt.beam_stepper,
    vt.plots.plot_head,
    vt.plots.plot_heads,
    vt.plots.plot_difference,
    vt.analysis.entropy_bits,
    vt.analysis.head_entropy_bits,
    vt.analysis.label_heads,
    vt.analysis.pattern_scores,
    vt.analysis.rollout,
    AttentionOnly.trace,
]


def test_there_are_many_public_names() -> None:
    assert len(PUBLIC) > 290


@pytest.mark.parametrize("made", PUBLIC, ids=PUBLIC.get)
def test_the_docstring_explains_every_argument(made: Callable[..., Any]) -> None:
    text = inspect.getdoc(made) or ""
    if inspect.isclass(made):
        # What one makes is explained by its attributes, or where it is made.
        explained = text + (inspect.getdoc(made.__init__) or "")
        assert re.search(r"^(Args|Attributes):", explained, re.MULTILINE)
    else:
        names = re.findall(r"^ +\*{0,2}(\w+): ", text, re.MULTILINE)
        assert set(inspect.signature(made).parameters) <= set(names)


@pytest.mark.parametrize("made", NAMES, ids=lambda made: made.__qualname__)
def test_the_docstring_explains_errors(made: Callable[..., Any]) -> None:
    assert "Raises:" in (made.__doc__ or "")


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize("made", [*PUBLIC, AttentionOnly.trace], ids=lambda made: made.__qualname__)
def test_the_example_runs(made: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = doctest.DocTestFinder(recurse=False).find(made, made.__qualname__, globs={})
    assert sum(len(each.examples) for each in examples) > 0, "it has no example"
    monkeypatch.chdir(tmp_path)  # an example may write a file
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for example in examples:
        runner.run(example, out=told.append)
    assert not runner.failures, "".join(told)
