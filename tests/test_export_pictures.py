"""Pictures in a page: smaller, and the same to the eye, and the scripts of its views."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from tests.support.javascript import answers_in_node
from viz_transformer.export.inline_module import in_one, inline_module, view_scripts
from viz_transformer.export.stills import with_smaller_pictures
from viz_transformer.plots import plot_softmax
from viz_transformer.widgets.base.bundle import STATIC, built


def page_of(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "png")
    return (
        f'<p>before</p><img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"> after'
    )


def picture_of(page: str) -> Image.Image:
    data = page.split("base64,")[1].split('"')[0]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")


def test_a_figure_takes_half_the_room_and_hardly_changes() -> None:
    file = io.BytesIO()
    plot_softmax([2.0, 1.0, -1.0, 0.5], ["the", "black", "cat", "sleeps"]).savefig(file, dpi=120)
    figure = Image.open(file).convert("RGBA")
    page = page_of(figure)
    small = with_smaller_pictures(page)
    assert len(small) < 0.6 * len(page)
    assert small.startswith("<p>before</p>")
    assert small.endswith("> after")
    change = np.abs(np.asarray(picture_of(small), float) - np.asarray(figure, float))
    assert change.mean() < 1
    assert np.percentile(change, 99) < 24


def test_transparency_is_kept() -> None:
    picture = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    picture.paste((200, 30, 30, 255), (10, 10, 30, 30))
    kept = np.asarray(picture_of(with_smaller_pictures(page_of(picture))))
    assert kept[0, 0, 3] == 0
    assert kept[20, 20].tolist() == [200, 30, 30, 255]


def test_a_page_without_pictures_stays_as_it_is() -> None:
    assert with_smaller_pictures("<p>data:image/svg+xml</p>") == "<p>data:image/svg+xml</p>"


#: Bytes of a view with its style, and with its part of what all share.
MOST_BYTES = 23_800
VIEWS = sorted(path.name.removesuffix(".part.js") for path in STATIC.glob("*.part.js"))
OURS = {view: inline_module(built(f"{view}.js")) for view in VIEWS if view != "shared"}


def test_one_script_registers_every_view_and_stays_small() -> None:
    script = in_one([each.name for each in OURS.values()])
    run = """(script) => {
      (0, eval)(script);
      return Object.entries(vtViews).map(([name, view]) => [name, typeof view.render]);
    }"""
    assert dict(answers_in_node({}, run, script)) == {each.name: "function" for each in OURS.values()}
    styles = sum(path.stat().st_size for path in STATIC.glob("*.css"))
    assert len(script.encode()) + styles <= MOST_BYTES * len(OURS)


def test_a_page_takes_the_shorter_way() -> None:
    alone = {OURS["explorer"].name: OURS["explorer"]}
    assert view_scripts(alone) == [OURS["explorer"].text]
    foreign = inline_module("export default { render() {} }")
    several = {each.name: each for each in [*OURS.values(), foreign]}
    others, shared = view_scripts(several)
    assert others == foreign.text
    assert len(shared) < sum(len(each.text) for each in OURS.values()) / 2
