"""What an editor, a type checker and the Tab key are told of the package."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jedi
import pytest

import viz_transformer as vt
from tests.support.source_code import PACKAGE, ROOT


def typed_names() -> Iterator[tuple[str, str]]:
    """Yield each name that is imported for type checkers, and the module that it comes from."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, f"write `{alias.name} as {alias.name}`: it is exported"
            yield alias.name, node.module


def test_the_names_for_type_checkers_are_the_public_ones() -> None:
    public = {
        name: "viz_transformer" + (f".{module}" if module else "") for name, module in vt._PUBLIC.items()
    }
    assert dict(typed_names()) == public, "a public name stands twice in __init__.py: with its type, too"


def test_tab_lists_public_names_only() -> None:
    assert dir(vt) == sorted([*vt.__all__, "__version__"])
    assert all(getattr(vt, name) is not None for name in dir(vt))


def completions(code: str) -> set[str]:
    return {each.name for each in jedi.Script(code, project=jedi.Project(ROOT)).complete()}


def test_an_editor_completes_every_public_name() -> None:
    assert set(vt.__all__) <= completions("import viz_transformer as vt\nvt.")


def test_an_editor_completes_what_they_return() -> None:
    for code, expected in {
        "vt.load_translator().tr": {"trace", "translate", "traced_model"},
        "vt.load_translator().trace('a').dec": {"decoder_attention"},
        "vt.capture(None).": {"kinds", "save", "cross_attention"},
        "vt.explore(None).": {"layer", "head", "figure"},
        "vt.analysis.label_": {"label_heads", "label_heads_together"},
        "vt.plots.plot_h": {"plot_head", "plot_heads"},
    }.items():
        assert expected <= completions(f"import viz_transformer as vt\n{code}"), code


def test_every_public_function_shows_its_docstring_and_its_types() -> None:
    for name in vt.__all__:
        public = getattr(vt, name)
        assert inspect.getdoc(public), f"vt.{name}? shows nothing"
        if inspect.isfunction(public):
            signature = inspect.signature(public)
            untyped = [each.name for each in signature.parameters.values() if each.annotation is each.empty]
            assert not untyped, f"vt.{name} has no types for {untyped}"
            assert signature.return_annotation is not signature.empty, f"vt.{name} has no return type"


@pytest.mark.slow
def test_a_type_checker_infers_what_public_functions_return(tmp_path: Path) -> None:
    assert (PACKAGE / "py.typed").exists(), "type checkers need it in an installed package"
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "import viz_transformer as vt\n"
        "reveal_type(vt.load_translator())\n"
        "reveal_type(vt.load_translator().trace('the cat sleeps').cross_attention)\n"
        "reveal_type(vt.capture(None))\n"
        "vt.no_such_name\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "", "--follow-imports=silent", str(snippet)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    told = done.stdout.replace("viz_transformer.", "")
    assert 'Revealed type is "translator.Translator"' in told, done.stdout + done.stderr
    assert "numpy.ndarray" in told
    assert 'Revealed type is "trace.forward.ForwardTrace"' in told
    assert 'Module has no attribute "no_such_name"' in told
