"""The command `lessons`: copying, listing and resetting a student's lessons, and assignments made of them.

A student's work is never overwritten: a lesson is only copied where it is missing, and before a
reset the student's version is kept beside it.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from viz_transformer._files import atomic_write, given_path, keep_beside, make_folder
from viz_transformer._renamed import NOTEBOOKS
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
    """Write lessons with their solutions into a course's folder, and a configuration if it has none.

    Returns the files that were written; equal files are left. If one is there with other content, no
    file is written, unless `overwrite` replaces it.
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
    """Return the solved answer cells of a lesson, by exercise."""
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


FOLDER = "lessons"


def add_lessons(commands: Any) -> None:
    """Add the command and its own commands to a parser's."""
    lessons = commands.add_parser(
        "lessons",
        help="list the lessons, get a fresh copy of one, or make assignments from them",
        description="Manage the lessons in a folder. What a student wrote is never overwritten.",
    )
    inner = lessons.add_subparsers(dest="what", required=True, metavar="COMMAND")

    listed = inner.add_parser("list", help="list the lessons, and which of them you have changed")
    _add_folder(listed)
    listed.set_defaults(run=_list)

    reset = inner.add_parser(
        "reset",
        help="replace a lesson by a fresh copy; yours is kept beside it",
    )
    reset.add_argument("lesson", metavar="LESSON", help="its number, clinic or project")
    _add_folder(reset)
    reset.set_defaults(run=_reset)

    add_assignment(inner)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", default=FOLDER, metavar="DIR", help=f"where they are (default: {FOLDER})")


def _list(options: argparse.Namespace) -> int:
    folder = _existing(given_path(options.folder))
    for lesson in course():
        print(f"{lesson.key:>6}  {lesson.title:<36}  {state_of(lesson, folder)}")
    tell_renumbered(folder)
    return 0


def _reset(options: argparse.Namespace) -> int:
    lesson = find_lesson(options.lesson)
    kept = reset_lesson(lesson, _existing(given_path(options.folder)))
    if kept is not None:
        print(f"kept yours as {kept}")
    print(f"{given_path(options.folder) / lesson.path.name} is a fresh copy")
    return 0


def copy_lessons(folder: Path) -> Path:
    """Copy the lessons that `folder` does not have yet; a student's work stays."""
    make_folder(folder, "choose another with --folder")
    for lesson in course():
        copy = folder / lesson.path.name
        if not copy.exists():
            with atomic_write(copy) as part:
                shutil.copyfile(lesson.path, part)
    return folder


def tell_renumbered(folder: Path) -> None:
    """Print which of a folder's notebooks have other numbers in the course now, in a line, if any has."""
    there = [old for old in NOTEBOOKS if (folder / f"{old}.ipynb").exists()]
    if there:
        renamed = ", ".join(f"{old}.ipynb is {NOTEBOOKS[old]}.ipynb" for old in there)
        print(f"The lessons have other numbers now: {renamed}. Yours stay as they are.")


def state_of(lesson: Lesson, folder: Path) -> str:
    """Return whether a folder's lesson is ``"unchanged"``, ``"changed"``, ``"missing"`` or damaged.

    Running a lesson does not change it; its cells' texts do.
    """
    path = folder / lesson.path.name
    if not path.exists():
        return "missing"
    try:
        same = _texts(path) == _texts(lesson.path)
    except UserError:
        return "not a notebook any more"
    return "unchanged" if same else "changed"


def reset_lesson(lesson: Lesson, folder: Path) -> Path | None:
    """Put a fresh lesson into a folder; returns where the student's version is kept, if any.

    Its name contains the date: ``08_masks.mine-2026-11-21.ipynb``, and with ``-2`` for the second. After an
    error the student's version is unchanged.
    """
    path, kept = folder / lesson.path.name, None
    try:
        content = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise FileError(
            f"cannot read {str(path)!r}, so it was not replaced: {error.strerror or error}"
        ) from error
    if content == lesson.path.read_bytes():
        return None
    if content is not None:
        kept = keep_beside(path, content, f"mine-{date.today().isoformat()}")
    with atomic_write(path) as part:
        shutil.copyfile(lesson.path, part)
    return kept


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise FileError(
            f"there is no folder {str(folder)!r} here; make it with `viz-transformer lab`, or name "
            "another with --folder"
        )
    return folder


def _texts(path: Path) -> list[tuple[str, str]]:
    """Return the type and the text of each cell that is not empty."""
    cells = ((cell["cell_type"], "".join(cell["source"])) for cell in read_notebook(path)["cells"])
    return [(kind, text) for kind, text in cells if text.strip()]
