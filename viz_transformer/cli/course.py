"""The course's notebooks as shipped: list, lookup by number, and reading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_transformer._files import bundled
from viz_transformer._renamed import NOTEBOOKS
from viz_transformer.errors import FileError, UserError

FIRST_LESSON = "01_which_head_attends_where.ipynb"

_NAME = re.compile(r"(?:0*(\d+)_.*|further_(.+)|(clinic|project|demonstration))\.ipynb")
_EXERCISE_CELL = re.compile(r"(answer|check)-(\w+)-(\d+)")


@dataclass(frozen=True)
class Lesson:
    """One of the course's notebooks, as shipped.

    Attributes:
        key: its name on the command line: ``"7"``, ``"clinic"``, ``"project"``, ``"demonstration"`` or the
            topic of what goes further.
        path: the notebook's file.
    """

    key: str
    path: Path

    @property
    def title(self) -> str:
        """The first heading, without its number."""
        cells = read_notebook(self.path)["cells"]
        text = "".join(cells[0]["source"]) if cells else ""
        heading = text.partition("\n")[0].lstrip("# ")
        return re.sub(r"^(\d+|Clinic|Project|Demonstration|Going further) · ", "", heading)

    @property
    def has_exercises(self) -> bool:
        """Whether it has exercises, which the demonstration for a class has not."""
        return any(exercise_cell(cell.get("id", "")) for cell in read_notebook(self.path)["cells"])


def course() -> list[Lesson]:
    """Return the course's lessons in their order, then the clinic, the demonstration, and the rest."""
    return sorted(_lessons(bundled("notebooks")), key=lambda each: each.path.name)


def _lessons(folder: Path) -> Iterator[Lesson]:
    for path in folder.glob("*.ipynb"):
        if found := _NAME.fullmatch(path.name):
            yield Lesson(found[found.lastindex or 0], path)


def find_lesson(name: str) -> Lesson:
    """Return the lesson of a number, such as ``7`` or ``07``, or ``clinic``."""
    lessons = course()
    wanted = name.strip().lower()
    wanted = wanted.lstrip("0") if wanted.isdigit() else wanted
    for lesson in lessons:
        if wanted in (lesson.key, lesson.path.stem):
            return lesson
    if wanted in NOTEBOOKS:
        raise UserError(f"the lesson {wanted} is {NOTEBOOKS[wanted]} now")
    keys = ", ".join(lesson.key for lesson in lessons)
    raise UserError(f"there is no lesson {name!r}; choose one of {keys}")


def exercise_cell(cell_id: str) -> tuple[str, str] | None:
    """Return the kind of an exercise's cell, ``"answer"`` or ``"check"``, and the exercise's name.

    Both come from the id: ``check-3-1`` is the check of exercise ``3.1``. None for other cells.
    """
    found = _EXERCISE_CELL.fullmatch(cell_id)
    return (found[1], f"{found[2]}.{found[3]}") if found else None


def read_notebook(path: Path) -> dict[str, Any]:
    """Return the JSON of a notebook file."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            _ = cell["cell_type"], "".join(cell["source"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a notebook: {error}") from error
    return notebook
