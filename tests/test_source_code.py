"""`vt.show_source`: the very function, cut down to what a reader needs beside the idea."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

import viz_transformer as vt
from tests.support.source_code import for_each
from viz_transformer.model import attend
from viz_transformer.model.layers import EncoderLayer

ROOT = Path(__file__).parents[1]


def test_it_shows_the_function_that_stands_in_the_file_at_that_line() -> None:
    shown = vt.show_source(attend)
    assert (shown.name, shown.file) == ("attend", "viz_transformer/model/attention.py")
    assert (ROOT / shown.file).read_text().splitlines()[shown.line - 1] == "def attend("
    assert shown.text.startswith("def attend(")
    assert "softmax" in shown.text
    assert f"```python\n{shown.text}\n```" in shown._repr_markdown_()  # in a notebook
    assert str(shown).splitlines()[0] == f"# {shown.file}, line {shown.line}"  # in a terminal


def test_a_long_docstring_is_cut_to_its_first_line_unless_it_is_wanted() -> None:
    short, whole = vt.show_source(attend), vt.show_source(attend, docstring=True)
    assert "Args:" in whole.text
    assert "Args:" not in short.text
    first = (attend.__doc__ or "").splitlines()[0]
    assert f'"""{first}"""' in short.text
    compile(short.text, "cut", "exec")


def test_every_docstring_of_a_class_is_cut() -> None:
    shown = vt.show_source(EncoderLayer)
    compile(shown.text, "cut", "exec")
    assert shown.text.count('"""') == 2 * vt.show_source(EncoderLayer, docstring=True).text.count('"""') / 2
    assert "Args:" not in shown.text


def test_a_method_is_shown_without_indentation_and_a_wrapped_function_as_it_was_written() -> None:
    shown = vt.show_source(EncoderLayer.forward)
    assert shown.name == "EncoderLayer.forward"
    assert shown.text.startswith("def forward(")

    @functools.wraps(attend)
    def wrapped(*given: object) -> object:
        return given

    assert vt.show_source(wrapped) == vt.show_source(attend)


def test_an_object_without_source_is_refused_in_one_line() -> None:
    for wrong in (len, 3, None, "attend"):
        with pytest.raises(vt.UserError, match="no source is found for") as error:
            vt.show_source(wrong)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)


def test_a_rule_for_each_file_names_every_one_that_breaks_it() -> None:
    @for_each([ROOT / "README.md", ROOT / "Makefile", ROOT / "CHANGELOG.md"])
    def is_no_prose(path: Path) -> None:
        assert path.suffix != ".md", "it is prose"

    with pytest.raises(AssertionError, match=r"^README.md: it is prose(\n.*)*\nCHANGELOG.md: it is prose"):
        is_no_prose()
