"""The figure lab: what is chosen, what is drawn, and what an exported page carries."""

from __future__ import annotations

import ast
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import viz_transformer as vt
from viz_transformer._files import bundled
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.figure_lab.view import MAX_EXPORTED, figure_lab, value_text

CONTROLS = {"size": [1.0, 2.0, 4.0], "colour": ("red", "blue")}


class Drawer:
    """Draws a square, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []

    def __call__(self, size: float, colour: str) -> Figure:
        self.asked.append((size, colour))
        figure = Figure(figsize=(size, 1), facecolor=colour)
        set_alt_text(figure, f"A {colour} figure, {size:g} wide.")
        return figure


def image(reply: dict) -> Image.Image:
    return Image.open(io.BytesIO(reply["png"])).convert("RGB")


def test_it_opens_with_the_first_values_and_their_picture() -> None:
    lab = figure_lab(Drawer(), CONTROLS)
    assert lab.values == {"size": 1.0, "colour": "red"}
    assert lab.places == lab.first["places"] == [0, 0]
    assert image(lab.first).getpixel((5, 5)) == (255, 0, 0)
    assert [control["kind"] for control in lab.controls] == ["slider", "choice"]
    assert lab.controls[0]["texts"] == ["1", "2", "4"]


def test_choosing_moves_it_and_the_picture_is_the_one_of_what_is_chosen() -> None:
    lab = figure_lab(Drawer(), CONTROLS, start={"size": 2.0})
    assert lab.values == {"size": 2.0, "colour": "red"}
    lab.choose(colour="blue")
    assert lab.places == [1, 1]
    reply = lab.answer({"places": [1, 1]})
    assert image(reply).size == (reply["width"], reply["height"]) == (200, 100)
    assert image(reply).getpixel((5, 5)) == (0, 0, 255)
    assert lab.alt_text() == reply["alt"] == "A blue figure, 2 wide."
    assert lab.figure().get_size_inches().tolist() == [2, 1]
    assert repr(lab) == "FigureLab(size=2.0, colour='blue')"


def test_a_picture_is_drawn_once_for_the_page() -> None:
    drawer = Drawer()
    lab = figure_lab(drawer, CONTROLS)
    lab.answer({"places": [2, 1]})
    lab.answer({"places": [2, 1]})
    assert drawer.asked == [(1.0, "red"), (4.0, "blue")]


def test_axes_do_as_well_as_a_figure() -> None:
    lab = figure_lab(lambda size: Figure(figsize=(size, 1)).subplots(), {"size": [1, 3]})
    assert isinstance(lab.figure(), Figure)
    assert lab.alt_text() == "Picture for size 1."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lab: lab.choose(size=3.0), "size=3.0 is none of"),
        (lambda lab: lab.choose(shape=1), "no control 'shape'"),
        (lambda lab: setattr(lab, "places", [0]), "give a place from 0 for each"),
        (lambda lab: setattr(lab, "places", [0, 2]), "give a place from 0 for each"),
        (lambda lab: lab.answer({"places": [-1, 0]}), "give a place from 0 for each"),
    ],
)
def test_what_there_is_not_is_refused_and_nothing_moves(change, told: str) -> None:
    lab = figure_lab(Drawer(), CONTROLS)
    with pytest.raises(SelectionError, match=told):
        change(lab)
    assert lab.places == [0, 0]


@pytest.mark.parametrize("controls", [{}, {"size": [1]}, {"size": [1, 2, 1]}])
def test_a_control_has_two_different_values(controls) -> None:
    with pytest.raises(vt.UserError, match=r"needs"):
        figure_lab(Drawer(), controls)


def test_a_page_carries_every_picture_if_they_are_few() -> None:
    lab = figure_lab(Drawer(), CONTROLS)
    assert [question["places"] for question in lab.questions()] == [
        [size, colour] for size in range(3) for colour in range(2)
    ]


def test_a_page_carries_each_control_moved_alone_if_they_are_many() -> None:
    lab = figure_lab(
        Drawer(), {"size": range(1, 9), "colour": ("red", "blue", "green", "black", "white", "grey", "tan")}
    )
    places = [question["places"] for question in lab.questions()]
    assert places[0] == lab.places
    assert len(places) == len({tuple(each) for each in places}) == 1 + 7 + 6
    assert max((np.array(each) != lab.places).sum() for each in places) == 1
    assert lab.export_bytes() == 40_000 * len(places)


def test_an_exported_page_holds_its_pictures(tmp_path: Path) -> None:
    path = vt.export_html(figure_lab(Drawer(), CONTROLS), tmp_path / "page.html")
    text = path.read_text(encoding="utf-8").split('id="vt-page">')[1].split("</script>")[0]
    (view,) = json.loads(text)["views"]
    assert len(view["state"]["answers"]) == 6
    assert view["state"]["answers"][3][1]["alt"] == "A blue figure, 2 wide."


def test_values_are_told_shortly() -> None:
    assert [value_text(v) for v in (1.0, -3.5, 512**0.5, "cat", 7)] == [
        "1", "−3.5", "22.63", "cat", "7",
    ]  # fmt: skip


# --- the lessons' figure labs ------------------------------------------------------------------


def picture_counts(code: str) -> Iterator[int]:
    """How many pictures each figure lab of a cell has: the product of its controls' values."""
    nodes = list(ast.walk(ast.parse(code)))
    lists = {ast.unparse(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "vt.figure_lab":
            values = [lists[each.id] if isinstance(each, ast.Name) else each for each in node.args[1].values]
            # A list, or a range from 0.
            yield math.prod(
                len(each.elts) if isinstance(each, ast.List) else each.args[0].value for each in values
            )


def test_the_page_of_a_lesson_carries_every_picture_of_its_figure_labs() -> None:
    cells = [
        cell
        for path in bundled("notebooks").glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        if "vt.figure_lab(" in cell.source
    ]
    counts = {cell.id: max(picture_counts(cell.source)) for cell in cells}
    assert {"nearest-lab", "factor-lab", "scorings", "split-view", "depth-lab", "size-lab"} <= set(counts)
    assert max(counts.values()) <= MAX_EXPORTED, counts
