"""Check how notebooks are stored: without outputs, and with what nbgrader needs to grade them.

`python -m tools.notebooks a.ipynb …` names what is wrong, and ends with 1 if anything is;
pre-commit runs it on what is committed. `python -m tools.notebooks --grade a.ipynb …` writes the
metadata of the exercises' cells, which follows from their ids.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from viz_transformer.cli.course import exercise_cell


def grading(cell_id: str) -> dict[str, Any] | None:
    """Return nbgrader's metadata of the cell of that id; None for a cell that it leaves alone.

    An answer cell is the student's, and holds no points. A check cell is locked and worth one.
    """
    found = exercise_cell(cell_id)
    if not found:
        return None
    is_answer = found[0] == "answer"
    return {
        "cell_type": "code",
        "grade": not is_answer,
        "grade_id": cell_id,
        "locked": not is_answer,
        "schema_version": 3,
        "solution": is_answer,
        "task": False,
        **({} if is_answer else {"points": 1}),
    }


def ungraded(path: Path) -> list[str]:
    """Return one line for each cell whose nbgrader metadata is not what its id asks for."""
    found, seen = [], set()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        name = cell.get("id", "")
        wanted = grading(name)
        if cell["metadata"].get("nbgrader") != wanted:
            found.append(f"{path}: cell {name!r} has not the nbgrader metadata of its id")
        if wanted and cell["cell_type"] != "code":
            found.append(f"{path}: cell {name!r} is no code cell")
        if name in seen:
            found.append(f"{path}: the id {name!r} is used twice")
        seen.add(name)
    return found


def grade(path: Path) -> None:
    """Write into a notebook the nbgrader metadata that its cells' ids ask for."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)
        if wanted := grading(cell.get("id", "")):
            cell["metadata"]["nbgrader"] = wanted
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def unclean(path: Path) -> list[str]:
    """Return one line for each thing in a notebook that running it left behind."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    found = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell.get("outputs"):
            found.append(f"{path}: cell {number} is stored with its output")
        if cell.get("execution_count") is not None:
            found.append(f"{path}: cell {number} is stored with its execution count")
    if "widgets" in notebook["metadata"]:
        found.append(f"{path}: the state of its widgets is stored with it")
    return found


def main(arguments: list[str]) -> int:
    """Check each notebook; return 1 after saying what to do if one is not as it must be."""
    paths = [Path(each) for each in arguments if each != "--grade"]
    if "--grade" in arguments:
        for path in paths:
            grade(path)
        return 0
    remedies = [
        (unclean, "clear them with: nbstripout"),
        (ungraded, "set it with: python -m tools.notebooks --grade"),
    ]
    lines = []
    for check, remedy in remedies:
        found = [line for path in paths for line in check(path)]
        if found:
            names = " ".join(sorted({line.partition(": ")[0] for line in found}))
            lines += [*found, f"{remedy} {names}"]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
