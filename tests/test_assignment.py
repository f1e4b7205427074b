"""Assignments for nbgrader: generated, handed in right and wrong, and autograded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tools import notebooks
from viz_transformer.cli import lessons, main
from viz_transformer.cli.course import course, exercise_cell, find_lesson
from viz_transformer.exercises import exercises_of

#: Few cells, none of which trains or loads much.
LESSON = find_lesson("3")


def test_every_lesson_becomes_an_assignment_with_every_exercise() -> None:
    for lesson in filter(lambda each: each.has_exercises, course()):
        assert notebooks.ungraded(lesson.path) == []
        cells = json.loads(lesson.path.read_text(encoding="utf-8"))["cells"]
        graded = [cell["id"] for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]
        names = [one.name for one in exercises_of(lesson.key)]
        assert graded == [f"check-{name.replace('.', '-')}" for name in names]

        made = lessons.with_solutions(lesson, lessons.SOLUTIONS)
        nbformat.validate(made)
        texts = {cell["id"]: "".join(cell["source"]) for cell in made["cells"]}
        for mark in ("### BEGIN SOLUTION\n", "### BEGIN HIDDEN TESTS\n"):
            assert sum(mark in text for text in texts.values()) == len(names), lesson.key
        untouched = [cell for cell in cells if not exercise_cell(cell["id"])]
        assert all(texts[cell["id"]] == "".join(cell["source"]) for cell in untouched), lesson.key


def test_the_rule_names_the_mistake_and_corrects_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [
        nbformat.v4.new_code_cell("x = ...", id="answer-9-1"),
        nbformat.v4.new_code_cell("check", id="check-9-1"),
        nbformat.v4.new_code_cell("1", id="other", metadata={"nbgrader": {"grade": True}}),
    ]
    path = tmp_path / "lesson.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert notebooks.main([str(path)]) == 1
    told = capsys.readouterr().err
    for name in ("answer-9-1", "check-9-1", "other"):
        assert f"cell {name!r} has not the nbgrader metadata of its id" in told
    assert f"set it with: python -m tools.notebooks --grade {path}\n" in told
    assert notebooks.main(["--grade", str(path)]) == 0
    assert notebooks.main([str(path)]) == 0
    first, second, third = nbformat.read(path, as_version=4).cells
    assert first.metadata.nbgrader.solution
    assert second.metadata.nbgrader.points == 1
    assert "nbgrader" not in third.metadata


@pytest.fixture(scope="module")
def on_the_path() -> Iterator[None]:
    """What nbgrader calls by its name, alembic, is found, as in an activated environment."""
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    yield
    os.environ["PATH"] = before


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, on_the_path: None) -> Path:
    """A course in which three students handed in the same lesson, graded."""
    folder = tmp_path_factory.mktemp("course")
    assert main(["lessons", "assignment", str(folder), "--lesson", LESSON.key]) == 0
    shorten(folder / "source" / LESSON.path.stem / LESSON.path.name)
    nbgrader(folder, "generate_assignment", LESSON.path.stem)
    released = folder / "release" / LESSON.path.stem / LESSON.path.name
    solved = lessons.read_solutions(LESSON, lessons.SOLUTIONS)
    mistaken = {**solved, "3.2": "def softmax(scores):\n    return scores"}
    del mistaken["3.3"]  # not answered
    # The kernel's limit ends this cell, and the next one is graded.
    greedy = {**solved, "3.1": "times_as_much = [bytearray(2**30) for _ in range(100)]"}
    for student, answers in {"right": solved, "wrong": mistaken, "greedy": greedy}.items():
        notebook = nbformat.read(released, as_version=4)
        for cell in notebook.cells:
            kind, name = exercise_cell(cell.id) or ("", "")
            if kind == "answer" and name in answers:
                cell.source = answers[name]
        path = folder / "submitted" / student / LESSON.path.stem / LESSON.path.name
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    nbgrader(folder, "autograde", LESSON.path.stem)
    return folder


def shorten(path: Path) -> None:
    """Leave of a lesson what its exercises need; tests/test_course.py runs it whole."""
    notebook = nbformat.read(path, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    notebook.cells = [cell for cell in notebook.cells if cell is first or "nbgrader" in cell.metadata]
    nbformat.write(notebook, path)


def nbgrader(folder: Path, *arguments: str) -> None:
    """Run nbgrader in a course's folder, apart from the user's own settings."""
    apart = {
        name: str(folder / "jupyter" / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    environment = {**os.environ, **apart, "OMP_NUM_THREADS": "1"}
    environment.pop("VIZ_TRANSFORMER_GRADING", None)  # the assignment itself asks for it
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def points(folder: Path, student: str) -> dict[str, tuple[float, float]]:
    """What nbgrader gave a student for each exercise, and what there was to get."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        found = book.find_submission_notebook(LESSON.path.stem, LESSON.path.stem, student)
        return {exercise_cell(grade.cell.name)[1]: (grade.score, grade.max_score) for grade in found.grades}


@pytest.mark.slow
def test_students_get_no_solutions_and_a_point_for_each_right_answer(graded: Path) -> None:
    released = graded / "release" / LESSON.path.stem / LESSON.path.name
    text = released.read_text(encoding="utf-8")
    for mark in ("BEGIN SOLUTION", "HIDDEN TESTS", "VIZ_TRANSFORMER_GRADING", "NotImplementedError"):
        assert mark not in text
    answer = next(cell for cell in nbformat.read(released, as_version=4).cells if cell.id == "answer-3-1")
    assert "..." in answer.source
    assert "Write your answer above." in answer.source

    names = {one.name for one in exercises_of(LESSON.key)}
    assert points(graded, "right") == dict.fromkeys(names, (1, 1))
    wrong = ("3.2", "3.3")
    assert points(graded, "wrong") == {name: (0 if name in wrong else 1, 1) for name in names}
    assert points(graded, "greedy") == {name: (0 if name == "3.1" else 1, 1) for name in names}


def test_a_teachers_changes_are_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["lessons", "assignment", str(tmp_path), "--lesson", LESSON.key]
    (tmp_path / "nbgrader_config.py").write_text("mine")
    assert main(command) == 0
    path = tmp_path / "source" / LESSON.path.stem / LESSON.path.name
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert main(command) == 0  # nothing to do
    assert capsys.readouterr().out == ""
    path.write_text("changed by the teacher")
    assert main(command) == 2
    assert "already exists and is different; move it away" in capsys.readouterr().err
    assert path.read_text() == "changed by the teacher"
    assert (tmp_path / "nbgrader_config.py").read_text() == "mine"


def test_what_makes_no_assignment_is_refused_in_one_line_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "lesson_03.py").write_text("# %% 3.1\nx = 1\n")
    none = "an installed package does not include them; clone the repository"
    for folder, key, solutions, message in (
        ("course", "99", None, "there is no lesson '99'"),
        ("file", LESSON.key, None, "file"),
        ("course", LESSON.key, "none", none),
        ("course", LESSON.key, "some", "has no section '# %% 3.2'"),
    ):
        if solutions:
            monkeypatch.setattr(lessons, "SOLUTIONS", tmp_path / solutions)
        assert main(["lessons", "assignment", str(tmp_path / folder), "--lesson", key]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "some"]
