"""Pictures of a page in few colours, also as inline SVG, where a host allows no script and no image."""

from __future__ import annotations

import base64
import html
import io
import logging
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from viz_transformer.widgets.base.static_fallback import figure_to_image

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 400  # of the width; fewer where the picture would take more bytes
_MOST_BYTES = 60_000
_MOST_BYTES_IN_NOTEBOOKS = 6_000  # the course, with forty of them, is to stay below 25 MB
#: Chosen so that no colour is far from what it stands for: those of weights say how large they are.
_COLOURS = 16

_PICTURE = re.compile(r'<img\b[^>]*\balt="([^"]*)"[^>]*\bsrc="data:image/png;base64,([^"]*)"[^>]*>')


def still_of(view: Any, alt: str) -> str:
    """Return the HTML of what a view shows now: its figure if it has one, and its alternative text."""
    drawn = ""
    try:
        figure = view.figure()
        if figure is not None:
            dpi = min(100, _MOST_PIXELS / figure.get_figwidth())
            drawn = _as_svg(figure_to_image(figure, dpi), _MOST_BYTES)
    except Exception:  # another's view has none; and one that cannot be drawn must not stop the page
        logging.getLogger(__name__).debug("no still picture", exc_info=True)
    return f"{drawn}<p>{html.escape(alt)}</p>"


def with_drawn_pictures(text: str) -> str:
    """Return HTML with each PNG picture in it as inline SVG, and its alternative text below."""
    from PIL import Image

    def drawn(found: re.Match[str]) -> str:
        with Image.open(io.BytesIO(base64.b64decode(found[2]))) as picture:
            return f"{_as_svg(picture.convert('RGB'), _MOST_BYTES_IN_NOTEBOOKS)}<p>{found[1]}</p>"

    return _PICTURE.sub(drawn, text)


def _as_svg(picture: Image, most_bytes: int, most_pixels: float = _MOST_PIXELS) -> str:
    """Return a picture in a few colours as lines of SVG.

    Colours are attributes: a host that allows no inline style allows no ``style="…"`` either.
    """
    from PIL import Image

    shrink = min(1, most_pixels / picture.width)
    size = width, height = round(shrink * picture.width), max(1, round(shrink * picture.height))
    small = picture.resize(size, Image.Resampling.BOX)
    reduced = small.quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    palette = np.array(reduced.getpalette()).reshape(-1, 3).tolist()
    numbers, pixels, counts = np.unique(np.asarray(reduced), return_inverse=True, return_counts=True)
    # The most frequent colour first: it is the background, and the others are drawn over it.
    order = np.argsort(-counts)
    layers = np.argsort(order)[pixels].reshape(height, width)
    colours = ["#{:02x}{:02x}{:02x}".format(*palette[number]) for number in numbers[order]]
    paths = "".join(
        f'<path stroke="{colour}" d="{_runs(layers, layer)}"/>'
        for layer, colour in enumerate(colours)
        if layer
    )
    if len(paths) > most_bytes and width > 40:
        return _as_svg(picture, most_bytes, 0.85 * width)
    return (
        f'<svg aria-hidden="true" width="{width}" height="{height}" '
        f'viewBox="0 -.5 {width} {height}" shape-rendering="crispEdges">'
        f'<path fill="{colours[0]}" d="M0-1h{width}v{height + 1}H0z"/>{paths}</svg>'
    )


def _runs(layers: np.ndarray, layer: int) -> str:
    """Return one layer of [row, column] as horizontal lines, each from the end of the last one.

    A line goes on below the pixels of later layers, which takes a fifth fewer bytes.
    """
    edges = np.diff((layers >= layer).astype(np.int8), axis=1, prepend=0, append=0)  # [row, column + 1]
    rows, begins = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    before = np.cumsum(np.pad(layers == layer, ((0, 0), (1, 0))), axis=1)  # [row, column + 1]
    is_seen = before[rows, ends] > before[rows, begins]
    rows, begins, ends = rows[is_seen], begins[is_seen], ends[is_seen]
    steps_x = begins - np.concatenate([[0], ends[:-1]])
    steps_y = np.diff(rows, prepend=0)
    lines = zip(steps_x.tolist(), steps_y.tolist(), (ends - begins).tolist(), strict=True)
    return "".join(f"m{x} {y}h{length}" for x, y, length in lines)


_PNG = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=\s]+")


def with_smaller_pictures(page: str) -> str:
    """Return a page's HTML with each PNG in it reduced to 256 colours, where that makes it smaller."""
    return _PNG.sub(lambda found: _smaller(found[0]), page)


def _smaller(data: str) -> str:
    from PIL import Image

    whole = base64.b64decode(data)
    with Image.open(io.BytesIO(whole)) as picture:
        reduced = picture.convert("RGBA").quantize(256, method=Image.Quantize.FASTOCTREE)
    small = io.BytesIO()
    reduced.save(small, "png", optimize=True)
    return min(base64.b64encode(small.getvalue()).decode(), data, key=len)
