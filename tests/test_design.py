"""One colour per meaning: views and figures take theirs from shared.json, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.source_code import SCRIPTS
from viz_transformer._shared import SHARED

PACKAGE = Path(__file__).parents[1] / "viz_transformer"
WIDGETS, PLOTS = PACKAGE / "widgets", PACKAGE / "plots"
COLOUR = re.compile(r"(?<![\w&(])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
#: Those that are no one's meaning: paper, and what is printed on it.
PAPER = {"#ffffff", "#fff", "#000"}


def test_views_and_figures_have_no_colours_of_their_own() -> None:
    own = {
        f"{file.relative_to(PACKAGE)}: {colour}"
        for folder, endings in ((WIDGETS, ("css", "js", "ts", "tsx")), (PLOTS, ("py",)))
        for ending in endings
        for file in folder.rglob(f"*.{ending}")
        for colour in COLOUR.findall(file.read_text(encoding="utf-8"))
        if colour not in PAPER
    }
    assert own == set()


def test_each_colour_that_a_style_takes_is_declared() -> None:
    sheets = {file: file.read_text(encoding="utf-8") for file in WIDGETS.rglob("*.css")}
    scripts = "".join(each.read_text(encoding="utf-8") for each in SCRIPTS)
    known = {f"--{role}" for role in SHARED["colours"]} | {*re.findall(r'"(--[\w-]+)"', scripts)}
    known |= {name for sheet in sheets.values() for name in re.findall(r"(--[\w-]+):", sheet)}
    unknown = {
        f"{file.relative_to(WIDGETS)}: {name}"
        for file, sheet in sheets.items()
        for name in re.findall(r"var\((--[\w-]+)", sheet)
        if name not in known and not name.startswith(("--jp-", "--vscode-"))
    }
    assert unknown == set()
