"""Attention rollout: which input words a position's vector is made of, after several layers.

One layer's weights say which *vectors* a position gathered, and those are mixtures themselves. In
rollout each layer is a matrix that mixes positions, half by attention and half by the residual
connection around it, and the layers' matrices are multiplied. Values, norms and the feed-forward
network are ignored, so it is a rough map of where information can flow, not of what flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.measures import Float64, as_weights
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, shares_of


class OutputRollout(NamedTuple):
    """Where the decoder's vectors come from, after each decoder layer.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> rollout = vt.analysis.output_rollout(trace)
    >>> rollout.source.shape, rollout.target.shape
    ((2, 5, 5), (2, 5, 5))

    Attributes:
        source: ``[layer, target, source]``, the shares from the words that the encoder read.
        target: ``[layer, target, target]``, the shares from the words that the decoder read.

    The two rows of a position, side by side, sum to 1.
    """

    source: Float64
    target: Float64


def rollout(trace: ForwardTrace, kind: str, residual: float = 0.5) -> Float64:
    """Return what each position is made of after each layer of a self-attention stack.

    With A the mean of a layer's heads, a layer mixes by residual · I + (1 − residual) · A, and the
    rollout of layer n is the product of the first n of these.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.rollout(trace, "encoder").shape  # [layer, position, input position]
    (2, 5, 5)

    Args:
        trace: the trace.
        kind: ``"encoder"`` or ``"decoder"``. In an encoder–decoder the decoder's
            cross-attention is left out; `output_rollout` has both.
        residual: share of the residual connection, from 0 (attention alone) up to but not 1.

    Returns:
        float64 ``[layer, position, input position]``; each row sums to 1. The last layer is the
        whole stack.

    Raises:
        UserError: if the kind is cross, the trace lacks it or a part of it (see `lacking_part`), or
            `residual` is out of range.

    Source: Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
    """
    if kind == "cross":
        raise UserError(
            "cross attention leads from one sentence to another and cannot be multiplied with "
            "itself; choose 'encoder' or 'decoder', or call output_rollout(trace)"
        )
    return np.stack([*rollout_by_layer(trace, kind, residual)])


def rollout_by_layer(trace: ForwardTrace, kind: str, residual: float = 0.5) -> Iterator[Float64]:
    """Yield what `rollout` returns layer by layer: all of them together may not fit the memory.

    Of ``"cross"``, the source words of `output_rollout`.
    """
    if kind == "cross":
        yield from (source for source, _ in _output_by_layer(trace, residual))
        return
    _check_whole(trace, [kind])
    yield from _stack_rollout(_mean_heads(trace, kind), _checked(residual))


def output_rollout(trace: ForwardTrace, residual: float = 0.5) -> OutputRollout:
    """Return which source and target words each written word is made of.

    A decoder layer mixes twice: by self-attention over the target, then by cross-attention, which
    brings in what each memory vector is made of by the encoder's own rollout. Both leave the
    share `residual` as it was.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> rollout = vt.analysis.output_rollout(trace)
    >>> rows = rollout.source.sum(-1) + rollout.target.sum(-1)
    >>> bool(abs(rows - 1).max() < 1e-5)
    True

    Args:
        trace: a trace with all three kinds.
        residual: as in `rollout`.

    Raises:
        UserError: if the trace lacks a kind or a part of one, or `residual` is out of range.

    Source: Abnar & Zuidema 2020, section 3, carried through the cross-attention as Ferrando et
    al. 2022 do for their own measure ("Towards Opening the Black Box of Neural Machine
    Translation").
    """
    sources, targets = zip(*_output_by_layer(trace, residual), strict=True)
    return OutputRollout(np.stack(sources), np.stack(targets))


def _output_by_layer(trace: ForwardTrace, residual: float) -> Iterator[tuple[Float64, Float64]]:
    """Yield of each layer which source and target words each written word is made of."""
    residual = _checked(residual)
    _check_whole(trace, KINDS)
    n_own, n_cross = (len(shares_of(trace, kind)) for kind in ("decoder", "cross"))
    if n_own != n_cross:
        raise UserError(
            f"the trace has {n_own} layers of decoder attention and "
            f"{n_cross} of cross attention; rollout needs both of every layer"
        )
    *_, memory = _stack_rollout(_mean_heads(trace, "encoder"), residual)  # [source, source]
    target = np.eye(shares_of(trace, "decoder").shape[-1])  # [target, target]
    source = np.zeros(shares_of(trace, "cross").shape[2:])  # [target, source]
    for own, cross in zip(_mean_heads(trace, "decoder"), _mean_heads(trace, "cross"), strict=True):
        mixing = _mixing(own, residual)  # [target, target]
        # What cross-attention does not bring in (all of it, for a row of zeros) stays as it was.
        brought = (1 - residual) * cross  # [target, source]
        kept = 1 - brought.sum(axis=-1, keepdims=True)  # [target, 1]
        source = kept * (mixing @ source) + brought @ memory  # [target, source]
        target = kept * (mixing @ target)  # [target, target]
        yield source, target


def without_first_token(weights: ArrayLike) -> Float64:
    """Return what weights, means or rollouts give to all keys but the first, each row scaled to sum to 1.

    Many models put nearly all weight on the first token where no key matters, and a
    rollout through many layers ends there: what distinguishes the words is in the small rest.

    >>> import numpy as np
    >>> from viz_transformer.analysis import without_first_token
    >>> without_first_token([[1.0, 0.0, 0.0], [0.96, 0.01, 0.03]]).round(2).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.25, 0.75]]

    Args:
        weights: [..., query, key]. A row without weight on other keys becomes zeros.
    """
    rest = np.array(weights, dtype=np.float64)
    rest[..., 0] = 0
    sums = rest.sum(axis=-1, keepdims=True)
    return np.divide(rest, sums, out=np.zeros_like(rest), where=sums > 0)


def lacking_part(trace: ForwardTrace, kind: str) -> str:
    """Return why a part of a model has no rollout of a kind, in a clause; an empty text for a whole.

    Rollout needs the mean of all heads of a layer, and every layer from the first.
    """
    if trace.heads is not None:
        return (
            f"rollout takes the mean of all heads of a layer, and this trace has heads {list(trace.heads)} "
            "alone; capture it without heads="
        )
    numbers = trace.layer_numbers(kind)
    if numbers == tuple(range(len(numbers))):
        return ""
    return (
        f"rollout goes through every layer from the first, and this trace has the {kind} layers "
        f"{list(numbers)} alone; capture it without layers= (a model with other layers that do not attend "
        "has no rollout)"
    )


def _check_whole(trace: ForwardTrace, kinds: Iterable[str]) -> None:
    for kind in kinds:
        shares_of(trace, kind)
        if reason := lacking_part(trace, kind):
            raise UserError(reason)


def _mean_heads(trace: ForwardTrace, kind: str) -> Iterator[Float64]:
    # Layer by layer: float64 of all at once could fill the memory.
    return (as_weights(layer).mean(axis=0) for layer in shares_of(trace, kind))


def _stack_rollout(layers: Iterable[Float64], residual: float) -> Iterator[Float64]:
    rolled: Float64 | None = None  # [position, position]
    for layer in layers:
        mixing = _mixing(layer, residual)
        rolled = mixing if rolled is None else mixing @ rolled  # first each is made of itself
        yield rolled


def _mixing(attention: Float64, residual: float) -> Float64:
    """Return the matrix of one layer; what a row lacks to 1 stays where it was."""
    mixed = (1 - residual) * attention  # [position, position]
    return mixed + np.diag(1 - mixed.sum(axis=-1))


def _checked(residual: float) -> float:
    if not 0 <= residual < 1:
        raise UserError(f"residual={residual!r} must be from 0 up to (not including) 1; the paper takes 0.5")
    return float(residual)
