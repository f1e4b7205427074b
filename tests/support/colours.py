"""Colours as eyes see them: contrast, lightness, and what is left of them where a kind of cone is missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: From linear red, green and blue to what a person sees who lacks one kind of cone (Machado et al. 2009).
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# OKLab (Ottosson 2020): from linear colour to cones, and from their cube roots to lightness and two hues.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> Floats:
    """Return the linear red, green and blue of a colour such as ``"#1d1a6e"``, each 0 to 1."""
    channels = np.array([*bytes.fromhex(colour[1:])]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2)."""
    bright = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def oklab(colour: str, vision: str = "usual") -> Floats:
    """Return the lightness, 0 to 1, and the two hues of a colour, as a person sees it."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    return _LAB @ np.cbrt(_CONES @ seen)


def apart(one: str, other: str, vision: str = "usual") -> float:
    """Return how far two colours are apart in OKLab; 0.02 is just seen where they touch."""
    return float(np.linalg.norm(oklab(one, vision) - oklab(other, vision)))
