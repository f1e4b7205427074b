"""Figures whose text stays text in PDF and SVG files, so that it can be searched, edited and read aloud."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

from viz_transformer.plots.fonts import wider_fonts


class TextFigure(Figure):
    """A figure that is written with its text; matplotlib's settings, and other figures, stay as they are."""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **options: Any) -> None:
        """Write the figure to a file, as matplotlib's figures do, with `text_kept`."""
        with text_kept(self):
            super().savefig(fname, transparent=transparent, **options)


@contextmanager
def text_kept(figure: Figure) -> Iterator[None]:
    """Inside this, PDF and PostScript files hold TrueType fonts (Type 42), and SVG files text elements."""
    kind = 3 if _has_other_outlines(figure) else 42
    with mpl.rc_context({"pdf.fonttype": kind, "ps.fonttype": kind, "svg.fonttype": "none"}):
        yield


def _has_other_outlines(figure: Figure) -> bool:
    """Whether a character may come from a font with PostScript outlines, which Type 42 has no place for."""
    usual = findfont(FontProperties())
    if _is_postscript(usual):
        return True
    if not any(_is_postscript(findfont(each)) for each in wider_fonts()):
        return False
    figure.draw_without_rendering()  # only then ticks have their text
    characters = {each for text in figure.findobj(Text) for each in text.get_text()}
    return any(not get_font(usual).get_char_index(ord(each)) for each in characters if each.isprintable())


def _is_postscript(path: str) -> bool:
    """Whether the outlines of a font file, or of the first font in a collection, are PostScript's (CFF)."""
    with Path(path).open("rb") as file:
        if file.read(4) == b"ttcf":
            file.seek(12)
            file.seek(int.from_bytes(file.read(4), "big"))
        else:
            file.seek(0)
        return file.read(4) == b"OTTO"
