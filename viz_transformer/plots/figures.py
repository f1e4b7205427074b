"""New figures with one axes, laid out so that labels fit, and the scale beside a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer.plots.text_in_files import TextFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


def new_axes(width: float, height: float, *, close: bool = False) -> tuple[Figure, Axes]:
    """Return a new figure and its axes.

    Args:
        width: in inches.
        height: in inches.
        close: whether pyplot forgets the figure. A notebook shows such a figure where it is
            returned; one that is left with pyplot is shown at the end of the cell as well.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(width, height), layout="constrained", FigureClass=TextFigure)
    if close:
        plt.close(figure)
    return figure, ax


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
