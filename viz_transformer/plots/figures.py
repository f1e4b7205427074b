"""New figures with one axes, laid out so that labels fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(width: float, height: float, *, close: bool = False) -> tuple[Figure, Axes]:
    """Return a new figure and its axes.

    Args:
        width: in inches.
        height: in inches.
        close: whether pyplot forgets the figure. A notebook shows such a figure where it is
            returned; one that is left with pyplot is shown at the end of the cell as well.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    if close:
        plt.close(figure)
    return figure, ax
