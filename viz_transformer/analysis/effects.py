"""The confidence of heads' attention, and beside it the measured effect of each head on the loss."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, attention_of, shares_of


def head_confidence(trace: ForwardTrace, kind: str, *, leave_out: Collection[str] = ("<eos>",)) -> Float64:
    """Return the confidence of each head: the mean of its rows' largest weights, ``[layer, head]``.

    1 is a head whose every query attends to one key alone. It is what the picture of a head
    suggests. It says nothing about what the model does with what the head has gathered.

    A query with one key has no choice (the first of a decoder) and does not count, nor does a
    query that may attend to nothing. A head with no other query is NaN.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.head_confidence(trace, "cross").shape  # layers, heads
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        leave_out: tokens that stand for no word. Their keys are left out of the maximum, and
            their queries of the mean: many heads attend to the end of the sentence where they
            have nothing to do.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.

    Source: Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 4: the confidence of
    a head, there for the encoder and over a set of sentences.
    """
    weights = as_weights(shares_of(trace, kind))  # [layer, head, query, key]
    counted_keys = np.array([token not in leave_out for token in trace.key_tokens(kind)])
    # A query belongs to the word that was read there. The one that writes <eos> has read a word.
    read = trace.source_tokens if KINDS[kind].query == "source" else trace.target_tokens
    counted_queries = np.array([token not in leave_out for token in read])
    largest = np.where(counted_keys, weights, 0.0).max(axis=-1)  # [layer, head, query]
    has_choice = reachable_keys(weights, kind) > 1  # [query]
    return mean_over(largest, attending(weights) & has_choice & counted_queries)


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Return Spearman's rank correlation of two lists of numbers: 1 if they give the same order.

    −1 is the opposite order, and about 0 no relation. Equal numbers share the mean of their ranks.

    >>> import viz_transformer as vt
    >>> vt.analysis.rank_correlation([1, 2, 3], [10, 20, 40])
    1.0

    Args:
        a: numbers; arrays of any shape are read in C order.
        b: as many numbers, in the same order.

    Returns:
        from −1 to 1; NaN if one of the two gives no order, as all its numbers are equal or there
        is but one.

    Raises:
        UserError: if they differ in number, or one holds a NaN.

    Source: Spearman 1904, "The Proof and Measurement of Association between Two Things".
    """
    first, second = (np.asarray(values, dtype=np.float64).ravel() for values in (a, b))
    if len(first) != len(second) or np.isnan(first).any() or np.isnan(second).any():
        raise UserError(
            f"{len(first)} and {len(second)} numbers cannot be ranked against each other; give "
            "the same number of each, and no NaN"
        )
    middle = (len(first) + 1) / 2  # the mean of all ranks
    x, y = _ranks(first) - middle, _ranks(second) - middle
    spread = np.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / spread) if spread > 0 else float("nan")


def _ranks(values: Float64) -> Float64:
    """Return each number's rank from 1, equal ones sharing the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)  # rank of the last of each group of equal numbers
    return (last - (count - 1) / 2)[place]


#: A change of the loss below this, in nats per token, is reported as "less than" it.
NEGLIGIBLE = 0.001


@dataclass(frozen=True)
class HeadEffect:
    """One head: its confidence, and what happened without it.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]]])  # one layer, two heads
    >>> trace = vt.ForwardTrace(source_tokens=["the", "cat"], encoder_attention=look)
    >>> effects = vt.analysis.head_effects(trace, {"encoder": [[0.5, 0.1]]})
    >>> effects[0].head, effects[0].loss_change, effects[0].rank
    (0, 0.5, 1)

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0.
        head: counted from 0.
        loss_change: the loss with this head alone switched off, minus the loss of the whole
            model, in nats per token; above 0, the model is worse off without it.
        rank: place of this head by the size of its loss_change, from 1.
        confidence: its `head_confidence`, or NaN.
        confidence_rank: place of this head by its confidence, from 1.
    """

    kind: str
    layer: int
    head: int
    loss_change: float
    rank: int
    confidence: float
    confidence_rank: int

    @property
    def name(self) -> str:
        """The head in words."""
        return f"{self.kind} layer {self.layer} head {self.head}"


def head_effects(trace: ForwardTrace, loss_changes: Mapping[str, ArrayLike]) -> tuple[HeadEffect, ...]:
    """Return every head's measured effect beside its confidence, the largest effect first.

    Switching a head off shows what the model loses without it. The measure is not perfect (two
    heads that do the same work can replace each other), but unlike the attention weights alone it
    depends on what the model does with the head.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]]])  # one layer, two heads
    >>> trace = vt.ForwardTrace(source_tokens=["the", "cat"], encoder_attention=look)
    >>> effects = vt.analysis.head_effects(trace, {"encoder": [[0.1, 0.5]]})  # nats a token
    >>> [(effect.head, effect.loss_change) for effect in effects]
    [(1, 0.5), (0, 0.1)]

    Args:
        trace: the whole model's trace of the sentence.
        loss_changes: for each kind of the trace, ``[layer, head]`` in nats per token: the loss with
            that head alone switched off, minus the loss of the whole model.

    Raises:
        UserError: if an array does not fit the trace's heads.

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 3.2, for one
    head at a time; Jain & Wallace 2019 for why attention is no explanation.
    """
    places, changes, confidences = [], [], []
    for kind in trace.kinds:
        change = np.asarray(loss_changes.get(kind, ()), dtype=np.float64)
        shape = attention_of(trace, kind).shape[:2]
        if change.shape != shape or not np.isfinite(change).all():
            raise UserError(
                f"loss_changes[{kind!r}] has shape {list(change.shape)}, but this trace has "
                f"[layer, head] = {list(shape)}; give one finite number for each head"
            )
        places += [(kind, layer, head) for layer, head in np.ndindex(shape)]
        changes += change.ravel().tolist()
        confidences += head_confidence(trace, kind).ravel().tolist()
    ranks = _places_of(-np.abs(changes))
    confidence_ranks = _places_of(-np.array(confidences))
    effects = [
        HeadEffect(*place, change, rank, confidence, confidence_rank)
        for place, change, rank, confidence, confidence_rank in zip(
            places, changes, ranks, confidences, confidence_ranks, strict=True
        )
    ]
    return tuple(sorted(effects, key=lambda effect: effect.rank))


def effect_correlation(effects: Sequence[HeadEffect]) -> float:
    """Return the rank correlation of the heads' confidence with the size of their effect.

    1 if the order of confidence is the order of effect; NaN if there is no order.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]]])  # one layer, two heads
    >>> trace = vt.ForwardTrace(source_tokens=["the", "cat"], encoder_attention=look)
    >>> effects = vt.analysis.head_effects(trace, {"encoder": [[0.5, 0.1]]})
    >>> round(vt.analysis.effect_correlation(effects), 6)  # the confident head is the one that matters
    1.0

    Args:
        effects: what `head_effects` returned.
    """
    known = [effect for effect in effects if not np.isnan(effect.confidence)]
    return rank_correlation(
        [effect.confidence for effect in known], [abs(effect.loss_change) for effect in known]
    )


def effects_in_words(effects: Sequence[HeadEffect]) -> str:
    """Describe in a few sentences how well the heads' attention predicted their effects.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.array([[[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]]])  # one layer, two heads
    >>> trace = vt.ForwardTrace(source_tokens=["the", "cat"], encoder_attention=look)
    >>> effects = vt.analysis.head_effects(trace, {"encoder": [[0.5, 0.1]]})
    >>> words = vt.analysis.effects_in_words(effects)

    Args:
        effects: what `head_effects` returned.
    """
    most = min(effects, key=lambda effect: effect.rank)
    surest = min(effects, key=lambda effect: effect.confidence_rank)
    n_heads = len(effects)
    said = []
    sharpest = f"The head with the sharpest attention, {surest.name} (confidence {surest.confidence:.2f}),"
    if np.isnan(surest.confidence):  # in so short a sentence no query has a choice
        said.append(f"The head that matters most, {most.name}, {_changes(most)}.")
    elif surest is most:
        said.append(f"{sharpest} is also the one that matters most: switched off, it {_changes(most)}.")
    else:
        said.append(f"{sharpest} {_changes(surest)} when it is switched off.")
        said.append(
            f"The head that matters most, {most.name}, {_changes(most)}, and is number "
            f"{most.confidence_rank} of {n_heads} by its confidence."
        )
    idle = sum(abs(effect.loss_change) < NEGLIGIBLE for effect in effects)
    if idle:
        said.append(f"Switched off alone, {idle} of the {n_heads} heads change it by less than {NEGLIGIBLE}.")
    correlation = effect_correlation(effects)
    if not np.isnan(correlation):
        said.append(
            f"Rank correlation of confidence and effect: {_minus(f'{correlation:z.2f}')} (1 would "
            "mean the same order, 0 no relation)."
        )
    return " ".join(said)


def _changes(effect: HeadEffect) -> str:
    if abs(effect.loss_change) < NEGLIGIBLE:
        return f"changes the loss by less than {NEGLIGIBLE} nats per token"
    return f"changes the loss by {_minus(f'{effect.loss_change:+.3f}')} nats per token"


def _minus(number: str) -> str:
    return number.replace("-", "−")


def _places_of(order: ArrayLike) -> list[int]:
    """Return each number's place, the smallest first, from 1; a NaN comes last."""
    places = np.empty(len(np.asarray(order)), dtype=np.int64)
    places[np.argsort(order, kind="stable")] = np.arange(1, len(places) + 1)
    return places.tolist()
