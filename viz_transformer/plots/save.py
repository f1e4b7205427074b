"""Figures as files, with their alternative text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from viz_transformer._bounds import DPI, whole_number
from viz_transformer._files import atomic_write, given_path
from viz_transformer.errors import UserError
from viz_transformer.plots.text_in_files import text_kept

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The formats, each with the name under which its files carry a description.
_DESCRIPTION = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
FORMATS = tuple(_DESCRIPTION)


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> Path:
    """Write a figure as PNG, SVG or PDF, as the path ends, whole or not at all.

    The figure's alternative text, if it has one, is written into the file. Its words are text in SVG and
    PDF, whatever matplotlib's settings are.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_probabilities({"el gato": 0.7, "la gata": 0.3})
    >>> vt.plots.save_figure(axes.figure, "words.png").name
    'words.png'

    Args:
        figure: a matplotlib figure.
        path: where to; its ending names the format.
        dpi: dots per inch of a PNG.

    Raises:
        UserError: if the ending is none of the three, or `dpi` is not from 10 to 1,200.
        FileError: if the file cannot be written.
    """
    path = given_path(path)
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"{str(path)!r} must end in one of {', '.join(FORMATS)}")
    whole_number("dpi", dpi, DPI, least=10)  # a letter of less than a dot cannot be drawn
    text = getattr(figure, "alt_text", None)
    named = _DESCRIPTION[path.suffix.lower()]
    with atomic_write(path) as part, text_kept(figure):
        figure.savefig(
            part,
            format=path.suffix[1:].lower(),
            dpi=dpi,
            bbox_inches="tight",
            metadata={named: text} if text else None,
        )
    return path
