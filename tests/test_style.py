"""docs/contributing/style.md's words and habits to give up, held against everything that people read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


#: What students, users and contributors read as sentences; the changelog stays as it was written.
PROSE = [
    path
    for path in READ
    if not {"tests", "tools", "benchmarks"} & {*path.parts}
    and path.suffix != ".css"
    and path.name != "CHANGELOG.md"
]


def table_of(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of docs/contributing/style.md."""
    section = STYLE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]  # without the table's head
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def words_not_used() -> list[str]:
    """The first column of the list in docs/contributing/style.md."""
    return [word.strip() for row in table_of("Words we do not use") for word in row[0].split(",")]


HABITS = table_of("Habits to give up")
PATTERNS = [re.compile(row[3].strip("`").replace("\\|", "|"), re.IGNORECASE) for row in HABITS]
NEVER = re.compile(rf"\b(?:{'|'.join(map(re.escape, words_not_used()))})\b", re.IGNORECASE)


def text_of(path: Path) -> str:
    """What a reader meets in a file, as one line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = " ".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
    # A phrase may run over the end of a line, and of a piece of a string or comment.
    return re.sub(r"[\s\"'#/*]+", " ", text)


def prose_of(path: Path) -> Iterator[str]:
    """The paragraphs, and in code the texts, of a file, each as one line."""
    text = path.read_text(encoding="utf-8")
    cells = nbformat.reads(text, as_version=4).cells if path.suffix == ".ipynb" else []
    written = [cell.source for cell in cells if cell.cell_type == "markdown"]
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    if path.suffix == ".md":
        written = [text]
    elif path.suffix == ".py":
        code = [text]
    elif not cells:  # a script
        texts = re.findall(
            r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", re.sub(r"//.*|/\*(?s:.)*?\*/", "", text)
        )
        written = ["\n\n".join(re.sub(r"\$\{[^{}]*\}", "…", one or other) for one, other in texts)]
    for each in code:
        for node in ast.walk(ast.parse(each)):
            if isinstance(node, ast.JoinedStr):
                written.append(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
                    )
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                written.append(node.value)
    for each in written:
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d\.) )", each):
            yield re.sub(r"\s+", " ", paragraph).lstrip("-*|#> ")


def habits_in(text: str) -> list[str]:
    """The habits that a text has, each with its words."""
    return [
        f"{row[0]}: “{found[0].strip()}”"
        for row, pattern in zip(HABITS, PATTERNS, strict=True)
        if (found := pattern.search(text))
    ]


def test_each_habit_is_found_in_its_example_and_not_in_what_is_written_instead() -> None:
    for row in HABITS:
        assert row[0] in str(habits_in(row[1])), f"{row[1]} is not found"
        assert habits_in(row[2]) == []


@for_each(PROSE)
def test_it_has_no_habit_of_the_list(path: Path) -> None:
    found = [habit for text in prose_of(path) for habit in habits_in(text)]
    assert not found, f"{found}: see docs/contributing/style.md"


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
