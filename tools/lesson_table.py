"""What the documentation lists of the lessons: sizes in docs/teaching.md, questions in docs/course.md.

`python -m tools.lesson_table` writes both again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import docs_api
from viz_transformer.cli.course import Lesson, course, exercise_cell, read_notebook
from viz_transformer.export.site import read_page

ROOT = Path(__file__).parents[1]
PAGE, COURSE = ROOT / "docs" / "teaching.md", ROOT / "docs" / "course.md"
BEGIN, END = "<!-- table of lessons: python -m tools.lesson_table -->", "<!-- end of the table -->"
_HEAD = """| lesson | words | lines of code | exercises | predictions | views | computed min | stated min |
|--:|--:|--:|--:|--:|--:|--:|--:|"""
_PREDICTS = ("predict_", "prediction")


@dataclass(frozen=True)
class Size:
    """What a lesson holds.

    Attributes:
        words: in its cells of text.
        lines: of code that is shown, without those of its exercises and without empty ones.
        exercises: that are checked.
        predictions: that students make, without the questions about earlier lessons.
        views: cells that show a view.
        stated: the minutes that it states; None if it states none.
    """

    words: int
    lines: int
    exercises: int
    predictions: int
    views: int
    stated: int | None

    @property
    def minutes(self) -> int:
        """How long it takes, rounded to five minutes; docs/teaching.md has the formula."""
        counted = 6 * self.exercises + 2 * self.predictions + 3 * self.views
        return 5 * round((self.words / 125 + self.lines / 6 + counted) / 5)


def size(lesson: Lesson, show_views: frozenset[str]) -> Size:
    """Return what a lesson holds, given the names of the functions that show a view."""
    words = lines = exercises = predictions = views = 0
    stated = None
    for cell in read_notebook(lesson.path)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            words += len(re.findall(r"\S*\w\S*", source))
            found = re.search(r"\*\*Time:\*\* (?:about )?(\d+) minutes", source)
            stated = int(found[1]) if found else stated
            continue
        kind, _ = exercise_cell(cell.get("id", "")) or ("", "")
        exercises += kind == "check"
        if kind:
            continue
        called = list(_calls(source))
        asked = [args for name, args in called if name.startswith(_PREDICTS)]
        predictions += sum(not re.search(r"\.s\d", args) for args in asked)
        views += not asked and any(name in show_views for name, _ in called)
        if not cell["metadata"].get("jupyter", {}).get("source_hidden"):
            lines += sum(bool(line.strip()) for line in source.splitlines())
    return Size(words, lines, exercises, predictions, views, stated)


def _calls(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each function of ``vt`` that is called, and the ``name=`` that it is given."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("vt."):
            names = [ast.unparse(each.value) for each in node.keywords if each.arg == "name"]
            yield ast.unparse(node.func).removeprefix("vt."), "".join(names)


def sizes() -> dict[str, Size]:
    """Return the size of each numbered lesson, by its number."""
    show_views = frozenset(name for names in docs_api.views().values() for name in names)
    return {each.key: size(each, show_views) for each in course() if each.key.isdigit()}


def page(text: str, found: dict[str, Size]) -> str:
    """Return the text of docs/teaching.md with the table of these sizes between its marks."""
    rows = [
        f"| {key} | {each.words:,} | {each.lines} | {each.exercises} | {each.predictions} | {each.views} "
        f"| {each.minutes} | {each.stated} |"
        for key, each in found.items()
    ]
    return _between_marks(text, [_HEAD, *rows])


def course_page(text: str) -> str:
    """Return the text of docs/course.md with each lesson and its question between its marks."""
    pages = map(read_page, sorted((ROOT / "notebooks").glob("*.ipynb")))
    rows = [f"- [{each.title}](../notebooks/{each.notebook.name}). {each.question}" for each in pages]
    return _between_marks(text, ["", *rows, ""])


def _between_marks(text: str, lines: list[str]) -> str:
    before, _, rest = text.partition(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *lines, END]) + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), sizes()), encoding="utf-8")
    COURSE.write_text(course_page(COURSE.read_text(encoding="utf-8")), encoding="utf-8")
