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

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

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


def test_every_docstring_explains_each_argument() -> None:
    assert len(PUBLIC) > 290
    unexplained = {}
    for made, name in PUBLIC.items():
        text = inspect.getdoc(made) or ""
        if inspect.isclass(made):
            # What one makes is explained by its attributes, or where it is made.
            told = re.search(
                r"^(Args|Attributes):", text + (inspect.getdoc(made.__init__) or ""), re.MULTILINE
            )
            missing = set() if told else {"Args or Attributes"}
        else:
            missing = set(inspect.signature(made).parameters)
            missing -= set(re.findall(r"^ +\*{0,2}(\w+): ", text, re.MULTILINE))
        if missing:
            unexplained[name] = missing
    assert unexplained == {}
    assert [made.__qualname__ for made in NAMES if "Raises:" not in (made.__doc__ or "")] == []


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {}
    for number, made in enumerate([*PUBLIC, AttentionOnly.trace]):
        folder = tmp_path / str(number)  # an example may write a file
        folder.mkdir()
        monkeypatch.chdir(folder)
        torch.manual_seed(0)
        examples = doctest.DocTestFinder(recurse=False).find(made, made.__qualname__, globs={})
        told: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        with mpl.rc_context({"backend": "agg"}):
            for example in examples:
                runner.run(example, out=told.append)
        plt.close("all")
        if not runner.tries or runner.failures:
            failed[made.__qualname__] = "".join(told) or "it has no example"
    assert not failed, "\n".join(f"{name}: {told}" for name, told in failed.items())
