"""What a benchmark answers: a table, what it means, and the goals it had to reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Goal:
    """One goal, in words, with what was reached."""

    text: str
    reached: str
    met: bool


@dataclass(frozen=True)
class Table:
    """One benchmark's result.

    Attributes:
        title: the heading over it.
        text: what was measured and how, in Markdown; enough to repeat it by hand.
        columns: the heads of the columns.
        rows: the cells, as they are to be read, units included.
        goals: what it had to reach; one that is missed fails `make bench`.
        versions: of the programs measured, by name.
        page: the file under docs/ that it belongs to.
        files: further files of the project that hold what was found, with their text.
    """

    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    goals: tuple[Goal, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    page: str = "contributing/benchmarks.md"
    files: tuple[tuple[Path, str], ...] = ()

    def markdown(self) -> str:
        """Return the section for docs/contributing/benchmarks.md."""
        lines = [f"## {self.title}", "", self.text.strip(), ""]
        lines += [_row(self.columns), _row(("---",) * len(self.columns)), *map(_row, self.rows), ""]
        for goal in self.goals:
            verdict = "met" if goal.met else "**missed**"
            lines.append(f"- Goal: {goal.text}. Reached: {goal.reached}, {verdict}.")
        if self.versions:
            versions = ", ".join(f"{name} {version}" for name, version in self.versions)
            lines += ["", f"Versions: {versions}."]
        return "\n".join(lines).rstrip() + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
