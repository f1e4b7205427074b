"""One colour per meaning: views and figures take theirs from one list, in the base's style sheet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from viz_transformer.plots.colour import COLOURS

PACKAGE = Path(__file__).parents[1] / "viz_transformer"
WIDGETS, PLOTS = PACKAGE / "widgets", PACKAGE / "plots"
BASE = (WIDGETS / "base" / "style.css").read_text(encoding="utf-8")
COLOUR = re.compile(r"(?<![\w&(])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
#: Where colours are listed, and those that are no one's meaning: paper, and what is printed on it.
STAGE = WIDGETS / "base" / "stage.css"
PROSE = WIDGETS / "base" / "prose.css"
LISTS = {
    WIDGETS / "base" / "style.css",
    STAGE,
    PROSE,
    WIDGETS / "base" / "js" / "colour.js",
    PLOTS / "colour.py",
}
PAPER = {"#ffffff", "#fff", "#000", "#f4f4f4"}


def light(name: str) -> str:
    """The colour of a name in the light theme."""
    declared = re.search(rf"^  --vt-{name}: [^;]*?(#[0-9a-f]{{6}})", BASE, re.M)
    assert declared, name
    return declared[1]


@pytest.mark.parametrize("name", COLOURS)
def test_figures_have_the_colours_of_views(name: str) -> None:
    assert COLOURS[name] == light(name)


def test_every_colour_has_one_for_dark_pages() -> None:
    for sheet, root in ((BASE, ".vt"), (STAGE.read_text(encoding="utf-8"), ".vt-staged")):
        lights, darks = (
            set(re.findall(r"--([\w-]+): #", sheet.split(start, 1)[1].split("}", 1)[0]))
            for start in (f"\n{root} {{", f'{root}[data-theme="dark"] {{')
        )
        assert lights == darks


def test_pages_have_the_colours_of_the_stage_by_the_same_names() -> None:
    stage = STAGE.read_text(encoding="utf-8")
    page = (PACKAGE / "export" / "theme.css").read_text(encoding="utf-8")
    shared = re.findall(r"^  --([\w-]+): light-dark\((#\w+), (#\w+)\)", page, re.M)
    roles = {name for name, *_ in shared} & set(re.findall(r"^  --([\w-]+): #", stage, re.M))
    assert {"query", "key", "weight", "you", "ink", "muted"} <= roles
    for name, light_one, dark_one in shared:
        assert name not in roles or re.findall(rf"^  --{name}: (#\w+)", stage, re.M) == [light_one, dark_one]
    listed = set(re.findall(r"^  --[\w-]+: (#\w+);", stage, re.M))
    assert set(COLOUR.findall(PROSE.read_text(encoding="utf-8"))) <= listed


def test_views_and_figures_have_no_colours_of_their_own() -> None:
    own = {
        f"{file.relative_to(PACKAGE)}: {colour}"
        for folder, endings in ((WIDGETS, ("css", "js", "ts", "tsx")), (PLOTS, ("py",)))
        for ending in endings
        for file in folder.rglob(f"*.{ending}")
        if file not in LISTS
        for colour in COLOUR.findall(file.read_text(encoding="utf-8"))
        if colour not in PAPER
    }
    assert own == set()
