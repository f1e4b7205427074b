"""docs/contributing/style.md's list of words that we do not use, held against everything that people read."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from tests.support.source_code import MODULES, PACKAGE, ROOT, SCRIPTS, for_each

STYLE = ROOT / "docs" / "contributing" / "style.md"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
READ = [
    *MODULES,
    *SCRIPTS,
    *sorted(path for path in PACKAGE.rglob("*.css") if path.parent.name != "static"),
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in ROOT.glob("docs/**/*.md") if path != STYLE),
    *sorted(ROOT.glob("teaching/**/*.md")),
    *sorted(ROOT.glob("teaching/**/*.py")),
    *sorted(ROOT.glob("benchmarks/*.py")),
    *sorted(ROOT.glob("tools/*.py")),
    *sorted(path for path in ROOT.glob("tests/**/*.py") if path != Path(__file__)),  # it names them
    *sorted(ROOT.glob("tests/js/*.mjs")),
    *NOTEBOOKS,
]


def words_not_used() -> list[str]:
    """The first column of the list in docs/contributing/style.md."""
    _, table = STYLE.read_text(encoding="utf-8").split("## Words we do not use")
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]  # without the table's head
    return [word.strip() for row in rows for word in row.split(",")]


NEVER = re.compile(rf"\b(?:{'|'.join(map(re.escape, words_not_used()))})\b", re.IGNORECASE)


def text_of(path: Path) -> str:
    """What a reader meets in a file, as one line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = " ".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
    # A phrase may run over the end of a line, and of a piece of a string or comment.
    return re.sub(r"[\s\"'#/*]+", " ", text)


def test_the_list_is_read() -> None:
    assert {"shall", "lest", "anew", "is asked for"} <= set(words_not_used())
    assert NEVER.search("A row shall sum to 1.")
    assert not NEVER.search("The shallow one is marshalled.")


@for_each(READ)
def test_it_is_written_in_the_words_of_today(path: Path) -> None:
    assert not (found := NEVER.findall(text_of(path))), f"{found}: see docs/contributing/style.md"


def test_exercises_have_their_number_and_their_title_in_every_lesson() -> None:
    for path in NOTEBOOKS:
        for heading in re.findall(r'"(#+ [Ee]xercise[^"\\]*)', path.read_text(encoding="utf-8")):
            assert re.match(r"### Exercise (\d+\.)?\d+ · \S", heading), f"{path.name}: {heading}"
