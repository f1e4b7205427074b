"""The command `lessons assignment`: lessons with their solutions, for an nbgrader course."""

from __future__ import annotations

import argparse
import copy
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viz_transformer._files import atomic_write, given_path, make_folder
from viz_transformer.cli.course import Lesson, course, exercise_cell, find_lesson, read_notebook
from viz_transformer.errors import FileError, UserError

#: Beside the package in a clone; a wheel, which students also install, does not contain them.
SOLUTIONS = Path(__file__).parents[2] / "teaching" / "solutions"

#: A wrong answer is an error where it is graded, and only there: nbgrader hides this from students.
_STRICT = """\
### BEGIN HIDDEN TESTS
import os
os.environ["VIZ_TRANSFORMER_GRADING"] = "1"
### END HIDDEN TESTS
"""

_CONFIG = """\
# nbgrader's settings, written by `viz-transformer lessons assignment` as there were none here. They
# are yours to change.
c = get_config()

# What replaces a solution. The cell above it is the answer to fill in.
c.ClearSolutions.code_stub = {"python": "# Write your answer above."}

# Seconds for one cell. No cell of a lesson needs many; an endless loop must not hold up a class.
c.ExecutePreprocessor.timeout = 300

# Bytes of memory for each process: nbgrader, and the kernel that runs a student's notebook. No lesson
# takes as many. Other systems than Linux do not keep to it.
import sys
if sys.platform == "linux":
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (4 * 2**30, 4 * 2**30))
"""


def add_assignment(commands: Any) -> None:
    """Add the command to a parser's."""
    assignment = commands.add_parser(
        "assignment",
        help="write lessons with their solutions into an nbgrader course",
        description="Write source/LESSON/LESSON.ipynb into an nbgrader course folder, each with "
        "its solutions, which `nbgrader generate_assignment LESSON` takes out for the students. "
        "Needs a clone of the repository: an installed package has no solutions.",
    )
    assignment.add_argument("folder", metavar="DIR", help="the course's folder")
    assignment.add_argument("--lesson", metavar="LESSON", help="one lesson's number, clinic or project")
    assignment.add_argument("--overwrite", action="store_true", help="replace files that are there already")
    assignment.set_defaults(run=_assignment)


def _assignment(options: argparse.Namespace) -> int:
    wanted = course() if options.lesson is None else [find_lesson(options.lesson)]
    lessons = [lesson for lesson in wanted if lesson.has_exercises]
    if not lessons:
        raise UserError(f"{wanted[0].path.name} has no exercises; choose a lesson, the clinic or the project")
    made = {lesson: with_solutions(lesson, SOLUTIONS) for lesson in lessons}
    for path in write_course(given_path(options.folder), made, options.overwrite):
        print(f"wrote {path}")
    return 0


def write_course(
    folder: Path, notebooks: Mapping[Lesson, dict[str, Any]], overwrite: bool = False
) -> list[Path]:
    """Write lessons into a course's folder, and a configuration if it has none.

    Args:
        folder: the course's folder.
        notebooks: each lesson with its solutions.
        overwrite: replace lessons that are there with other content.

    Returns:
        The files that were written; existing equal files are left.

    Raises:
        FileError: if a file exists with other content, in which case nothing is written, or if the
            folder cannot be written.
    """
    texts = {
        folder / "source" / lesson.path.stem / lesson.path.name: _text(notebook)
        for lesson, notebook in notebooks.items()
    }
    changed = [path for path, text in texts.items() if path.exists() and _content(path) != text]
    if changed and not overwrite:
        raise FileError(
            f"{str(changed[0])!r} already exists and is different; move it away, give another folder, or "
            "replace it with --overwrite"
        )
    if not (folder / "nbgrader_config.py").exists():
        texts = {folder / "nbgrader_config.py": _CONFIG, **texts}
    written = [path for path in texts if not path.exists() or path in changed]
    for path in written:
        make_folder(path.parent, "give another one")
        with atomic_write(path) as part:
            part.write_text(texts[path], encoding="utf-8")
    return written


def with_solutions(lesson: Lesson, solutions: Path) -> dict[str, Any]:
    """Return a lesson as nbgrader's instructor version: solved, and strict where it is graded.

    An answer cell keeps its text for students, followed by the solution between nbgrader's markers.

    Raises:
        FileError: if the solutions are not installed.
        UserError: if an exercise has no solution.
    """
    solved = read_solutions(lesson, solutions)
    notebook = copy.deepcopy(read_notebook(lesson.path))
    for cell in notebook["cells"]:
        found = exercise_cell(cell.get("id", ""))
        if not found:
            continue
        (kind, name), text = found, "".join(cell["source"])
        if kind == "check":
            text = f"{_STRICT}{text}"
        elif name in solved:
            text = f"{text}\n### BEGIN SOLUTION\n{solved[name]}\n### END SOLUTION"
        else:
            raise UserError(
                f"{str(_solutions_file(lesson, solutions))!r} has no section '# %% {name}'; write "
                f"one with the solution of exercise {name}"
            )
        cell["source"] = text.splitlines(keepends=True)
    return notebook


def read_solutions(lesson: Lesson, solutions: Path) -> dict[str, str]:
    """Return the solved answer cells of a lesson, by exercise.

    Raises:
        FileError: if they are not installed.
    """
    path = _solutions_file(lesson, solutions)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"there are no solutions at {str(path)!r}: an installed package does not include them; "
            "clone the repository, install it with pip install -e ., and run this there"
        ) from error
    parts = re.split(r"^# %% (\S+)[ \t]*\n", text, flags=re.MULTILINE)
    return {name: part.strip("\n").rstrip() for name, part in zip(parts[1::2], parts[2::2], strict=True)}


def _solutions_file(lesson: Lesson, solutions: Path) -> Path:
    name = f"lesson_{int(lesson.key):02}" if lesson.key.isdigit() else lesson.path.stem
    return solutions / f"{name}.py"


def _text(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return None
