"""The live gallery: each public view as its docstring's example makes it, in a frame of its own.

`make docs` calls `python -m tools.docs_gallery` before it builds the documentation. With `--table` it
writes the views' pictures and first lines into docs/gallery.md.
"""

from __future__ import annotations

import doctest
import inspect
import sys
from pathlib import Path
from typing import Any

import ipywidgets

import viz_transformer as vt
from tools import docs_api

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "gallery"
#: The page of pictures, and the marks around its table of views.
PICTURES = ROOT / "docs" / "gallery.md"
START, END = "<!-- views: python -m tools.docs_gallery --table -->\n", "<!-- end of the views -->"
#: Pixels that a view is high in the gallery, and those of the views that are much lower or higher.
USUAL = 720
HEIGHTS = {
    **dict.fromkeys(["predict_choice", "predict_number", "predict_row", "prediction", "explain"], 260),
    **dict.fromkeys(["block_lab", "figure_lab", "scaling_lab", "softmax_lab"], 480),
    **dict.fromkeys(["lesson_tour", "mask_lab", "thinking_machines", "translation_lab"], 820),
}

INTRODUCTION = """# Every view, alive

Point, click, drag and type. The models run in the page, and what has no model in it shows
what the example's code computed. That code is above each view, and the view's name leads to its arguments
and traits.
"""


def names() -> list[str]:
    """Return the names of the public functions that return a view."""
    found = [name for members in docs_api.views().values() for name in members]
    found += [
        name for name in docs_api.GROUPS["Predictions"] if name != "share_predictions"
    ]  # which has no view
    return [name for name in found if name[0].islower()]


def example(name: str) -> str:
    """Return the code of the example in a public function's docstring, without what it prints."""
    text = inspect.getdoc(getattr(vt, name)) or ""
    return "".join(each.source for each in doctest.DocTestParser().get_examples(text))


def shown(name: str) -> ipywidgets.Widget:
    """Return the view that a public function's example makes: the last that it gives a name."""
    made: dict[str, Any] = {}
    exec(example(name), made)
    return [each for each in made.values() if isinstance(each, ipywidgets.Widget)][-1]


def write(folder: Path) -> None:
    """Write a page for each view into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        vt.export_html(shown(name), folder / f"{name}.html", title=f"vt.{name}")


def frame(name: str) -> str:
    """Return the HTML of the frame that holds a view; it is loaded when it comes near to what is seen."""
    height = HEIGHTS.get(name, USUAL)
    return (
        f'<iframe class="live-view" src="gallery/{name}.html" title="vt.{name}, alive" loading="lazy" '
        f'style="--height: {height}px"></iframe>'
    )


def page() -> str:
    """Return the gallery's Markdown."""
    parts = [INTRODUCTION]
    for name in names():
        first = first_line(name)
        code = f"```python\n{example(name)}```"
        parts += [f"## [vt.{name}]({docs_api.page_of(name)}) {{: #{name} }}", first, code, frame(name)]
    return "\n\n".join(parts)


def first_line(name: str) -> str:
    """Return what a public function is for, as its docstring's first line says it."""
    return (inspect.getdoc(getattr(vt, name)) or "").partition("\n")[0]


def with_table(text: str) -> str:
    """Return the text of docs/gallery.md with each view's picture and first line between its marks."""
    cells, others = [], []
    for name in names():
        line = first_line(name).removeprefix("Return ")
        line = line[:1].lower() + line[1:]
        if (PICTURES.parent / f"images/views/{name}.webp").exists():
            cells.append(f"![vt.{name}](images/views/{name}.webp) **vt.{name}**: {line}")
        else:
            others.append(f"- **vt.{name}**: {line}")
    cells += [""] * (len(cells) % 2)
    rows = [f"| {left} | {right} |" for left, right in zip(cells[::2], cells[1::2], strict=True)]
    made = "\n".join(["| | |", "|---|---|", *rows, "", *others])
    return f"{text.partition(START)[0]}{START}{made}\n{END}{text.partition(END)[2]}"


if __name__ == "__main__":
    if "--table" in sys.argv:
        PICTURES.write_text(with_table(PICTURES.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        write(FOLDER)
