"""Run the benchmarks and write their pages in docs, a section for each as soon as it is measured.

`python -m benchmarks` runs all. `python -m benchmarks head_view` runs that one and only prints it;
with `--write` it replaces its section. Other flags go to the named one: `classroom --learners 10`.
It ends with 1 if a goal was missed.
"""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import re
import sys
from itertools import takewhile
from pathlib import Path

from benchmarks.table import Table

#: The modules to run, in the order of the page; each has a `run() -> Table`. Left out, as they need
#: a quiet machine and many minutes: `classroom`, `classroom_memory`, `long_use` and `long_use_kernel`.
MODULES = (
    "head_view",
    "explorer",
    "motion",
    "views",
    "large_pages",
    "in_page",
    "decoding",
    "forward",
    "capture",
    "training",
    "lesson_cells",
    "sharing",
    "capture_models",
    "real",
)
DOCS = Path(__file__).parents[1] / "docs"

INTRODUCTION = """\
# Benchmarks

`make bench` measures everything below but classrooms and long use, which have commands of their own, and
writes this page; do not edit it by hand. Seconds belong to the machine they were measured on, so trust the
ratios: both sides of each row ran on the same machine, in the same run. Each section says when that was.
"""


def machine() -> str:
    """Return the date and the machine in one sentence; no names of hosts or people."""
    system = f"{platform.system()} {platform.machine()}"
    return (
        f"Measured on {datetime.date.today().isoformat()}: {os.cpu_count()} CPUs, {system}, "
        f"Python {platform.python_version()}.\n"
    )


def write(table: Table) -> None:
    """Put a table into the page, in the place of its last measurement or at the end, and write its files."""
    for path, text in table.files:
        path.write_text(text, encoding="utf-8")
    path = DOCS / table.page
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    introduction, *sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    if table.page == Table.page:
        introduction = INTRODUCTION  # of the other pages, written by hand
    by_title = {section.split("\n", 1)[0]: section.rstrip() + "\n" for section in sections}
    heading, _, rest = table.markdown().partition("\n")
    by_title[heading] = f"{heading}\n\n{machine()}{rest}"
    path.write_text("\n".join([introduction.rstrip() + "\n", *by_title.values()]), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all of them; return 1 if a goal was missed."""
    given = [argument for argument in arguments if argument != "--write"]
    # A learner's Python keeps what it compiles, whatever this shell says: without it, `import torch`
    # compiles a thousand modules in every kernel that is measured.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    names = list(takewhile(lambda argument: not argument.startswith("-"), given))
    flags = given[len(names) :]
    missed = []
    for name in names or MODULES:
        table = importlib.import_module(f"benchmarks.{name}").run(*flags)
        print(table.markdown(), flush=True)
        missed += [goal for goal in table.goals if not goal.met]
        if not names or "--write" in arguments:
            write(table)
    for goal in missed:
        print(f"Missed: {goal.text}; reached {goal.reached}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
