"""Colours of weights, the same as in the interactive views, and the scales of a heatmap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from numpy.typing import NDArray

from viz_transformer._numbers import difference_number, difference_power, finite, power_of_ten, short_number
from viz_transformer._shared import SHARED
from viz_transformer._text import shown
from viz_transformer.analysis.combine import Scale
from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

#: Nine stops of equal steps in lightness (OKLab): equal differences of weight look equal, in
#: colour and in grey.
STOPS: dict[str, list[str]] = SHARED["weights"]

#: Nine stops for what may be negative: brown below 0, green above.
SIGNED: dict[str, list[str]] = SHARED["signed"]


#: The colours by role, as they are on white.
COLOURS: dict[str, str] = {role: named[0] for role, named in SHARED["colours"].items()}


def weight_colormap(theme: str = "light") -> LinearSegmentedColormap:
    """Return the scale from weight 0 to 1; `theme` is ``"light"`` or ``"dark"``."""
    return LinearSegmentedColormap.from_list(f"attention_{theme}", STOPS[theme])


def word_colormap() -> LinearSegmentedColormap:
    """Return the scale of a word's probability, from 0 to 1."""
    roles = ("page", "word-tint", "word-half", "query")
    return LinearSegmentedColormap.from_list("word", [COLOURS[role] for role in roles])


def change_colormap() -> LinearSegmentedColormap:
    """Return the scale of how far a change has moved something, from 0."""
    return LinearSegmentedColormap.from_list("change", [COLOURS["page"], COLOURS["you"]])


def signed_colormap(theme: str = "light") -> LinearSegmentedColormap:
    """Return the scale for numbers that may be negative; 0 is in its middle."""
    return LinearSegmentedColormap.from_list(f"signed_{theme}", SIGNED[theme])


def scale_colormap(scale: Scale) -> LinearSegmentedColormap:
    """Return the colours of a scale; where no weight is below 0, the green half of those with signs."""
    if scale.limit is None:
        return weight_colormap()
    if scale.has_signs:
        return signed_colormap()
    return LinearSegmentedColormap.from_list("positive_light", SIGNED["light"][len(SIGNED["light"]) // 2 :])


def scale_ticks(scale: Scale) -> tuple[list[float], list[str]]:
    """Return where a scale has ticks, at its ends and its middle, and their labels."""
    end = 1.0 if scale.limit is None else scale.limit
    places = [scale.least, (scale.least + end) / 2, end]
    if scale.limit is None:
        return places, [f"{at:g}" for at in places]
    return places, [difference_number(at, end, signed=scale.has_signs) for at in places]


def ink_on(rgb: Sequence[float] | NDArray[np.floating]) -> str:
    """Return black or white, whichever reads better on a colour (WCAG 2 relative luminance).

    At a luminance of 0.179 both have a contrast of 4.58, so no colour leaves less than that.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000" if luminance > 0.179 else "#fff"


def ink_in(image: AxesImage, value: float) -> str:
    """Return black or white, whichever reads better on the colour that an image gives a value."""
    return ink_on(image.to_rgba(np.asarray(value))[:3])


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
        labels: of the ticks; an end that some weights lie beyond has the sign ≤ or ≥.
        meaning: what a colour means.
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
    """Return how weights ``[..., query, key]`` are coloured, on their usual scale or on another choice.

    The choice is None for the usual one; ``"row"``, where each row ends at its largest size; ``"log"``, from
    the power of ten below the smallest weight that is not 0; or the limits ``(low, high)``. Anything else
    is refused, and so is a scale that has no place for weights below 0.
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
