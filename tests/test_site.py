"""The lessons as a static site: what is read, written and refused. tests/ui opens one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Event
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

import viz_transformer as vt
from viz_transformer.cli import main
from viz_transformer.cli.course import course
from viz_transformer.errors import FileError, UserError
from viz_transformer.export import site as site_module
from viz_transformer.export.mathml import mathml
from viz_transformer.export.notebook import NotebookPage, convert, notebook_html
from viz_transformer.export.site import read_page, write_site


def write(path: Path, *texts: str) -> Path:
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_formulas_become_mathml_spaced_as_tex_spaces_them() -> None:
    inline, block = mathml(r"\sqrt{d_k}"), mathml(r"\frac{a}{b}", block=True)
    assert "<msqrt>" in inline
    assert 'display="inline"' in inline
    assert "<mfrac>" in block
    assert 'display="block"' in block
    assert "\\" not in inline + block
    thin = '<mspace width="0.167em" />'
    assert f"<mi>b</mi>{thin}<mi>sin</mi>{thin}<mi>x</mi>" in mathml(r"b \sin x")
    assert "<mi>tanh</mi><mo" in mathml(r"\tanh(x)")
    assert '<mo form="prefix">−</mo><mn>1</mn>' in mathml("[-1, 0] - [2]")
    assert "<mo>−</mo><mo" in mathml("[-1, 0] - [2]")
    size = mathml("|A|")
    assert size.index('form="prefix">|') < size.index("<mi>A") < size.index('form="postfix">|')


def test_a_formula_that_cannot_be_read_stays_text() -> None:
    for tex in ("{", r"\text{<script>1</script>}", r"\end{x} \foo", "a & b"):
        text = mathml(tex)
        assert text.startswith("<code>"), tex
        assert "<script" not in text


def test_every_title_question_and_formula_of_the_lessons_can_be_read(tmp_path: Path) -> None:
    for lesson in course():
        first = read_page(lesson.path)
        assert first.question.endswith("?")
        assert not {"*", "`", "$"} & set(first.title + first.question)
        notebook = nbformat.read(lesson.path, as_version=4)
        prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        page = notebook_html(write(tmp_path / lesson.path.name, *prose))
        text = page.read_text(encoding="utf-8")
        body = text[text.index("<main") :]
        n_formulas = body.count("<math ")
        assert n_formulas or not any("$" in each for each in prose)
        assert "$" not in body, "a formula was left as it is"
        # Only TeX that could not be read still holds commands.
        assert "<code>\\" not in body


def test_what_the_model_writes_keeps_its_language_in_a_page(tmp_path: Path) -> None:
    notebook = write(tmp_path / "a.ipynb", '# A\n\n**The question:** why <b lang="es">la maestra</b>?')
    assert '<b lang="es">la maestra</b>?' in notebook_html(notebook).read_text(encoding="utf-8")
    assert read_page(notebook).question == "Why la maestra?"


def test_a_page_is_read_from_its_first_cell(tmp_path: Path) -> None:
    first = "# 7 · Masks, *and* `leaks`\n\nWhy.\n\n**The question:** what may a *word*\nsee?\n\nMore."
    page = read_page(write(tmp_path / "08_masks.ipynb", first, "# Other"))
    assert (page.title, page.question) == ("7 · Masks, and leaks", "What may a word see?")
    page = read_page(write(tmp_path / "plain.ipynb", "no heading"))
    assert (page.title, page.question, page.name) == ("plain", "", "plain.html")


def test_the_first_page_draws_the_model_and_each_part_leads_to_its_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "convert", lambda notebook, **_: convert(notebook))  # without running it
    index = write_site([lesson.path for lesson in course()], tmp_path).read_text(encoding="utf-8")
    drawing = ElementTree.fromstring(re.search(r"<svg.*?</svg>", index, re.DOTALL)[0])
    doors = {door.get("href"): door.get("aria-label") for door in drawing.iter("a")}
    lessons = [read_page(lesson.path) for lesson in course() if lesson.key.isdigit()]
    assert doors == {page.name: page.title for page in lessons}
    # It is the translator's own: *gato* attends to *cat*, and *negro* to *black*.
    words = [text.text for text in drawing.iter("text")]
    assert words[:6] == ["the", "black", "cat", "sleeps", "end", "start"]
    heads = vt.load_training("en-es").moments[-1].traces[0].cross_attention[1, 0]
    assert heads.argmax(-1).tolist() == [0, 2, 1, 3, 4]
    widest = [arc for arc in drawing.iter("path") if arc.get("stroke-width") == f"{1 + 7 * heads[1, 2]:.1f}"]
    assert widest
    minutes = re.findall(r"<small>(.*?)</small>", index)
    assert len(minutes) == len(course())
    assert minutes[0] == lessons[0].time


def test_folders_that_cannot_become_a_site_are_refused(tmp_path: Path) -> None:
    page = write(tmp_path / "a.ipynb", "# A")
    site = tmp_path / "site"
    (tmp_path / "file").write_text("")
    (tmp_path / "odd.ipynb").write_text("[]")
    (tmp_path / "other").mkdir()
    with pytest.raises(UserError, match="needs a notebook"):
        write_site([], site)
    with pytest.raises(UserError, match=r"two pages of the site would be called 'a.html'"):
        write_site([page, write(tmp_path / "other" / "a.ipynb", "# B")], site)
    with pytest.raises(UserError, match=r"would be called 'index.html'"):
        write_site([write(tmp_path / "index.ipynb", "# B")], site)
    with pytest.raises(UserError, match=r"would be called 'studio.html'"):
        write_site([write(tmp_path / "studio.ipynb", "# B")], site, studio=vt.softmax_lab([1, 2]))
    with pytest.raises(FileError, match=r"cannot read .*none.ipynb"):
        write_site([tmp_path / "none.ipynb"], site)
    with pytest.raises(FileError, match=r"odd.ipynb' is not a notebook"):
        write_site([tmp_path / "odd.ipynb"], site)
    assert not site.exists()
    with pytest.raises(FileError, match="cannot make the folder"):
        write_site([page], tmp_path / "file" / "site")


def test_notebooks_run_at_the_same_time_and_are_written_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_began = Event()

    def run(notebook: Path, *, execute: bool, environment: dict[str, str]) -> NotebookPage:
        if notebook.stem == "b":
            second_began.set()
        assert second_began.wait(60)
        assert (execute, environment["OMP_NUM_THREADS"]) == (True, "1")
        return convert(notebook)

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(site_module, "convert", run)
    written: list[str] = []
    pages = [write(tmp_path / f"{name}.ipynb", f"# {name}") for name in "abc"]
    write_site(pages, tmp_path / "site", progress=lambda path: written.append(path.name))
    assert written == ["a.html", "b.html", "c.html"]


def test_the_first_notebook_that_fails_is_named_and_those_before_it_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(notebook: Path, **_: Any) -> NotebookPage:
        if notebook.stem != "a":
            raise UserError(f"a cell of {notebook.name} raised")
        return convert(notebook)

    monkeypatch.setattr(site_module, "convert", run)
    pages = [write(tmp_path / f"{name}.ipynb", f"# {name}") for name in "abc"]
    with pytest.raises(UserError, match=r"a cell of b\.ipynb raised"):
        write_site(pages, tmp_path / "site")
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["a.html"]


def test_the_command_refuses_a_lesson_that_does_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["site", str(tmp_path / "site"), "--lesson", "1", "--lesson", "99"]) == 2
    assert "there is no lesson '99'" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_site_of_fewer_lessons_over_one_of_more_is_refused_unless_it_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site_module, "convert", lambda notebook, **_: convert(notebook))  # without running it
    out = tmp_path / "site"
    command = ["site", str(out)]
    for lesson in ("1", "3", "clinic"):
        command += ["--lesson", lesson]
    assert main(command) == 0
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(whole) == 4
    capsys.readouterr()
    assert main(["site", str(out), "--lesson", "3"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "would no longer lead to 2 pages that are there" in line
    assert "--overwrite" in line
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole
    assert main([*command, "--lesson", "2"]) == 0
    assert main(["site", str(out), "--lesson", "3", "--overwrite"]) == 0
    assert main(["site", str(out), "--lesson", "3"]) == 0, "its first page leads to no other"
