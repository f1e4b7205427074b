"""Scales of a heatmap's colours: the usual one, one for each row, a logarithmic one, or given limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import Colormap, LogNorm, Normalize

from viz_transformer._numbers import difference_power, finite, power_of_ten, short_number
from viz_transformer._text import shown
from viz_transformer.analysis.combine import Scale
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import scale_colormap, scale_ticks
from viz_transformer.trace import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

#: What `scale=` of the heatmaps takes.
ScaleChoice = str | tuple[float, float] | None

_MOST_DECADES = 6  # of a logarithmic scale, below its end


@dataclass(frozen=True, eq=False)
class ColourScale:
    """What is coloured, and how.

    Attributes:
        values: the weights, or in a scale for each row their shares of its largest.
        norm: from values to 0 to 1; what lies beyond an end has its colour.
        colormap: from there to colours.
        ticks: where the scale has ticks, in values, from its beginning to its end.
        labels: their texts; an end that some weights lie beyond has the sign ≤ or ≥.
        meaning: what a colour stands for.
    """

    values: FloatArray
    norm: Normalize
    colormap: Colormap
    ticks: Sequence[float]
    labels: Sequence[str]
    meaning: str

    def draw(self, ax: Axes, image: AxesImage, *, pad: float, size: float = 10, note: str = "") -> None:
        """Draw the scale beside a picture, in letters of `size` points; the note is on numbers in cells."""
        bar = ax.figure.colorbar(image, ax=[ax], shrink=0.5, aspect=22, pad=pad)
        bar.outline.set_visible(False)
        bar.minorticks_off()
        bar.set_ticks(self.ticks, labels=self.labels, size=size)
        bar.set_label(self.meaning + note, size=size)


def colour_scale(weights: FloatArray, scale: Scale, choice: ScaleChoice) -> ColourScale:
    """Return how weights ``[..., query, key]`` are coloured.

    Args:
        weights: the weights.
        scale: the usual one.
        choice: None for the usual one; ``"row"``, where each row ends at its largest size; ``"log"``, from
            the power of ten below the smallest weight that is not 0; or the limits ``(low, high)``.

    Raises:
        UserError: if it is none of these, or has no place for weights below 0.
    """
    low, high = scale.least, 1.0 if scale.limit is None else scale.limit
    ticks, labels = scale_ticks(scale)
    meaning = scale.meaning
    if isinstance(choice, str) and choice == "row":
        largest = np.abs(weights).max(axis=-1, keepdims=True)  # [..., query, 1]
        weights = np.divide(weights, largest, out=np.zeros(weights.shape, np.float32), where=largest > 0)
        low, high, meaning = (-1.0 if low < 0 else 0.0), 1.0, f"{meaning}\n÷ the largest in its row"
    elif isinstance(choice, str) and choice == "log":
        low, meaning = _beginning(weights, low, high), f"{meaning}, logarithmic"
        powers = range(round(math.log10(low)), math.floor(math.log10(high / 2)) + 1)
        ticks = [*(10.0**power for power in powers), high]
        labels = [power_of_ten(power) if power < -3 else short_number(10.0**power) for power in powers]
        labels.append(short_number(high))
    elif choice is not None:
        low, high = _limits(choice, has_signs=low < 0)
    if choice is not None:
        if choice != "log":
            ticks = [low, (low + high) / 2, high]
            labels = [short_number(at) for at in ticks]
        labels[0] = "≤ " * bool(weights.min() < low) + labels[0]
        labels[-1] = "≥ " * bool(weights.max() > high) + labels[-1]
    norm = (LogNorm if choice == "log" else Normalize)(low, high, clip=True)
    return ColourScale(weights, norm, scale_colormap(scale), ticks, labels, meaning)


def note_on_cells(scale: Scale) -> str:
    """Return what the numbers in cells are multiples of, for the scale's legend; empty if of 1."""
    power = difference_power(scale.limit or 1)
    return f"\n(cells: × {power_of_ten(power)})" if power else ""


def _beginning(weights: FloatArray, low: float, high: float) -> float:
    """Return where a logarithmic scale begins that ends at `high`."""
    if low < 0:
        raise UserError(
            "scale='log' has no place for weights below 0; choose 'row', or limits such as scale=(-0.1, 0.1)"
        )
    above = weights[weights > 0]
    least = max(float(above.min()) if above.size else high, high * 10.0**-_MOST_DECADES)
    power = math.floor(math.log10(least) + 1e-6)  # the float32 of 0.001 is a little less
    return 10.0 ** min(power, math.ceil(math.log10(high)) - 1)


def _limits(choice: Any, *, has_signs: bool) -> tuple[float, float]:
    """Return limits that were given as a pair of numbers."""
    pair = choice if isinstance(choice, tuple | list) and len(choice) == 2 else ()
    found = [finite(each.item() if isinstance(each, np.generic) else each) for each in pair]
    match found:
        case [float(low), float(high)] if low < high and (low == -high or not has_signs):
            return low, high
    choices = (
        "'row' or limits around 0: scale=(-0.2, 0.2)"
        if has_signs
        else "'row', 'log' or limits: scale=(0, 0.2)"
    )
    raise UserError(f"scale={shown(choice)}; choose {choices}")
