"""What one head does over many texts: where it looks, how often its label holds, and examples of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.head_labels import HeadLabel, label_heads_together
from viz_transformer.analysis.head_patterns import Pattern, head_patterns, pattern_scores
from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    head_entropy_share,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, shares_of

#: How many cells of weights are kept for the label: 80 MB. Texts behind them count in all else.
_MOST_CELLS = 20_000_000
#: Into how many parts the score of a row, from 0 to 1, is divided for the examples.
TENTHS = 10
#: A head without a label is compared with a pattern only if at least one in so many rows is informative.
_LEAST_TELLING = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadExample:
    """One query of one text, and what the head looks at there.

    >>> import numpy as np
    >>> from viz_transformer.analysis import HeadExample
    >>> tokens, weights = ("the", "cat"), np.array([0.9, 0.1])
    >>> HeadExample(query_tokens=tokens, key_tokens=tokens, query=1, weights=weights, score=0.9).score
    0.9

    Attributes:
        query_tokens: the text's tokens along the queries.
        key_tokens: and along the keys.
        query: which query, from 0.
        weights: its weights, float32 [key].
        score: how much of its weight lies on the keys of the card's pattern.
    """

    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query: int
    weights: NDArray[np.float32]
    score: float


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadCard:
    """What one head does over many texts.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the black cat sleeps", "the dog sees the cat")
    >>> card = vt.analysis.head_card(map(translator.trace, texts), "encoder", layer=0, head=1)
    >>> card.n_texts, len(card.offsets) == len(card.weight_by_offset)
    (2, True)

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: the layer's number, as the model counts.
        head: the head's.
        n_texts: how many texts were read.
        n_rows: how many queries attended.
        offsets: positions from the query to the key, int [offset]; below 0 lies what came before.
        weight_by_offset: the mean share of a query's weight there, float64 [offset]; they add up to 1.
        even_by_offset: what even attention would put there.
        label: the head's label from all texts together, or None.
        pattern: what is counted below: the label's keys, or of a head without one those of the pattern
            that it follows most; empty where the texts leave room for none.
        where: where that is, in words: ``"on the token before"``.
        held: the share of rows whose largest weight lies on the pattern's keys.
        n_told: how many rows are informative.
        tenths: how many rows put 0 to 10%, 10 to 20% … of their weight there, int [10].
        examples: of each tenth the row with the greatest score, or None.
        layers: the numbers of all layers of this kind.
        scores: of every head the mean share of weight that follows the pattern, float64 [layer, head].
        entropies: of every head the mean entropy as a share of its maximum, float64 [layer, head].
        losses: the mean loss of each text, in nats per token, float64 [text]; None where it was not measured.
        losses_without: the same with the head switched off.
        n_losses: of how many tokens each is the mean, int [text]; None where that is not known.
    """

    kind: str
    layer: int
    head: int
    n_texts: int
    n_rows: int
    offsets: NDArray[np.int64]
    weight_by_offset: Float64
    even_by_offset: Float64
    label: HeadLabel | None
    pattern: str
    where: str
    held: float
    n_told: int
    tenths: NDArray[np.int64]
    examples: tuple[HeadExample | None, ...]
    layers: tuple[int, ...]
    scores: Float64
    entropies: Float64
    losses: Float64 | None = None
    losses_without: Float64 | None = None
    n_losses: NDArray[np.int64] | None = None

    @property
    def mean_losses(self) -> tuple[float, float] | None:
        """The mean over all tokens, with the head and without it; None where it was not measured."""
        if self.losses is None or self.losses_without is None:
            return None
        whole, without = np.average([self.losses, self.losses_without], axis=1, weights=self.n_losses)
        return float(whole), float(without)

    @property
    def loss_change(self) -> float | None:
        """The mean loss without the head minus that of the whole model; None where it was not measured."""
        if self.mean_losses is None:
            return None
        whole, without = self.mean_losses
        return without - whole

    def with_losses(
        self, losses: Float64, losses_without: Float64, n_losses: NDArray[np.int64] | None = None
    ) -> HeadCard:
        """Return the card with the mean loss of each text, with the head and without it, and its tokens."""
        return replace(self, losses=losses, losses_without=losses_without, n_losses=n_losses)

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that is an array, by name, as ``np.savez("card.npz", **card.arrays)`` takes it."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def __repr__(self) -> str:
        """Return the card in three lines."""
        of = f"head {self.layer}·{self.head} of the {KINDS[self.kind].label}, {self.n_texts} texts"
        loss = "loss not measured" if self.loss_change is None else f"loss without it {self.loss_change:+.3f}"
        most = int(np.argmax(self.weight_by_offset))
        return (
            f"{of}: {'no label' if self.label is None else self.label.name}\n"
            f"  {self.pattern}: {self.held:.0%} of {self.n_told} rows; {loss}\n"
            f"  most weight at offset {self.offsets[most]:+d}: {self.weight_by_offset[most]:.0%}"
        )


def head_card(traces: Iterable[ForwardTrace], kind: str, layer: int, head: int) -> HeadCard:
    """Sum up what one head does in many texts; each trace is read once and let go.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> texts = ("the black cat sleeps", "the dog sees the cat")
    >>> card = vt.analysis.head_card(map(translator.trace, texts), "encoder", layer=0, head=1)
    >>> card.scores.shape  # layers, heads
    (2, 4)

    Args:
        traces: of one model; a generator does.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: the layer's number, as the model counts.
        head: the head's.

    Raises:
        UserError: if there is no trace, they differ in layers or heads, or have no such head.
    """
    counts: _Counts | None = None
    for trace in traces:
        counts = _Counts(trace, kind, layer, head) if counts is None else counts
        counts.add(trace)
    if counts is None:
        raise UserError("a head card needs texts, and none was given; give at least one")
    return counts.card()


class _Rows:
    """What is counted of one pattern in its informative rows."""

    def __init__(self, where: str = "") -> None:
        self.where = where
        self.n_told = 0
        self.n_held = 0
        self.tenths = np.zeros(TENTHS, dtype=np.int64)
        self.examples: list[HeadExample | None] = [None] * TENTHS

    def add(self, pattern: Pattern, weights: Float64, queries: Sequence[str], keys: Sequence[str]) -> None:
        """Count the rows of one text, of weights [query, key]."""
        meant = np.zeros(weights.shape, dtype=bool)  # [query, key]
        meant[pattern.queries, pattern.keys] = True
        scores = np.minimum(pattern.on_keys(weights), 1.0)  # [query]
        for query in np.flatnonzero(pattern.rows & attending(weights)):
            tenth = min(int(scores[query] * TENTHS), TENTHS - 1)
            self.n_told += 1
            self.n_held += bool(meant[query, weights[query].argmax()])
            self.tenths[tenth] += 1
            best = self.examples[tenth]
            if best is None or scores[query] > best.score:
                self.examples[tenth] = HeadExample(
                    query_tokens=tuple(queries),
                    key_tokens=tuple(keys),
                    query=int(query),
                    weights=weights[query].astype(np.float32),
                    score=float(scores[query]),
                )


class _Counts:
    """Running sums over traces."""

    def __init__(self, first: ForwardTrace, kind: str, layer: int, head: int) -> None:
        self._kind, self._layer, self._head = kind, layer, head
        self._layers, self._heads = first.layer_numbers(kind), first.head_numbers
        self._shape = shares_of(first, kind).shape[:2]
        if layer not in self._layers or head not in self._heads[: self._shape[1]]:
            raise UserError(
                f"layer={layer!r:.20}, head={head!r:.20}, but the {kind} attention has the layers "
                f"{[*self._layers]} and the heads {[*self._heads[: self._shape[1]]]}"
            )
        self._place = self._layers.index(layer), self._heads.index(head)
        self._n_texts = self._n_rows = self._n_cells = 0
        self._by_offset: dict[int, Float64] = {}  # weight and even weight
        self._rows: dict[str, _Rows] = {}
        self._scores: dict[str, list[Float64]] = {}  # of each text [layer, head]
        self._entropies: list[Float64] = []  # of each text [layer, head]
        self._kept: list[ForwardTrace] = []

    def add(self, trace: ForwardTrace) -> None:
        """Count one text."""
        weights = shares_of(trace, self._kind)  # [layer, head, query, key]
        if weights.shape[:2] != self._shape or trace.layer_numbers(self._kind) != self._layers:
            raise UserError("the traces differ in layers or heads; give those of one model")
        head = as_weights(weights[self._place])  # [query, key]
        self._n_texts += 1
        self._add_offsets(head, reachable_keys(weights, self._kind))
        for pattern in head_patterns(trace, self._kind):
            rows = self._rows.setdefault(pattern.name, _Rows(pattern.where))
            rows.add(pattern, head, trace.query_tokens(self._kind), trace.key_tokens(self._kind))
        for name, scores in pattern_scores(trace, self._kind).items():
            self._scores.setdefault(name, []).append(scores)
        self._entropies.append(head_entropy_share(trace, self._kind))
        if self._n_cells + head.size <= _MOST_CELLS or not self._kept:
            self._n_cells += head.size
            self._kept.append(_alone(trace, self._kind, self._place))

    def _add_offsets(self, head: Float64, reachable: NDArray[np.int64]) -> None:
        attends = attending(head)  # [query]
        self._n_rows += int(attends.sum())
        for query in np.flatnonzero(attends):
            for key in range(reachable[query]):
                sums = self._by_offset.setdefault(int(key - query), np.zeros(2))
                sums += head[query, key], 1 / reachable[query]

    def card(self) -> HeadCard:
        """Return what was counted."""
        (label,) = (row[0] for row in label_heads_together(self._kept, self._kind))
        scores = {name: np.mean(each, axis=0) for name, each in self._scores.items()}  # each [layer, head]
        telling = [name for name in scores if self._rows[name].n_told * _LEAST_TELLING >= self._n_rows]
        pattern = max(telling, key=lambda name: float(scores[name][self._place]), default="")
        if label is not None and label.name in scores:
            pattern = label.name
        rows = self._rows.get(pattern, _Rows())
        offsets = np.array(sorted(self._by_offset), dtype=np.int64)
        sums = np.array([self._by_offset[each] for each in offsets.tolist()]).reshape(-1, 2)
        entropies = np.stack(self._entropies, axis=-1)  # [layer, head, text]
        return HeadCard(
            kind=self._kind,
            layer=self._layer,
            head=self._head,
            n_texts=self._n_texts,
            n_rows=self._n_rows,
            offsets=offsets,
            weight_by_offset=sums[:, 0] / max(1, self._n_rows),
            even_by_offset=sums[:, 1] / max(1, self._n_rows),
            label=label,
            pattern=pattern,
            where=rows.where,
            held=rows.n_held / max(1, rows.n_told),
            n_told=rows.n_told,
            tenths=rows.tenths,
            examples=tuple(rows.examples),
            layers=self._layers,
            scores=scores.get(pattern, np.zeros(self._shape)),
            entropies=mean_over(entropies, ~np.isnan(entropies)),
        )


def _alone(trace: ForwardTrace, kind: str, place: tuple[int, int]) -> ForwardTrace:
    """Return the trace of one head, by its place among layers and heads."""
    layer, head = place
    weights = np.array(shares_of(trace, kind)[layer : layer + 1, head : head + 1])
    named: dict[str, Any] = {KINDS[kind].field: weights}
    if "source" in {KINDS[kind].query, KINDS[kind].key}:
        named |= {"source_tokens": trace.source_tokens, "source_words": trace.source_words}
    if "target" in {KINDS[kind].query, KINDS[kind].key}:
        named |= {"target_tokens": trace.target_tokens, "output_tokens": trace.output_tokens}
    return ForwardTrace(**named)
