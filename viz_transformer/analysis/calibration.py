"""Calibration: whether what is predicted with a probability of 0.7 comes true in 70 of 100 cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._bounds import COLUMNS, whole_number
from viz_transformer.errors import UserError


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of equal width, each with what became of them.

    >>> import viz_transformer as vt
    >>> bins = vt.analysis.reliability([0.25, 0.75], [False, True], n_bins=2)
    >>> bins.counts.tolist(), bins.predicted.tolist(), bins.observed.tolist()
    ([1, 1], [0.25, 0.75], [0.0, 1.0])

    Attributes:
        edges: of the bins, from 0 to 1 [bin + 1].
        counts: predictions in each bin [bin].
        weights: the share of the whole weight in each bin [bin]; they sum to 1.
        predicted: the mean predicted probability [bin]; NaN in an empty bin.
        observed: the share that came true, or the mean true probability [bin]; NaN likewise.
        error: the expected calibration error: how far `predicted` is from `observed`, mean over
            the bins by their weight.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    error: float


def reliability(
    predicted: ArrayLike,
    happened: ArrayLike | None = None,
    *,
    expected: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
) -> Reliability:
    """Compare predicted probabilities with what happened, bin by bin.

    >>> import viz_transformer as vt
    >>> vt.analysis.reliability([0.25, 0.75], [False, True], n_bins=2).error
    0.25

    Args:
        predicted: probabilities, in any shape.
        happened: for each, whether it came true, as bool or as 0 and 1.
        expected: in its place, the true probability of each, where that is known.
        weights: how much each counts, at least 0; by default all alike.
        n_bins: bins of equal width between 0 and 1. A probability on an edge counts above it, 1 in
            the last bin.

    Raises:
        UserError: if the arrays differ in shape, are empty, or hold numbers out of range, or
            neither or both of `happened` and `expected` are given.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2.
    """
    if (happened is None) == (expected is None):
        raise UserError("give either happened, 0 or 1 for each prediction, or expected, its true probability")
    whole_number("n_bins", n_bins, COLUMNS)
    told = _probabilities("predicted", predicted)
    name, outcomes = ("happened", happened) if happened is not None else ("expected", expected)
    true = _probabilities(name, outcomes)
    counted = np.ones_like(told) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if happened is not None and not np.isin(true, (0, 1)).all():
        raise UserError("happened must hold 0 and 1; give true probabilities as expected")
    if not len(told) == len(true) == len(counted) or not len(told):
        raise UserError(
            f"there are {len(told)} predictions, {len(true)} outcomes and {len(counted)} weights; "
            "give the same number of each, and at least one"
        )
    if not (counted >= 0).all() or not 0 < counted.sum() < np.inf:
        raise UserError("weights must be finite numbers of at least 0, and not all 0")
    edges = np.linspace(0, 1, n_bins + 1)  # [bin + 1]
    bins = np.clip(np.searchsorted(edges, told, side="right") - 1, 0, n_bins - 1)  # [prediction]
    in_bin = np.bincount(bins, counted, n_bins)  # [bin]
    means = [
        np.divide(np.bincount(bins, counted * each, n_bins), in_bin, out=nan, where=in_bin > 0)
        for each, nan in ((told, np.full(n_bins, np.nan)), (true, np.full(n_bins, np.nan)))
    ]
    shares = in_bin / in_bin.sum()  # [bin]
    error = float(np.nansum(shares * np.abs(means[0] - means[1])))
    return Reliability(edges, np.bincount(bins, minlength=n_bins), shares, means[0], means[1], error)


def _probabilities(name: str, values: ArrayLike | None) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not ((array >= 0) & (array <= 1)).all():  # NaN is refused too
        raise UserError(f"{name} holds numbers that are not probabilities; give numbers from 0 to 1")
    return array
