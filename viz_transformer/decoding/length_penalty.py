"""Length penalties: what a log-probability is divided by, so that long and short texts compare."""

from __future__ import annotations

from collections.abc import Callable

#: A larger exponent only makes longer always better, and soon no float holds the norm.
MOST_PENALTY = 100
#: The number that a log-probability is divided by: (length with ``<eos>``, length_penalty) → norm.
LengthNorm = Callable[[int, float], float]


def length_norm(length: int, length_penalty: float) -> float:
    """Return what a log-probability is divided by: ((5 + length) / 6) ** length_penalty.

    Source: Wu et al. 2016, section 7, equation 14; `length` counts ``<eos>``.
    """
    return ((5 + length) / 6) ** length_penalty


def power_norm(length: int, length_penalty: float) -> float:
    """Return length ** length_penalty: the norm of Hugging Face's ``generate``.

    With a penalty of 1 the score is the mean log-probability of a token. `length` counts ``<eos>``.
    """
    return float(length) ** length_penalty
