"""Colour scales of weights, the same as in the interactive views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from viz_transformer._numbers import difference_number
from viz_transformer._shared import SHARED
from viz_transformer.analysis.combine import Scale

if TYPE_CHECKING:
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
    """Return the scale of what a change has moved, from nothing."""
    return LinearSegmentedColormap.from_list("change", [COLOURS["page"], COLOURS["you"]])


def signed_colormap(theme: str = "light") -> LinearSegmentedColormap:
    """Return the scale for numbers that may be negative; 0 is in its middle."""
    return LinearSegmentedColormap.from_list(f"signed_{theme}", SIGNED[theme])


def scale_colormap(scale: Scale) -> LinearSegmentedColormap:
    """Return the colours of a scale; where nothing on it is below 0, the green half of those with signs."""
    if scale.limit is None:
        return weight_colormap()
    if scale.has_signs:
        return signed_colormap()
    return LinearSegmentedColormap.from_list("positive_light", SIGNED["light"][len(SIGNED["light"]) // 2 :])


def scale_ticks(scale: Scale) -> tuple[list[float], list[str]]:
    """Return where a scale has ticks, its ends and its middle, and their labels."""
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
