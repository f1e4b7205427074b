"""Several heads as one matrix, cells that no head gives weight, large matrices as small ones, and scales."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray, ForwardTrace, attention_of


class Scale(NamedTuple):
    """The scale of colours that all heads of a kind share; without arguments from 0 to 1.

    Attributes:
        limit: of differences and of weights that are not normalised, the size that has the strongest
            colour; brown is below 0 and green above. None for shares.
        least: where it begins: minus `limit`, or 0 where no weight is below 0.
        is_difference: whether it shows a weight in one trace minus that in another.
    """

    limit: float | None = None
    least: float = 0.0
    is_difference: bool = False

    @property
    def is_raw(self) -> bool:
        """Whether it shows weights that are not normalised."""
        return self.limit is not None and not self.is_difference

    @property
    def has_signs(self) -> bool:
        """Whether some weights on it may be below 0."""
        return self.least < 0

    @property
    def meaning(self) -> str:
        """What a colour means, in words."""
        if self.is_difference:
            return "change of weight"
        return "weight (not normalised)" if self.is_raw else "weight"


#: The scale of shares of a whole.
SHARES = Scale()


def scale_of(traces: Sequence[ForwardTrace], kind: str) -> Scale:
    """Return the scale of a kind's weights in a trace, or of the first minus the second of two.

    Weights that are not normalised have no difference to normalised ones: that is refused.
    """
    weights, *others = (attention_of(trace, kind) for trace in traces)  # each [layer, head, query, key]
    if len({trace.normalised for trace in traces}) > 1:
        raise UserError(
            "the weights of one trace are shares of a whole, and those of the other are not normalised "
            "(normalised=False), so their difference means nothing; compare two of one sort"
        )
    if others:
        pairs = zip(weights, others[0], strict=True)
        limit = difference_limit(one.astype(np.float32, copy=False) - other for one, other in pairs)
        return Scale(limit, -limit, is_difference=True)
    if traces[0].normalised:
        return SHARES
    limit = difference_limit(weights)
    return Scale(limit, -limit if weights.min() < 0 else 0.0)


def combine_heads(heads: Iterable[FloatArray], how: str) -> FloatArray:
    """Return several heads as one, ``[query, key]``; they are taken one by one.

    `how` is ``"mean"``, whose rows sum to 1 if those of the heads do; or ``"max"``, the largest weight that
    any head gives, whose rows sum to more. Of differences ``"max"`` is the one that is farthest from 0.
    """
    if how not in ("mean", "max"):
        raise UserError(f"how={how!r} is not a way to combine heads; choose 'mean' or 'max'")
    result: FloatArray | None = None
    count = 0
    for weights in heads:
        count += 1
        if result is None:
            result = np.array(weights, dtype=np.result_type(weights, np.float32))  # half is too coarse
        elif how == "mean":
            result += weights
        else:
            np.copyto(result, weights, where=np.abs(weights) > np.abs(result))
    if result is None:
        raise UserError("no head was given to combine; give at least one")
    return result / np.float32(count) if how == "mean" else result


def strongest(weights: FloatArray, side: int) -> FloatArray:
    """Shrink matrices ``[head, query, key]`` to at most `side` cells a side.

    Each cell is the weight farthest from 0 there, so that a thin line of attention is never averaged away.
    """
    for axis in (1, 2):  # queries first: that reads the weights in their order, and leaves few
        n = weights.shape[axis]
        if n <= side:
            continue
        edges = np.arange(side + 1) * n // side
        parts = [
            weights[:, start:end] if axis == 1 else weights[..., start:end]
            for start, end in itertools.pairwise(edges)
        ]
        weights = np.stack([_farthest(part, axis) for part in parts], axis=axis)
    return weights


def difference_limit(differences: Iterable[FloatArray]) -> float:
    """Return the end of a scale for some differences: their largest size, rounded up to two digits.

    Where no value differs it is 0.01.
    """
    farthest = max(max(float(each.max()), -float(each.min())) for each in differences)
    if not farthest:
        return 0.01
    step = 10.0 ** (math.floor(math.log10(farthest)) - 1)
    return float(f"{math.ceil(farthest / step - 1e-6) * step:.2g}")  # as JavaScript rounds it


def _farthest(weights: FloatArray, axis: int) -> FloatArray:
    most, least = weights.max(axis=axis), weights.min(axis=axis)
    return np.where(most >= -least, most, least)


def masked_cells(trace: ForwardTrace, kind: str) -> NDArray[np.bool_]:
    """Return the cells that no head of any layer gives any weight, bool ``[query, key]``.

    A trace does not carry the model's mask; this is inferred from it. Softmax gives every
    allowed cell more than 0, so a cell that is exactly 0 in *every* head was masked: the future of
    a decoder, the columns of padding, the rows of a query that may attend to nothing. A 0 in one
    head alone proves nothing: a weight can be too small for float32. In a trace of one head, or of
    a few very confident ones, that can still happen in all of them at once.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.masked_cells(trace, "decoder")[0].tolist()  # <sos> sees itself alone
    [False, True, True, True, True]

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or the kind is unknown.
    """
    return unweighted(attention_of(trace, kind))


def unweighted(weights: FloatArray) -> NDArray[np.bool_]:
    """Return where all heads of ``[layer, head, query, key]`` are exactly 0, bool ``[query, key]``."""
    heads = weights.reshape(-1, *weights.shape[-2:])  # [layer · head, query, key]
    return (heads.max(axis=0) == 0) & (heads.min(axis=0) == 0)
