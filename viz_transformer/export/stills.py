"""Still pictures of views as inline SVG, for hosts that let a page run no script and load no image."""

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

_MOST_PIXELS = 400  # of the width, or fewer if the SVG would take more bytes than this
_MOST_BYTES = 60_000
_COLOURS = 8

_PICTURE = re.compile(r'<img\b[^>]*\balt="([^"]*)"[^>]*\bsrc="data:image/png;base64,([^"]*)"[^>]*>')


def still_of(view: Any, alt: str) -> str:
    """Return the HTML of what a view shows now: its figure, or its alternative text where it has none."""
    try:
        figure = view.figure()
        if figure is not None:
            dpi = min(100, _MOST_PIXELS / figure.get_figwidth())
            return _as_svg(figure_to_image(figure, dpi), html.escape(alt))
    except Exception:  # another's view has none; and one that cannot be drawn must not stop the page
        logging.getLogger(__name__).debug("no still picture", exc_info=True)
    return f"<p>{html.escape(alt)}</p>"


def with_drawn_pictures(text: str) -> str:
    """Return HTML with each PNG picture in it as inline SVG."""
    from PIL import Image

    def drawn(found: re.Match[str]) -> str:
        with Image.open(io.BytesIO(base64.b64decode(found[2]))) as picture:
            return _as_svg(picture.convert("RGB"), found[1])

    return _PICTURE.sub(drawn, text)


def _as_svg(picture: Image, alt: str, most: float = _MOST_PIXELS) -> str:
    """Return a picture in a few colours as lines of SVG; `alt` is HTML.

    Colours are attributes: a host that allows no inline style allows no ``style="…"`` either.
    """
    from PIL import Image

    shrink = min(1, most / picture.width)
    size = (round(shrink * picture.width), max(1, round(shrink * picture.height)))
    small = picture.resize(size, Image.Resampling.BOX)
    reduced = small.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    pixels = np.asarray(reduced)  # [row, column], numbers of colours
    palette = np.array(reduced.getpalette()).reshape(-1, 3)
    colours = ["#{:02x}{:02x}{:02x}".format(*each) for each in palette.tolist()]
    background = np.bincount(pixels.ravel()).argmax()
    paths = "".join(
        f'<path stroke="{colours[number]}" d="{_runs(pixels == number)}"/>'
        for number in np.unique(pixels)
        if number != background
    )
    width, height = size
    if len(paths) > _MOST_BYTES and width > 40:
        return _as_svg(picture, alt, 0.8 * width)
    return (
        f'<svg role="img" aria-label="{alt}" width="{width}" height="{height}" '
        f'viewBox="0 -.5 {width} {height}" shape-rendering="crispEdges">'
        f'<path fill="{colours[background]}" d="M0-1h{width}v{height + 1}H0z"/>{paths}</svg>'
    )


def _runs(mask: np.ndarray) -> str:
    """Return the pixels of a mask, [row, column], as horizontal lines, each from the end of the last one."""
    edges = np.diff(mask.astype(np.int8), axis=1, prepend=0, append=0)  # [row, column + 1]
    rows, begins = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    steps_x = begins - np.concatenate([[0], ends[:-1]])
    steps_y = np.diff(rows, prepend=0)
    lines = zip(steps_x.tolist(), steps_y.tolist(), (ends - begins).tolist(), strict=True)
    return "".join(f"m{x} {y}h{length}" for x, y, length in lines)
