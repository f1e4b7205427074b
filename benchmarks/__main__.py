"""Run the benchmarks and write docs/benchmarks.md.

`python -m benchmarks` runs all and writes the page; `python -m benchmarks head_view` runs that
one and only prints it. It ends with 1 if a goal was missed.
"""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import sys
from pathlib import Path

from benchmarks.table import Table

#: The modules to run, in the order of the page; each has a `run() -> Table`.
MODULES = ("head_view", "explorer", "views", "decoding", "forward", "training")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

INTRODUCTION = """\
# Benchmarks

`make bench` measures everything below and writes this page; do not edit it by hand. Seconds
belong to the machine they were measured on, so trust the ratios: both sides of each row ran on
the same machine, in the same run.
"""


def machine() -> str:
    """Return the date and the machine in one sentence; no names of hosts or people."""
    system = f"{platform.system()} {platform.machine()}"
    return (
        f"Measured on {datetime.date.today().isoformat()}: {os.cpu_count()} CPUs, {system}, "
        f"Python {platform.python_version()}.\n"
    )


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them; return 1 if a goal was missed."""
    tables: list[Table] = []
    for name in names or MODULES:
        tables.append(importlib.import_module(f"benchmarks.{name}").run())
        print(tables[-1].markdown())
    if not names:
        sections = [INTRODUCTION, machine(), *(table.markdown() for table in tables)]
        PAGE.write_text("\n".join(sections), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(PAGE.parents[1])}")
    missed = [goal for table in tables for goal in table.goals if not goal.met]
    for goal in missed:
        print(f"Missed: {goal.text}; reached {goal.reached}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
