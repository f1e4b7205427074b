"""A lesson as its tests read it: what stands in its cells, and what its code makes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

from viz_transformer.cli.course import find_lesson

#: A cell that hangs must end the test; this is no promise of speed.
CELL_TIMEOUT_S = 300
#: In the source of a cell that asks for a prediction.
ASKS = re.compile(r"\bvt\.(predict(ion|_number|_choice|_row)|explain)\(")


class Lesson:
    """One of the course's notebooks; ``lesson["start"]`` is the source of its cell of that id.

    Attributes:
        path: the notebook's file.
    """

    def __init__(self, name: str) -> None:
        """Find a lesson by its number, such as ``"4"``, or ``"clinic"``."""
        self.path = find_lesson(name).path

    def __getitem__(self, cell_id: str) -> str:
        return self.cells[cell_id]

    @cached_property
    def _cells(self) -> list[nbformat.NotebookNode]:
        return nbformat.read(self.path, as_version=4).cells

    @cached_property
    def cells(self) -> dict[str, str]:
        """The source of each cell, by its id, in the lesson's order."""
        return {cell.id: cell.source for cell in self._cells}

    @cached_property
    def code(self) -> dict[str, str]:
        """The source of each cell of code, by its id."""
        return {cell.id: cell.source for cell in self._cells if cell.cell_type == "code"}

    @cached_property
    def texts(self) -> list[str]:
        """What stands in each cell of prose."""
        return [cell.source for cell in self._cells if cell.cell_type == "markdown"]

    @cached_property
    def prose(self) -> str:
        """All that the lesson says, as one line."""
        return flat(" ".join(self.texts))

    def lacks(self, *said: str, cell: str | None = None) -> list[str]:
        """Of what a lesson says, in one cell or in all its prose, what it does not say."""
        text = self.prose if cell is None else flat(self[cell])
        return [each for each in said if each not in text]

    def above(self, cell_id: str) -> str:
        """What a reader has met, code and prose, on reaching a cell."""
        ids = list(self.cells)
        return " ".join(self[each] for each in ids[: ids.index(cell_id)])

    def on_screen_with(self, cell_id: str) -> str:
        """What a reader has met on reaching a prediction, its question, and the prose right below it.

        What the prediction says after the guess, `afterwards`, is left out: only then is it seen.
        """
        ids = list(self.cells)
        asked, _, _ = self[cell_id].partition("afterwards=")
        below = next(each for each in ids[ids.index(cell_id) + 1 :] if each not in self.code)
        return " ".join([self.above(cell_id), asked, self[below]])

    def run(self, *ids: str) -> dict[str, Any]:
        """Run cells one after another, in a folder that is thrown away, and return the names that they leave.

        Under ``"shown"`` stands what was shown last, as a notebook shows the last line of a cell.
        """
        names: dict[str, Any] = {}
        sys.modules.pop("my_transformer", None)  # of another folder
        with TemporaryDirectory() as folder, chdir(folder):
            for each in ids:
                *lines, last = ast.parse(self[each]).body
                if isinstance(last, ast.Expr):
                    exec(compile(ast.Module(lines, []), each, "exec"), names)
                    names["shown"] = eval(compile(ast.Expression(last.value), each, "eval"), names)
                else:
                    exec(compile(self[each], each, "exec"), names)
        return names

    def run_whole(self) -> dict[str, Any]:
        """Run all its code, unanswered."""
        return self.run(*self.code)

    def mistaken_predictions(self, guesses: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        """Ask what its predictions ask, guess right, and return those that are not scored 1.

        What else stands in their cells, which may be a training, is not done again. A prediction that
        shows no picture although it promises one, or one that it does not promise, is returned too.
        """
        wrong = {}
        with TemporaryDirectory() as folder, chdir(folder):
            for cell_id, guess in guesses.items():
                _, _, call = self[cell_id].rpartition("vt.predict_")
                view = eval(f"vt.predict_{call}", names)
                view.guess = guess
                if view.score != 1 or ("png" in view.revealed) != ("reveal" in self[cell_id]):
                    wrong[cell_id] = (view.score, view.revealed.keys())
        return wrong


def flat(text: str) -> str:
    """A text as one line: where it is wrapped says nothing."""
    return " ".join(text.split())


def exercise_headings(lesson: Lesson) -> list[str]:
    """Its headings of exercises, or of the clinic's cases, such as ``"4.1 · Compute a query by hand"``."""
    return re.findall(r"^### (?:Exercise|Case) (.+)$", "\n".join(lesson.texts), flags=re.MULTILINE)


def table_under(text: str, heading: str) -> dict[str, list[str]]:
    """The first table below a heading: what stands in each row, by the name that it begins with.

    Of a link only its text is kept.
    """
    _, _, rest = text.partition(heading)
    rows = [line.strip().strip("|").split("|") for line in rest.splitlines() if line.startswith("|")]
    cells = [[re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", each).strip() for each in row] for row in rows[2:]]
    return {name: rest for name, *rest in cells}


@contextmanager
def lessons_kernel() -> Iterator[NotebookClient]:
    """Start a kernel in which `run_notebook` runs notebooks one after another."""
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=CELL_TIMEOUT_S, kernel_name="python3")
    with client.setup_kernel():
        yield client


#: Leaves a kernel as it was started, but for what it imported: torch's settings, and no names,
#: figures or widgets.
_FRESH = """
import os, sys
os.chdir({folder!r})
if "torch" in sys.modules:
    torch = sys.modules["torch"]
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default", sci_mode=None)
    torch.manual_seed(0)
sys.modules.pop("my_transformer", None)
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
if "matplotlib.pyplot" in sys.modules:
    sys.modules["matplotlib.pyplot"].close("all")
get_ipython().run_line_magic("reset", "-f")
"""


def run_notebook(client: NotebookClient, notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run a notebook in a kernel; what it writes goes to a folder that is thrown away.

    Raises:
        CellExecutionError: if a cell has an error.
        CellTimeoutError: if one hangs.
    """
    fresh = nbformat.v4.new_code_cell(_FRESH.format(folder=str(folder)))
    client.nb = nbformat.v4.new_notebook(cells=[fresh, *notebook.cells])
    client.reset_execution_trackers()
    for index, cell in enumerate(client.nb.cells):
        client.execute_cell(cell, index)
