"""The docstrings of public functions: each has an example that runs; those used most tell what they take."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viz_transformer as vt
from viz_transformer import analysis, plots
from viz_transformer.recipes import AttentionOnly

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
    plots.plot_head,
    plots.plot_heads,
    plots.plot_difference,
    analysis.entropy_bits,
    analysis.head_entropy_bits,
    analysis.label_heads,
    analysis.pattern_scores,
    analysis.rollout,
    AttentionOnly.trace,
]


#: Every public function that draws, shows, loads or measures.
FUNCTIONS = [
    function
    for room in (plots, vt, vt.attribution)
    for name in dir(room)
    if inspect.isfunction(function := getattr(room, name)) and not name.startswith(("_", "describe"))
]


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize("function", NAMES, ids=lambda function: function.__qualname__)
def test_the_docstring_explains_arguments_and_errors_and_its_example_runs(
    function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = function.__doc__ or ""
    assert "Raises:" in text
    assert "Args:" in text
    run_examples(function, tmp_path, monkeypatch)


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize(
    "function",
    [each for each in FUNCTIONS if each not in NAMES],
    ids=lambda function: function.__qualname__,
)
def test_every_public_function_has_an_example_that_runs(
    function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_examples(function, tmp_path, monkeypatch)


def run_examples(function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = doctest.DocTestFinder(recurse=False).find(function, function.__qualname__, globs={})
    assert sum(len(each.examples) for each in examples) > 0, "it has no example"
    monkeypatch.chdir(tmp_path)  # an example may write a file
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for example in examples:
        runner.run(example, out=told.append)
    assert not runner.failures, "".join(told)
