"""The command `lessons`: copying, listing and resetting the lessons in a student's folder.

A student's work is never overwritten: a lesson is only copied where it is missing, and before a
reset the student's version is kept beside it.
"""

from __future__ import annotations

import argparse
import shutil
from datetime import date
from pathlib import Path
from typing import Any

from viz_transformer._files import atomic_write, given_path, keep_beside, make_folder
from viz_transformer._renamed import NOTEBOOKS
from viz_transformer.cli.assignment import add_assignment
from viz_transformer.cli.course import Lesson, course, find_lesson, read_notebook
from viz_transformer.errors import FileError, UserError

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
    """Copy the lessons that `folder` does not have yet; a student's work stays.

    Raises:
        FileError: if the folder cannot be written.
    """
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

    Its name contains the date: ``08_masks.mine-2026-11-21.ipynb``, and with ``-2`` for the second.

    Raises:
        FileError: if a file cannot be read or written; the student's version is then unchanged.
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
