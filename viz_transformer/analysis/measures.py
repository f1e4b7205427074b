"""Measures of attention per row, per head and over a training: entropy, distance, norm-weighted attention.

A measure of weights ``[..., query, key]`` gives one number per row; of a trace it gives the mean over each
head's rows, ``[layer, head]``. A row of zeros, a query that may attend to nothing, counts in no mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, Snapshot, TrainingTrace, attention_of, shares_of

Float64 = NDArray[np.float64]

#: How far from 1 a row may sum: float16 and a few hundred keys stay well within it.
_ROW_TOLERANCE = 0.01


def as_weights(weights: ArrayLike) -> Float64:
    """Return weights as float64 ``[..., query, key]``; what is no share of attention is refused."""
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise UserError(
            f"weights have shape {list(array.shape)}, but attention is [..., query, key]; give "
            "trace.attention(kind), or one head of it"
        )
    # Written so that NaN, for which no comparison holds, is refused too.
    if not ((array >= 0).all() and (array.sum(axis=-1) <= 1 + _ROW_TOLERANCE).all()):
        raise UserError(
            f"weights from {array.min():.3g} to {array.max():.3g} are not attention weights: each is 0 or "
            "more and a row sums to 1; give the weights after the softmax, not the scores"
        )
    return array


def reachable_keys(weights: NDArray[np.floating], kind: str) -> NDArray[np.int64]:
    """Return how many keys each query of weights ``[..., query, key]`` may attend to, int ``[query]``.

    A decoder's query reaches itself and the past, unless some weight lies on the future: then the
    decoder was run without its causal mask. Every other query reaches all keys.
    """
    n_queries, n_keys = weights.shape[-2:]
    largest = weights.reshape(-1, n_queries, n_keys).max(axis=0)  # [query, key], of all heads
    if kind == "decoder" and not np.triu(largest, 1).any():
        return np.arange(1, n_queries + 1)  # [query]
    return np.full(n_queries, n_keys)  # [query]


def mean_over(values: Float64, rows: NDArray[np.bool_]) -> Float64:
    """Return the mean over the last axis of the chosen values ``[..., query]``; NaN where none is chosen."""
    rows = np.broadcast_to(rows, values.shape)
    n_rows = rows.sum(axis=-1)
    total = np.where(rows, values, 0.0).sum(axis=-1)
    return np.divide(total, n_rows, out=np.full(total.shape, np.nan), where=n_rows > 0)


def attending(weights: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which queries attend to anything, bool ``[..., query]``."""
    return np.asarray(weights.any(axis=-1))


def entropy_bits(weights: ArrayLike) -> Float64:
    """Return the entropy of each query's attention: H = −Σ w log₂ w, in bits.

    0 for a query that attends to one key alone, log₂ n for one that spreads evenly over n keys; 2^H
    reads as "about so many keys". A row is first scaled to sum to exactly 1; a row of zeros has 0.

    >>> import viz_transformer as vt
    >>> vt.analysis.entropy_bits([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]]).tolist()
    [1.0, 2.0]

    Args:
        weights: ``[..., query, key]``.

    Returns:
        float64 ``[..., query]``.

    Raises:
        UserError: if these are no attention weights.

    Source: Shannon 1948, section 6; on attention: Ghader & Monz 2017.
    """
    array = as_weights(weights)
    total = array.sum(axis=-1, keepdims=True)
    p = array / np.where(total > 0, total, 1)  # [..., query, key]
    # A sum of products without the products: a large trace has a hundred million of them.
    return -np.einsum("...k,...k->...", p, np.log2(np.where(p > 0, p, 1)))  # [..., query]


def mean_distance(weights: ArrayLike) -> Float64:
    """Return the mean distance of each query's attention: Σ w |query − key|, in positions.

    >>> import viz_transformer as vt
    >>> vt.analysis.mean_distance([[1.0, 0.0], [0.25, 0.75]]).tolist()
    [0.0, 0.25]

    Args:
        weights: self-attention, ``[..., position, position]``.

    Returns:
        float64 ``[..., position]``.

    Raises:
        UserError: if these are no attention weights, or query and key differ in number.

    Source: Vig & Belinkov 2019, "Analyzing the Structure of Attention".
    """
    array = as_weights(weights)
    n_queries, n_keys = array.shape[-2:]
    if n_queries != n_keys:
        raise UserError(
            f"weights have {n_queries} queries and {n_keys} keys, but a distance needs both in "
            "one sentence; give self-attention, encoder or decoder"
        )
    positions = np.arange(n_keys)
    return (array * np.abs(positions[:, None] - positions)).sum(axis=-1)  # [..., position]


def head_entropy_bits(trace: ForwardTrace, kind: str) -> Float64:
    """Return the mean of `entropy_bits` over each head's rows, in bits, ``[layer, head]``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.head_entropy_bits(trace, "cross").shape  # [layer, head]
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.
    """
    return _by_head(trace, kind, lambda head: mean_over(entropy_bits(head), attending(head)))


def head_entropy_share(trace: ForwardTrace, kind: str) -> Float64:
    """Return the entropy of each head as a share of its maximum, ``[layer, head]``.

    The most a query can have is log₂ of the keys that it may attend to. So 0 is one key a row and
    1 is uniform, whatever the sentence's length. A query with one key has no choice (the first of
    a decoder) and does not count; a head with no other is NaN.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> shares = vt.analysis.head_entropy_share(trace, "cross")
    >>> shares.shape, bool(shares.max() <= 1)
    ((2, 4), True)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.
    """
    reachable = reachable_keys(shares_of(trace, kind), kind)  # [query]
    return _by_head(trace, kind, lambda head: entropy_share(entropy_bits(head), attending(head), reachable))


def entropy_share(bits: Float64, attends: NDArray[np.bool_], reachable: NDArray[np.int64]) -> Float64:
    """Return the mean entropy of each head's rows as a share of its maximum; NaN where no row has a choice.

    Bits and which rows attend are ``[..., query]``, and the numbers of reachable keys ``[query]``.
    """
    most = np.log2(np.maximum(reachable, 2))  # [query], in bits
    return mean_over(bits / most, attends & (reachable > 1))


def head_mean_distance(trace: ForwardTrace, kind: str) -> Float64:
    """Return the mean of `mean_distance` over each head's rows, in positions, ``[layer, head]``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.head_mean_distance(trace, "encoder").shape
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"`` or ``"decoder"``.

    Raises:
        UserError: if the kind is cross (two sentences have no common positions), the trace lacks
            it, or holds no attention weights there.
    """
    shares_of(trace, kind)
    if kind == "cross":
        raise UserError(
            "cross attention has its queries in one sentence and its keys in another, so there "
            "is no distance between them; choose 'encoder' or 'decoder'"
        )
    return _by_head(trace, kind, lambda head: mean_over(mean_distance(head), attending(head)))


def _by_head(trace: ForwardTrace, kind: str, measure: Callable[[Float64], Float64]) -> Float64:
    """Return a number for each head, ``[layer, head]``."""
    # One by one: float64 of all at once could fill the memory.
    weights = shares_of(trace, kind)  # [layer, head, query, key]
    return np.array([[measure(as_weights(head)) for head in layer] for layer in weights])


def norm_weighted(weights: ArrayLike, value_norms: ArrayLike) -> Float64:
    """Return the length of what each key really adds: ‖α v‖ = α ‖v‖.

    A large weight on a short value moves little: that is how a head can attend to ``<eos>`` or a
    full stop and do nothing. A trace holds no values, so their lengths are given here.

    >>> import viz_transformer as vt
    >>> vt.analysis.norm_weighted([[0.5, 0.5]], [1.0, 4.0]).tolist()
    [[0.5, 2.0]]

    Args:
        weights: α, ``[..., query, key]``, such as ``[layer, head, query, key]``.
        value_norms: ``[..., key]``, such as ``[layer, head, key]``: the length of each key's value
            after its head's part of W^O, ‖(x W^V + b^V) W^O‖, in the units of the residual stream.

    Returns:
        float64 ``[..., query, key]`` in the units of `value_norms`; rows do not sum to 1.

    Raises:
        UserError: if these are no weights, a norm is negative, or the shapes do not fit.

    Source: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.
    """
    array = as_weights(weights)
    norms = np.asarray(value_norms, dtype=np.float64)
    wanted = (*array.shape[:-2], array.shape[-1])
    if norms.shape != wanted:
        raise UserError(
            f"value_norms has shape {list(norms.shape)}, but weights {list(array.shape)} ask for "
            f"{list(wanted)}: one length per key, in every layer and head"
        )
    if not (norms >= 0).all():
        raise UserError(
            f"value_norms holds {norms.min():.3g}, but a length is 0 or more; give "
            "np.linalg.norm(values, axis=-1)"
        )
    return array * norms[..., None, :]  # [..., query, key]


def entropy_share_over_training(trace: TrainingTrace, sentence: int, kind: str) -> Float64:
    """Return `head_entropy_share` at every moment, ``[moment, layer, head]``.

    1 is a head that spreads evenly, as before training; 0 one that picks a single key.

    >>> import viz_transformer as vt
    >>> training = vt.load_training("en-es")
    >>> vt.analysis.entropy_share_over_training(training, 0, "cross").shape[1:]
    (2, 4)

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if there is no such sentence or attention.
    """
    return _shares(trace, trace.moments, sentence, kind)


def most_sharpened(trace: TrainingTrace, sentence: int, kind: str) -> tuple[int, int]:
    """Return the layer and head whose entropy fell most from the first moment to the last.

    Arguments and errors are those of `entropy_share_over_training`.

    >>> import viz_transformer as vt
    >>> training = vt.load_training("en-es")
    >>> layer, head = vt.analysis.most_sharpened(training, 0, "cross")
    >>> 0 <= layer < 2, 0 <= head < 4
    (True, True)

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
    """
    first, last = _shares(trace, (trace.moments[0], trace.moments[-1]), sentence, kind)
    fall = np.nan_to_num(first - last, nan=-np.inf)  # [layer, head]
    layer, head = np.unravel_index(int(fall.argmax()), fall.shape)
    return int(layer), int(head)


def _shares(trace: TrainingTrace, moments: Sequence[Snapshot], sentence: int, kind: str) -> Float64:
    if not isinstance(sentence, int | np.integer) or not 0 <= sentence < len(trace.sources):
        raise UserError(
            f"sentence={shown(sentence)}, but the training was watched on {len(trace.sources)}; "
            f"choose 0 to {len(trace.sources) - 1}"
        )
    # All heads of a moment at once: one by one, as of a long text, a small training took seconds.
    every = (attention_of(moment.traces[sentence], kind) for moment in moments)
    return np.stack(
        [entropy_share(entropy_bits(heads), attending(heads), reachable_keys(heads, kind)) for heads in every]
    )  # [moment, layer, head]
