"""What a model adds to its scores for positions, and the attention without it, or by it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.patches import patches_of
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, shares_of

#: How far the values of one distance may lie apart, of the largest: Falcon rounds by up to 0.4%, in bfloat16.
_ROUNDED = 0.01
#: A weight of less than this in every head of a layer is that of a masked key.
_CLOSED = 1e-30


def bias_by_distance(
    trace: ForwardTrace, kind: str, layer: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return what each head adds to its scores at each distance from query to key.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> bias = np.array([[[[0.0, -1.0], [-1.0, 0.0]]]], dtype=np.float32)  # one layer, one head
    >>> words, look = ["the", "cat"], np.full((1, 1, 2, 2), 0.5)
    >>> trace = vt.ForwardTrace(source_tokens=words, encoder_attention=look, encoder_position_bias=bias)
    >>> distances, biases = vt.analysis.bias_by_distance(trace, "encoder")
    >>> distances.tolist(), biases.tolist()
    ([-1, 0, 1], [[-1.0, 0.0, -1.0]])

    Args:
        trace: of a model with relative biases, such as T5, or with ALiBi, such as Bloom.
        kind: ``"encoder"`` or ``"decoder"``.
        layer: the index of the layer; of biases that all layers share, any.

    Returns:
        the distances, key − query, in positions [distance]: a decoder's end at 0, because no query
        attends to a later key; and the biases [head, distance], in the scores' unit.

    Raises:
        UserError: if the trace holds no such bias or layer, or it is no matter of distance alone.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1.
    """
    bias = _bias_of_layer(trace, kind, layer)
    n = bias.shape[-1]
    distances = np.arange(1 - n, n if kind == "encoder" else 1)
    found = _of_distances(bias, distances)
    if found is None:  # what is added to a whole row changes no weight: each row counts from its diagonal
        found = _of_distances(bias - np.diagonal(bias, axis1=1, axis2=2)[..., None], distances)
    if found is None:
        raise UserError(
            f"the {kind}'s bias differs between pairs of one distance, so it is no matter of distances in "
            "a row; of a picture, give its rows and columns of patches: grid=(14, 14)"
        )
    return distances, found


def _of_distances(bias: NDArray[np.float32], distances: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return the value of each distance [head, distance], or None if a distance has several."""
    diagonals = [np.diagonal(bias, distance, axis1=1, axis2=2) for distance in distances]
    if max(np.ptp(diagonal, axis=1).max() for diagonal in diagonals) > _ROUNDED * np.abs(bias).max() + 1e-6:
        return None
    return np.stack([np.median(diagonal, axis=1) for diagonal in diagonals], axis=1).astype(np.float32)


def bias_by_offset(
    trace: ForwardTrace, kind: str, grid: Sequence[int], layer: int = 0
) -> NDArray[np.float32]:
    """Return what each head adds to its scores at each offset between two patches of a picture.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> bias = np.array([[[[0.0, -1.0], [-1.0, 0.0]]]], dtype=np.float32)  # one layer, one head
    >>> words, look = ["left", "right"], np.full((1, 1, 2, 2), 0.5)
    >>> trace = vt.ForwardTrace(source_tokens=words, encoder_attention=look, encoder_position_bias=bias)
    >>> vt.analysis.bias_by_offset(trace, "encoder", grid=(1, 2)).tolist()
    [[[-1.0, 0.0, -1.0]]]

    Args:
        trace: of a vision model with relative biases, such as Swin or BEiT.
        kind: ``"encoder"`` or ``"decoder"``.
        grid: the rows and columns of patches, and where they begin unless all positions are patches or a
            class token is first: see `find_patches`. Other positions are left out.
        layer: the index of the layer; of biases that all layers share, any.

    Returns:
        float32 [head, down, right], in the scores' unit: with the grid's rows and columns, ``[:, rows - 1,
        columns - 1]`` is a patch's bias for itself, and ``[:, rows, columns - 1]`` that for the patch below
        it. NaN where no patch attends to one at that offset, as between windows.

    Raises:
        UserError: if the trace holds no such bias or layer, the grid does not fit its positions, or the
            bias is no matter of offsets alone.

    Source: Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    bias = _bias_of_layer(trace, kind, layer)
    rows, columns, start = patches_of(trace, kind, grid)
    n = rows * columns
    patches = slice(start, start + n)
    weights = trace.attention(kind)
    attended = np.ones((n, n), dtype=np.bool_)
    if weights is not None:
        attended = ~_closed(weights[layer : layer + 1])[0, 0, patches, patches]
    row, column = np.divmod(np.arange(n), columns)
    down, right = row - row[:, None] + rows - 1, column - column[:, None] + columns - 1  # [query, key]
    offset = (down * (2 * columns - 1) + right)[attended]  # [pair]
    values = bias[:, patches, patches][:, attended]  # [head, pair]
    least, most = (np.full((len(bias), 2 * rows - 1, 2 * columns - 1), end) for end in (np.inf, -np.inf))
    for head, of_head in enumerate(values):
        np.minimum.at(least[head].reshape(-1), offset, of_head)
        np.maximum.at(most[head].reshape(-1), offset, of_head)
    known = np.isfinite(least)
    if (most[known] - least[known]).max(initial=0) > _ROUNDED * np.abs(values).max(initial=0) + 1e-6:
        raise UserError(
            f"the {kind}'s bias differs between pairs of one offset in a picture of {rows} by {columns} "
            "patches; check grid=, or look at it as it is: trace.position_bias(kind)"
        )
    return np.where(known, least, np.nan).astype(np.float32)


def without_position_bias(trace: ForwardTrace) -> ForwardTrace:
    """Return the trace of the same scores without what was added for relative positions.

    With s the scores of content and b the bias, a row of attention is softmax(s + b). So its weights
    divided by exp(b), and scaled to a sum of 1, are softmax(s): where the head would look by content
    alone, in this layer, everything else the same. Masked keys stay at 0.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> bias = np.array([[[[0.0, -1.0], [-1.0, 0.0]]]], dtype=np.float32)  # one layer, one head
    >>> words, look = ["the", "cat"], np.full((1, 1, 2, 2), 0.5)
    >>> trace = vt.ForwardTrace(source_tokens=words, encoder_attention=look, encoder_position_bias=bias)
    >>> vt.analysis.without_position_bias(trace).encoder_attention[0, 0].round(2)
    array([[0.27, 0.73],
           [0.73, 0.27]], dtype=float32)

    Args:
        trace: of a model with relative biases, such as T5. Kinds without stay as they are.

    Returns:
        A trace with the same labels and no bias. A weight too small for its number type (below
        1e-38 in float32) is 0 and stays so.

    Raises:
        UserError: if the trace holds no bias.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1.
    """

    def without(weights: FloatArray, bias: FloatArray) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.log(weights, dtype=np.float64) - bias  # -inf where masked

    return _with_scores(trace, without)


def position_bias_alone(trace: ForwardTrace) -> ForwardTrace:
    """Return the trace of what is added for positions alone: softmax(b), where content says nothing.

    With `without_position_bias`, it takes each head apart: where would it look by positions alone, and
    where by content alone? Masked keys (those that no head of the layer gives any weight) stay at 0.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> bias = np.array([[[[0.0, -1.0], [-1.0, 0.0]]]], dtype=np.float32)  # one layer, one head
    >>> words, look = ["the", "cat"], np.full((1, 1, 2, 2), 0.5)
    >>> trace = vt.ForwardTrace(source_tokens=words, encoder_attention=look, encoder_position_bias=bias)
    >>> vt.analysis.position_bias_alone(trace).encoder_attention[0, 0].round(2)
    array([[0.73, 0.27],
           [0.27, 0.73]], dtype=float32)

    Args:
        trace: of a model with such biases. Kinds without stay as they are.

    Returns:
        A trace with the same labels and no bias.

    Raises:
        UserError: if the trace holds no bias.

    Source: Press et al. 2022, *Train Short, Test Long* (ALiBi), section 3.
    """

    def alone(weights: FloatArray, bias: FloatArray) -> NDArray[np.float64]:
        return np.where(_closed(weights), -np.inf, np.broadcast_to(bias, weights.shape))

    return _with_scores(trace, alone)


def _closed(weights: FloatArray) -> NDArray[np.bool_]:
    """Return which cells a layer's mask closed, [layer, 1, query, key], as its weights show it.

    Swin's mask leaves e to the power of −100, and its layers have masks of their own.
    """
    return weights.max(axis=1, keepdims=True) < _CLOSED


def _with_scores(
    trace: ForwardTrace, scores_of: Callable[[FloatArray, FloatArray], NDArray[np.float64]]
) -> ForwardTrace:
    """Return the trace whose kinds with a bias attend by the softmax of other scores.

    `scores_of` makes them of weights and bias, each [layer, head, query, key].
    """
    changes: dict[str, Any] = {}
    for kind in trace.kinds:
        weights, bias = shares_of(trace, kind), trace.position_bias(kind)
        if bias is None:
            continue
        scores = scores_of(weights, bias)
        highest = scores.max(axis=-1, keepdims=True)
        shares = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
        sums = shares.sum(axis=-1, keepdims=True)
        changes[KINDS[kind].field] = (shares / np.where(sums > 0, sums, 1)).astype(weights.dtype)
        changes[f"{kind}_position_bias"] = None
    if not changes:
        _bias_of(trace, "encoder")
    return replace(trace, **changes)


def _bias_of_layer(trace: ForwardTrace, kind: str, layer: int) -> NDArray[np.float32]:
    """Return the bias of one layer, [head, query, key]."""
    given = _bias_of(trace, kind)
    if not 0 <= layer < max(len(given), len(trace.layer_numbers(kind)) if kind in trace.kinds else 1):
        raise UserError(f"layer={layer}, but the trace has {len(trace.layer_numbers(kind))}; count from 0")
    return given[min(layer, len(given) - 1)]


def _bias_of(trace: ForwardTrace, kind: str) -> NDArray[np.float32]:
    bias = trace.position_bias(kind)
    if bias is None:
        held = [each for each in KINDS if trace.position_bias(each) is not None]
        raise UserError(
            f"the trace holds no {kind} position bias; "
            + (
                f"it has {held}, so choose one of these"
                if held
                else "its model adds none apart from content (rotary and learned positions are "
                "in the queries and keys); capture one that does, such as T5, Bloom or Swin"
            )
        )
    return bias
