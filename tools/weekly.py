"""The weekly suite: what is too long for every change, and its last result in docs/contributing/weekly.md.

`make test-weekly` runs every part; `make test-weekly PARTS="tests mutants"` runs some, and leaves the other
rows of the table as they were.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

REPORT = Path(__file__).parents[1] / "docs" / "contributing" / "weekly.md"
#: Each part, and what runs it.
PARTS = {
    "tests": [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "weekly", "-q"],
    "lowest": ["make", "test-lowest"],
    "newest": ["make", "test-newest"],
    "mutants": ["make", "mutants", f"SEED={datetime.now(UTC):%G%V}"],
}
NAMES = {
    "tests": "trainings from nothing, whole sweeps, other hosts, long use",
    "lowest": "the quick tests on the lowest versions of pyproject.toml",
    "newest": "the quick tests on the newest versions and Python 3.13",
    "mutants": "200 mutants of the package",
}
PACKAGES = ("torch", "transformers", "numpy", "matplotlib", "jupyterlab", "anywidget")
HEAD = """# The weekly suite

What `make test-weekly` found when it last ran, part by part. It writes this page itself.

| part | result | minutes | date | versions |
|---|---|--:|---|---|
"""


def run(part: str) -> tuple[int, str]:
    """Run a part, and return its exit status and its row of the table."""
    begun = time.monotonic()
    done = subprocess.Popen(PARTS[part], stdout=subprocess.PIPE, text=True)
    lines = []
    for line in done.stdout or ():
        sys.stdout.write(line)
        lines.append(line)
    status = done.wait()
    minutes = (time.monotonic() - begun) / 60
    cells = (
        NAMES[part],
        result(lines, status),
        f"{minutes:.0f}",
        f"{datetime.now(UTC):%Y-%m-%d}",
        versions(part),
    )
    return status, f"| {' | '.join(cells)} |"


def result(lines: list[str], status: int) -> str:
    """Return pytest's last line without its time, or the share of mutants that were killed."""
    for line in reversed(lines):
        if found := re.search(r"\d+ (?:passed|failed|error)[^=]*?(?= in )", line):
            return found.group()
        if line.startswith("| all |"):
            return f"{line.split('|')[-2].strip()} killed"
    return f"ended with {status}"


def versions(part: str) -> str:
    """Return what a part ran with: this environment's versions, or the rule that chose others."""
    if part in {"lowest", "newest"}:
        return f"the {part}"
    named = (f"{name} {version(name)}" for name in PACKAGES)
    return f"Python {platform.python_version()}, {', '.join(named)}"


def main(parts: list[str]) -> int:
    """Run the named parts, or all; return 1 if one of them failed."""
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    rows = {}
    if REPORT.exists():
        for line in REPORT.read_text(encoding="utf-8").splitlines():
            rows |= {part: line for part, name in NAMES.items() if line.startswith(f"| {name} |")}
    failed = False
    for part in parts or PARTS:
        status, rows[part] = run(part)
        failed |= status != 0
        table = "\n".join(rows[each] for each in PARTS if each in rows)
        REPORT.write_text(f"{HEAD}{table}\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
