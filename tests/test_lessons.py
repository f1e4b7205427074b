"""The lessons in a student's folder: what is listed, put back and kept."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from viz_transformer.cli import main
from viz_transformer.cli.course import FIRST_LESSON, course, find_lesson
from viz_transformer.cli.lessons import copy_lessons, reset_lesson, state_of

TODAY = date.today().isoformat()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of fresh lessons and a student's progress."""
    folder = copy_lessons(tmp_path / "lessons")
    (folder / "progress.json").write_text('{"1.1": true}')
    return folder


def change(path: Path, **fields: object) -> None:
    """Change a notebook's cells of code: an answer, or what running them leaves."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(fields)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def states(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What the command tells of each lesson."""
    assert main(["lessons", "list", "--folder", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(course())
    told = (re.split(r"\s{2,}", line.strip()) for line in lines)
    return {key: state for key, _, state in told}


def test_the_list_names_changed_lessons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = course()[0]
    assert (first.key, first.path.name, first.title) == ("1", FIRST_LESSON, "Which head attends where")
    for name in ("1", "01", " 1 ", "01_which_head_attends_where"):
        assert find_lesson(name).path.name == FIRST_LESSON, name
    assert set(states(folder, capsys).values()) == {"unchanged"}
    lesson = folder / FIRST_LESSON
    change(lesson, execution_count=3, outputs=[{"output_type": "stream", "name": "stdout", "text": ["3"]}])
    assert states(folder, capsys)["1"] == "unchanged"
    change(lesson, source=["my answer"])
    assert states(folder, capsys)["1"] == "changed"
    lesson.write_text("{ half of a notebook")
    assert states(folder, capsys)["1"] == "not a notebook any more"
    lesson.unlink()
    assert states(folder, capsys)["1"] == "missing"


def test_reset_keeps_the_students_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson, fresh = folder / FIRST_LESSON, find_lesson("1")
    for number in (1, 2, 3):
        if number == 3:
            lesson.write_bytes(b"\xff\x00 not even text")  # a damaged lesson is kept byte for byte
        else:
            change(lesson, source=[f"answer {number}"])
        mine = lesson.read_bytes()
        assert main(["lessons", "reset", "1", "--folder", str(folder)]) == 0
        again = "" if number == 1 else f"-{number}"
        kept = folder / f"{lesson.stem}.mine-{TODAY}{again}.ipynb"
        assert capsys.readouterr().out == f"kept yours as {kept}\n{lesson} is a fresh copy\n"
        assert kept.read_bytes() == mine
        assert lesson.read_bytes() == fresh.path.read_bytes()
    assert "answer 1" in (folder / f"{lesson.stem}.mine-{TODAY}.ipynb").read_text(encoding="utf-8")
    assert (folder / "progress.json").read_text() == '{"1.1": true}'
    assert states(folder, capsys)["1"] == "unchanged"


def test_reset_of_a_fresh_or_missing_lesson_keeps_nothing(folder: Path) -> None:
    fresh = find_lesson("1")
    before = sorted(folder.iterdir())
    assert reset_lesson(fresh, folder) is None
    (folder / FIRST_LESSON).unlink()
    assert reset_lesson(fresh, folder) is None
    assert sorted(folder.iterdir()) == before
    assert state_of(fresh, folder) == "unchanged"


def test_a_lesson_that_cannot_be_backed_up_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = folder / FIRST_LESSON
    change(lesson, source=["my answer"])
    mine, before = lesson.read_bytes(), sorted(folder.iterdir())
    real = Path.open

    def full(path: Path, mode: str = "r", *rest: object, **named: object) -> object:
        if ".mine-" in path.name:
            raise OSError(28, "No space left on device")
        return real(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(Exception, match="not replaced: No space left on device"):
        reset_lesson(find_lesson("1"), folder)
    monkeypatch.undo()
    assert lesson.read_bytes() == mine
    assert sorted(folder.iterdir()) == before


def test_bad_input_gets_one_line_and_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.chdir(tmp_path)  # where lessons/ is
    before = sorted(tmp_path.rglob("*"))
    for arguments, message in (
        (["reset", "99"], "there is no lesson '99'; choose one of 1"),
        (["reset", "-1"], "there is no lesson '-1'; choose one of 1"),
        (["reset", "clinics"], "there is no lesson 'clinics'; choose one of 1"),
        (["reset", ""], "there is no lesson ''; choose one of 1"),
        (["reset", "1", "--folder", f"{tmp_path}/none"], "make it with `viz-transformer lab`"),
        (["list", "--folder", f"{tmp_path}/none"], "make it with `viz-transformer lab`"),
        (["list", "--folder", f"{tmp_path}/file"], "there is no folder"),
    ):
        assert main(["lessons", *arguments]) == 2, arguments
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
