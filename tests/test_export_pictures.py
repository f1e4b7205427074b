"""Pictures in a page: smaller, and the same to the eye."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from viz_transformer.export.stills import with_smaller_pictures
from viz_transformer.plots import plot_softmax


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
