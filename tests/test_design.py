"""One colour per meaning: views and figures take theirs from shared.json, and what they name is there."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.text import Text

import viz_transformer as vt
from tests.support.hand_made_traces import attention
from tests.support.source_code import SCRIPTS
from viz_transformer import plots
from viz_transformer._shared import SHARED

PACKAGE = Path(__file__).parents[1] / "viz_transformer"
WIDGETS, PLOTS = PACKAGE / "widgets", PACKAGE / "plots"
COLOUR = re.compile(r"(?<![\w&(])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
#: Those that are no one's meaning: paper, and what is printed on it.
PAPER = {"#ffffff", "#fff", "#000"}


PROSE = WIDGETS / "base" / "prose.css"


def test_pages_and_their_prose_have_the_colours_by_role() -> None:
    page = (PACKAGE / "export" / "theme.css").read_text(encoding="utf-8")
    named = {
        name: [*pair]
        for name, *pair in re.findall(r"^  --([\w-]+): light-dark\((#\w+), (#\w+)\)", page, re.M)
    }
    roles = SHARED["colours"]
    assert {"query", "key", "weight", "you", "ink", "muted"} <= named.keys()
    assert {name: pair for name, pair in named.items() if name in roles and pair != roles[name][:2]} == {}
    pairs = re.findall(r"light-dark\((#\w+), (#\w+)\)", PROSE.read_text(encoding="utf-8"))
    assert pairs
    assert {pair for pair in pairs if [*pair] not in [own[:2] for own in roles.values()]} == set()


def test_views_and_figures_have_no_colours_of_their_own() -> None:
    own = {
        f"{file.relative_to(PACKAGE)}: {colour}"
        for folder, endings in ((WIDGETS, ("css", "js", "ts", "tsx")), (PLOTS, ("py",)))
        for ending in endings
        for file in folder.rglob(f"*.{ending}")
        for colour in COLOUR.findall(file.read_text(encoding="utf-8"))
        if colour not in PAPER and file != PROSE
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


def test_the_stage_styles_no_view_beside_it() -> None:
    """All views of a page share one document, and the old ones have classes of the same names."""
    base = WIDGETS / "base"
    own = {base / "stage.css": "vt-staged", base / "head" / "head.css": "vt-staged"}
    for script in WIDGETS.glob("*/view.tsx"):
        name = re.search(r'name: "([\w-]+)"', script.read_text(encoding="utf-8"))
        assert name, script
        own[script.with_name("style.css")] = f"vt-{name[1]}"
    elsewhere = {
        f"{file.relative_to(WIDGETS)}: {selector}"
        for file, root in own.items()
        for selector in re.findall(r"^[^\s@/*}].*[{,]$", file.read_text(encoding="utf-8"), re.M)
        if not re.match(rf"(:where\(|\.vt )?\.{root}\b", selector)
    }
    assert elsewhere == set()


def test_the_site_styles_no_part_of_a_view() -> None:
    """What begins with a class of the site holds in the views of its lessons, too, if they have it."""
    sheet = (WIDGETS.parent / "export" / "site.css").read_text(encoding="utf-8")
    begun = set(re.findall(r"^\s*\.(vt-[\w-]+)[^{}]*[{,]$", sheet, re.M))
    scripts = [file.read_text(encoding="utf-8") for file in WIDGETS.glob("*/*.ts*")]
    assert begun & set(re.findall(r"vt-[\w-]+", "\n".join(scripts))) == set()


def test_figures_write_in_two_sizes_the_smaller_of_which_can_be_read() -> None:
    """Figures take matplotlib's own sizes: 10 points, 14 pixels at 100 dots an inch, and for titles 12."""
    own = {
        f"{file.name}: {size}"
        for file in PLOTS.glob("*.py")
        for size in re.findall(r"\b(?:font)?size=(?:\d|\w+_style\(\d).*", file.read_text(encoding="utf-8"))
    }
    assert own == set()
    words = [f"word{i}" for i in range(40)]
    trace = vt.capture(attention(2, 4, 40, 40), source_tokens=words)
    short = vt.capture(attention(2, 4, 12, 12), source_tokens=words[:12])
    figures = [
        plots.plot_head(trace, "encoder", 0, 0).figure,
        plots.plot_head(short, "encoder", 0, 0).figure,
        plots.plot_heads(short, "encoder"),
        plots.plot_mask(np.tri(12, dtype=bool)).figure,
        plots.plot_split(words[:5], d_model=16, n_heads=8),
        plots.plot_softmax([1, -2, 3], ["a", "b", "c"], slopes=True),
    ]
    for figure in figures:
        sizes = {
            text.get_fontsize() for text in figure.findobj(Text) if text.get_text() and text.get_visible()
        }
        assert sizes <= {10, 12}, figure.alt_text
        figure.draw_without_rendering()
        for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
            labels = [each for each in axis.get_ticklabels() if each.get_text() and not each.get_rotation()]
            boxes = [each.get_window_extent() for each in labels]
            assert not any(one.overlaps(other) for one, other in pairwise(boxes)), figure.alt_text
        plt.close(figure)
