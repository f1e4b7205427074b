"""Length penalties: what a log-probability is divided by, so that long and short texts compare."""

from __future__ import annotations

from collections.abc import Callable

from viz_transformer._shared import SHARED

#: A larger exponent only makes longer always better, and soon no float holds the norm.
MOST_PENALTY: int = SHARED["limits"]["length_penalty"]
#: The number that a log-probability is divided by: (length with ``<eos>``, length_penalty) → norm.
LengthNorm = Callable[[int, float], float]


def length_norm(length: int, length_penalty: float) -> float:
    """Return what a log-probability is divided by: ((5 + length) / 6) ** length_penalty.

    >>> from viz_transformer.decoding import length_norm
    >>> length_norm(7, length_penalty=1.0)
    2.0

    Args:
        length: of the text, in tokens.
        length_penalty: 0 favours short texts; larger values favour longer ones.

    Source: Wu et al. 2016, section 7, equation 14; `length` counts ``<eos>``.
    """
    return ((5 + length) / 6) ** length_penalty


def power_norm(length: int, length_penalty: float) -> float:
    """Return length ** length_penalty: the norm of Hugging Face's ``generate``.

    With a penalty of 1 the score is the mean log-probability of a token. `length` counts ``<eos>``.

    >>> from viz_transformer.decoding import power_norm
    >>> power_norm(9, length_penalty=0.5)
    3.0

    Args:
        length: of the text, in tokens.
        length_penalty: 0 favours short texts; larger values favour longer ones.
    """
    return float(length) ** length_penalty
