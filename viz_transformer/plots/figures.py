"""Figures: new ones laid out so that labels fit, their alternative text, and their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text
from numpy.typing import NDArray

from viz_transformer._bounds import DPI, whole_number
from viz_transformer._files import atomic_write, given_path
from viz_transformer.errors import UserError
from viz_transformer.plots.labels import wider_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axes._secondary_axes import SecondaryAxis
    from matplotlib.image import AxesImage


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


def new_axes(width: float, height: float, alt_text: str, *, close: bool = False) -> Axes:
    """Return the axes of a new figure with its alternative text; the size is in inches.

    A notebook shows a figure that pyplot forgets (`close`) where it is returned; one that is left with
    pyplot is shown at the end of the cell as well.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(width, height), layout="constrained", FigureClass=TextFigure)
    set_alt_text(figure, alt_text)
    if close:
        plt.close(figure)
    return ax


def new_panels(
    n_rows: int, n_columns: int, size: tuple[float, float], *, layout: Any = "constrained", **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """Return a new figure, which pyplot forgets, and its axes, [row, column]; the size is in inches."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=size, layout=layout, squeeze=False, FigureClass=TextFigure, **options
    )
    plt.close(figure)
    return figure, axes


def new_figure(width: float, height: float, **options: Any) -> Figure:
    """Return a new figure without axes, which pyplot forgets; its size is in inches."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width, height), FigureClass=TextFigure, **options)
    plt.close(figure)
    return figure


def without_frame(ax: Axes | SecondaryAxis) -> None:
    """Hide the frame of a picture, and the marks at its names."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def left_and_bottom(ax: Axes) -> None:
    """Keep two sides of the frame, with short marks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=2)


def legend_below(ax: Axes) -> None:
    """Say below the names of the axis what the colours mean: there no bar and no line is in the way."""
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0, -0.55, ax.figure.dpi_scale_trans)
    ax.legend(
        frameon=False, ncols=3, loc="upper left", borderaxespad=0, bbox_to_anchor=(0, 0), bbox_transform=below
    )


def add_scale(ax: Axes, image: AxesImage, meaning: str) -> None:
    """Draw what the colours of a picture mean beside it."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(meaning)


def set_alt_text(figure: Figure, text: str) -> None:
    """Give a figure its alternative text; `save_figure` writes it into the file.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_probabilities({"el gato": 0.7, "la gata": 0.3})
    >>> vt.plots.set_alt_text(axes.figure, "Two translations and their probabilities")

    Args:
        figure: the figure.
        text: what it shows, in a sentence or two.
    """
    figure.alt_text = text  # type: ignore[attr-defined]  # an attribute of our own


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
