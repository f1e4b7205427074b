"""Check that notebooks are stored without outputs: pre-commit runs it on what is committed.

`python -m tools.notebooks a.ipynb …` names what must be cleared, and ends with 1 if anything must.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


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


def main(paths: list[str]) -> int:
    """Check each notebook; return 1 after saying what to do if one is not clean."""
    found = [line for path in paths for line in unclean(Path(path))]
    if found:
        names = " ".join(sorted({line.partition(": ")[0] for line in found}))
        sys.stderr.write("\n".join([*found, f"clear them with: nbstripout {names}"]) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
