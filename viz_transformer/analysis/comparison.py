"""Two traces compared: brought to one shape, and their agreement, head by head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viz_transformer._bounds import LAYERS, whole_number
from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    entropy_bits,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, attention_of, shares_of
from viz_transformer.trace.arrays import hand_over


def layers_at_same_depth(n_layers: int, n_other: int) -> list[int]:
    """Return, for each layer of a model, the layer of another at the same share of its depth.

    It is the one that holds the middle of the layer, if both models are drawn equally high.

    >>> import viz_transformer as vt
    >>> vt.analysis.layers_at_same_depth(6, 3), vt.analysis.layers_at_same_depth(3, 6)
    ([0, 0, 1, 1, 2, 2], [1, 3, 5])

    Args:
        n_layers: how many layers the model has.
        n_other: how many the other one has.

    Raises:
        UserError: if a model has no layer, or more than any has.
    """
    whole_number("n_layers", n_layers, LAYERS)
    whole_number("n_other", n_other, LAYERS)
    return [(2 * layer + 1) * n_other // (2 * n_layers) for layer in range(n_layers)]


def match_traces(trace: ForwardTrace, other: ForwardTrace) -> tuple[ForwardTrace, ForwardTrace]:
    """Return two traces of one shape, whose weights can be subtracted.

    Both keep the kinds of attention that both hold. Each layer of `trace` meets the layer of
    `other` at the same share of its depth: layer 4 of 12 meets layer 2 of 6. Heads of models with as
    many heads meet one by one; where these numbers differ, no head has a partner, and each layer
    becomes the mean of its heads. Traces of one shape are returned as they are.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> deep = vt.ForwardTrace(source_tokens=["a", "b"], encoder_attention=np.full((4, 2, 2, 2), 0.5))
    >>> low = vt.ForwardTrace(source_tokens=["a", "b"], encoder_attention=np.full((2, 2, 2, 2), 0.5))
    >>> [each.encoder_attention.shape for each in vt.analysis.match_traces(deep, low)]
    [(4, 2, 2, 2), (4, 2, 2, 2)]

    Args:
        trace: a trace.
        other: another, of a text with as many tokens.

    Raises:
        UserError: if they have no kind of attention in common, or the texts differ in length.
    """
    kinds = [kind for kind in trace.kinds if kind in other.kinds]
    if not kinds:
        raise UserError(
            f"the trace holds {_listed(trace)} attention and the other {_listed(other)}, so there is "
            "nothing to compare; give two traces that share a kind"
        )
    for kind in kinds:
        own, others = (attention_of(each, kind).shape[2:] for each in (trace, other))
        if own != others:
            raise UserError(
                f"the {kind} attention of the trace has {own[0]} queries and {own[1]} keys, and that of "
                f"the other {others[0]} and {others[1]}; compare texts of equally many tokens"
            )
    if kinds == [*trace.kinds] == [*other.kinds] and all(
        attention_of(trace, kind).shape == attention_of(other, kind).shape for kind in kinds
    ):
        return trace, other
    return _kept(trace, trace, other, kinds), _kept(other, trace, other, kinds)


def _kept(each: ForwardTrace, trace: ForwardTrace, other: ForwardTrace, kinds: list[str]) -> ForwardTrace:
    """Return one of two traces with what meets the other."""
    changes: dict[str, Any] = {"heads": None, "sinks": tuple(kind for kind in each.sinks if kind in kinds)}
    fields = ForwardTrace.__dataclass_fields__
    for kind in KINDS:
        changes[KINDS[kind].field] = changes[f"{kind}_layers"] = None
        if f"{kind}_position_bias" in fields:  # it belongs to the weights as they were
            changes[f"{kind}_position_bias"] = None
        if kind not in kinds:
            continue
        weights, own, others = (attention_of(one, kind) for one in (each, trace, other))
        if each is other and len(own) != len(others):
            weights = weights[layers_at_same_depth(len(own), len(others))]  # [layer, head, query, key]
        if each is trace:
            changes[f"{kind}_layers"] = trace.layer_numbers(kind)
        if own.shape[1] != others.shape[1]:
            weights = weights.mean(axis=1, keepdims=True, dtype=np.float32)  # [layer, 1, query, key]
        changes[KINDS[kind].field] = hand_over(weights)
    return replace(each, **changes)


def _listed(trace: ForwardTrace) -> str:
    return " and ".join(trace.kinds) or "no"


@dataclass(frozen=True, eq=False)
class Agreement:
    """What `agreement` returns, one number per head.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> same = vt.analysis.agreement(trace, trace, "cross")
    >>> bool((same.same_argmax == 1).all())
    True

    Attributes:
        similarity: ``[layer, head]``, 1 − Jensen–Shannon distance, mean over the rows: 1 where the
            weights are equal, 0 where the two attend to entirely different keys.
        same_argmax: ``[layer, head]``, share of rows whose largest weight lies on the same key.
    """

    similarity: Float64
    same_argmax: Float64


def agreement(trace_a: ForwardTrace, trace_b: ForwardTrace, kind: str) -> Agreement:
    """Compare two traces of the same shape, head by head.

    The Jensen–Shannon distance is the square root of the divergence in bits, so that it lies
    between 0 and 1. A query with one key has no choice and does not count; a head with no other
    row is NaN.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> traces = [translator.trace(text) for text in ("the black cat sleeps", "the black dog sleeps")]
    >>> vt.analysis.agreement(*traces, "cross").similarity.shape
    (2, 4)

    Args:
        trace_a: a trace.
        trace_b: another, with as many layers, heads, queries and keys.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if a trace lacks the kind, or the shapes differ.

    Source: Endres & Schindelin 2003 for the distance; on heads: Clark et al. 2019, section 6.
    """
    a, b = (as_weights(shares_of(trace, kind)) for trace in (trace_a, trace_b))
    if a.shape != b.shape:
        raise UserError(
            f"the two {kind} attentions have shapes {list(a.shape)} and {list(b.shape)}, but only "
            "equal [layer, head, query, key] can be compared; trace the same sentence, and give "
            "translator.trace both times the same target="
        )
    # A query of a decoder has a choice if it has one in either trace.
    has_choice = np.maximum(reachable_keys(a, kind), reachable_keys(b, kind)) > 1  # [query]
    rows = (attending(a) | attending(b)) & has_choice  # [layer, head, query]
    both = attending(a) & attending(b)  # [layer, head, query]
    own = (entropy_bits(a) + entropy_bits(b)) / 2  # [layer, head, query]
    divergence = entropy_bits((_scaled(a) + _scaled(b)) / 2) - own  # [layer, head, query]
    # Rounding leaves equal rows at ±1e-16, and a square root would make 1e-8 of that.
    distance = np.sqrt(np.where(divergence > 1e-12, divergence, 0.0))
    similarity = np.where(both, 1 - np.minimum(distance, 1), 0.0)
    same = both & (a.argmax(axis=-1) == b.argmax(axis=-1))
    return Agreement(mean_over(similarity, rows), mean_over(same.astype(np.float64), rows))


def _scaled(weights: Float64) -> Float64:
    """Scale each row to sum to exactly 1; a row of zeros stays."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
