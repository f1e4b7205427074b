"""The explorer's view of a trace, or of the difference of two, one head at a time.

A large trace is hundreds of megabytes: it is never copied here. A NaN never comes this far:
ForwardTrace refuses it. Weights outside 0 to 1 are refused here, since the scale has no colour for
them, unless the trace marks them as not normalised: then they have a scale of their own, as
differences have. Rows that do not sum to 1 are shown, with a note: they are what a removed softmax, or
dropped weights, lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.combine import combine_heads, masked_cells, scale_of, strongest
from viz_transformer.analysis.comparison import layers_at_same_depth, match_traces
from viz_transformer.analysis.head_labels import labels_and_entropies
from viz_transformer.analysis.position_bias import position_bias_alone, without_position_bias
from viz_transformer.analysis.rollout import lacking_part, rollout_by_layer
from viz_transformer.analysis.words import key_words, query_words, special_tokens
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, attention_of
from viz_transformer.widgets.explorer.sentence_pair import checked_segments, pair_kind

#: How far above 1 a weight may lie, or from 1 a row's sum: half precision stays within it.
TOLERANCE = 0.01

#: What is said of weights that are not normalised; measured_trace.js says the same.
NOT_NORMALISED = "These weights are not normalised: a row need not sum to 1."

#: All thumbnails of a large trace take no more than this together; each is from 8 × 8 to 32 × 32
#: pixels.
OVERVIEW_BYTES = 192 * 1024

#: What a head attends by: how each part of the scores alone makes a trace.
PARTS_OF_SCORES: dict[str, Callable[[ForwardTrace], ForwardTrace]] = {
    "both": lambda trace: trace,
    "content": without_position_bias,
    "positions": position_bias_alone,
}

#: The axes of attention weights, outermost first; an array may lack the first ones.
_AXES = ("layer", "head", "query", "key")

Words = list[int | None] | None
Labels = list[list[dict[str, Any] | None]]


class RowSums(NamedTuple):
    """Rows of a kind that sum neither to 1 nor to 0: their least and largest sum, and how many."""

    least: float
    most: float
    n_off: int
    n_rows: int


class TraceView:
    """A trace, or a trace minus another.

    Attributes:
        trace: the trace.
        compare: the trace that is subtracted, or None.
        traces: the trace, and the one that is subtracted if there is one, brought to one shape.
        biased: the kinds in which something is added to the scores for positions.
        attends_by: which part of their scores is shown, one of `PARTS_OF_SCORES`.
        segments: which sentence of a pair each token of `pair_kind` belongs to, 0 or 1; or empty.
        scales: of the colours, by kind.
    """

    def __init__(
        self, trace: Any, compare: Any = None, segments: Any = None, attends_by: str = "both"
    ) -> None:
        """Check that they can be shown.

        Args:
            trace: the trace.
            compare: the trace that is subtracted, or None.
            segments: as above; None finds a pair by its separators.
            attends_by: as above; where the scores have no part for positions, there is ``"both"`` alone.

        Raises:
            UserError: if one is no trace or holds no attention, if a weight is no share, if two have
                nothing to compare (see `match_traces` and `scale_of`), or if the segments do not fit.
        """
        self.trace = _check_trace(trace)
        self.compare = None if compare is None else _check_trace(compare)
        given = [self.trace] if self.compare is None else [self.trace, self.compare]
        self.biased = [
            kind for kind in self.trace.kinds if all(each.position_bias(kind) is not None for each in given)
        ]
        self.attends_by = attends_by if self.biased else "both"
        self.traces = [PARTS_OF_SCORES[self.attends_by](each) for each in given]
        if self.compare is not None:
            self.traces = [*match_traces(*self.traces)]
        self.segments = checked_segments(self.traces[0], segments)
        for each in self.traces:
            for kind in each.kinds:
                _check_weights(each, kind)
        self.scales = {kind: scale_of(self.traces, kind) for kind in self.kinds}
        self._rolled: dict[str, NDArray[np.float32]] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The attention kinds present."""
        return self.traces[0].kinds

    @property
    def is_raw(self) -> bool:
        """Whether these are weights that are not normalised; nor is a difference of such."""
        return self.compare is None and not self.trace.normalised

    @property
    def has_shares(self) -> bool:
        """Whether these are shares of a whole, and no difference: then heads have labels and entropies."""
        return self.compare is None and self.trace.normalised

    def shape(self, kind: str) -> tuple[int, int, int, int]:
        """Return the numbers of layers, heads, queries and keys."""
        return attention_of(self.traces[0], kind).shape

    def matched(self, kind: str) -> dict[str, Any] | None:
        """Return which layer of the other model each layer meets; None where the shapes are the same.

        ``layers`` are counted from 0, ``of`` is how many there are; ``heads`` is how many the two
        models have, where each layer is the mean of its heads, and else None.
        """
        if self.compare is None:
            return None
        own, others = (attention_of(each, kind).shape[:2] for each in (self.trace, self.compare))
        if own == others:
            return None
        heads = None if own[1] == others[1] else [own[1], others[1]]
        return {"layers": layers_at_same_depth(own[0], others[0]), "of": others[0], "heads": heads}

    def kept(self, kind: str, pair: str) -> tuple[list[bool] | None, list[bool] | None]:
        """Return which queries and keys a filter of sentences leaves, such as ``"AB"``; None is all."""
        if pair == "all" or kind != pair_kind(self.traces[0]) or not self.segments:
            return None, None
        query, key = map("AB".index, pair)
        return [each == query for each in self.segments], [each == key for each in self.segments]

    def overview(self, kind: str, pair: str = "all") -> dict[str, Any]:
        """Return thumbnails of all heads of a kind, uint8: ``rows``, ``cols`` and ``values``.

        255 is a weight of 1 (where the scale has a limit, 128 is 0, and 255 the limit), and each pixel
        the strongest weight beneath it.

        Args:
            kind: of the heads.
            pair: which sentences are shown, one of `PAIRS`.
        """
        n_heads = sum(np.prod(self.shape(each)[:2]) for each in self.kinds)
        side = int(min(32, max(8, (OVERVIEW_BYTES / n_heads) ** 0.5)))
        queries, keys = self.kept(kind, pair)
        small = []
        for layer in range(self.shape(kind)[0]):
            weights = self.layer(kind, layer)  # [head, query, key]
            if queries is not None and keys is not None:
                weights = weights[:, np.flatnonzero(queries)][:, :, np.flatnonzero(keys)]
            small.append(strongest(weights, side))  # [head, row, column]
        shares, limit = np.stack(small), self.limit(kind)
        scaled = 255 * shares if limit is None else 128 + 127 * (shares / limit)
        values = np.rint(scaled).clip(0, 255).astype(np.uint8).tobytes()
        return {"rows": shares.shape[2], "cols": shares.shape[3], "values": values}

    def layer(self, kind: str, layer: int) -> FloatArray:
        """Return the weights of a layer, float32 ``[head, query, key]``."""
        first, *others = (attention_of(each, kind)[layer] for each in self.traces)
        return _single(first) - others[0] if others else _single(first)

    def limit(self, kind: str) -> float | None:
        """Return the end of the scale that all heads of a kind share; None for shares of a whole."""
        return self.scales[kind].limit

    def head(self, kind: str, layer: int, head: int) -> FloatArray:
        """Return the weights of a head, float32 ``[query, key]``."""
        first, *others = (attention_of(each, kind)[layer, head] for each in self.traces)
        return _single(first) - others[0] if others else _single(first)

    def aggregate(self, kind: str, how: str, heads: Sequence[Sequence[int]]) -> FloatArray:
        """Return several heads as one, ``[query, key]``.

        Args:
            kind: of the heads.
            how: ``"mean"``, or ``"max"``: of differences the one farthest from 0.
            heads: ``[layer, head]`` pairs, one or more.
        """
        return combine_heads((self.head(kind, layer, head) for layer, head in heads), how)

    def note(self, kind: str) -> str:
        """Return what is unusual about the rows of a kind, in a sentence, or an empty text."""
        if self.is_raw:
            return NOT_NORMALISED
        rows = self._row_sums[kind]
        if not self.has_shares or not rows.n_off:
            return ""
        sums = " to ".join(dict.fromkeys((f"{rows.least:.2f}", f"{rows.most:.2f}")))
        if kind in self.trace.sinks:
            return (
                f"{rows.n_off} of {rows.n_rows} rows sum to {sums}: the rest goes to an attention sink, "
                "which is no token."
            )
        return (
            f"{rows.n_off} of {rows.n_rows} rows do not sum to 1 but to {sums}, so their weights "
            "are not shares of a whole."
        )

    @cached_property
    def _row_sums(self) -> dict[str, RowSums]:
        return {kind: _row_sums(attention_of(self.traces[0], kind)) for kind in self.kinds}

    def queries(self, kind: str) -> tuple[str, ...]:
        """Return the query tokens; of two traces both, where they differ."""
        return self._both(lambda trace: trace.query_tokens(kind))

    def keys(self, kind: str) -> tuple[str, ...]:
        """Return the key tokens; of two traces both, where they differ."""
        return self._both(lambda trace: trace.key_tokens(kind))

    def reads(self, kind: str) -> tuple[str, ...] | None:
        """Return what each query read before it wrote its token, where that is known."""
        if KINDS[kind].query == "source":
            return None
        if any(trace.output_tokens is None for trace in self.traces):
            return None
        return self._both(lambda trace: trace.target_tokens)

    def numbers(self, kind: str) -> dict[str, list[int]] | None:
        """Return the model's own numbers of the layers and heads; None where they are 0, 1, 2 …."""
        n_layers, n_heads = self.shape(kind)[:2]
        first = self.traces[0]
        layers, heads = first.layer_numbers(kind), first.head_numbers[:n_heads]
        if layers == tuple(range(n_layers)) and heads == tuple(range(n_heads)):
            return None
        return {"layers": list(layers), "heads": list(heads)}

    def words(self, kind: str) -> tuple[Words, Words]:
        """Return the word numbers of the queries and the keys as they are named, where known."""
        return _listed(query_words(self.traces[0], kind)), _listed(key_words(self.traces[0], kind))

    def special(self, kind: str) -> tuple[list[bool], list[bool]]:
        """Return which queries and keys are special tokens."""
        queries, keys = self.traces[0].query_tokens(kind), self.traces[0].key_tokens(kind)
        return special_tokens(queries), special_tokens(keys)

    def masked(self, kind: str) -> NDArray[np.bool_]:
        """Return the cells that no head gives any weight, ``[query, key]``."""
        return np.logical_and.reduce([masked_cells(each, kind) for each in self.traces])

    def measures(self, kind: str) -> tuple[Labels, NDArray[np.float64]]:
        """Return each head's label with its evidence, and its entropy as a share of the most.

        Not of a difference. For a large trace this takes seconds, so it is done on request only.

        Raises:
            UserError: if the rows sum to more than 1.
        """
        named, entropies = labels_and_entropies(self.traces[0], kind)
        labels: Labels = [
            [
                None
                if label is None
                else {"name": label.name, "evidence": label.evidence, "sentence": label.sentence}
                for label in layer
            ]
            for layer in named
        ]
        return labels, entropies

    def no_rollout(self, kind: str) -> str:
        """Return why there is no rollout of a kind, or an empty text."""
        used = tuple(KINDS) if kind == "cross" else (kind,)
        lacking = [each for each in used if each not in self.kinds]
        if not self.trace.normalised:
            return "rollout needs rows that sum to 1, and the weights of this trace are not normalised"
        if not lacking and any(self._row_sums[each].most > 1 + TOLERANCE for each in used):
            return "rollout needs rows that sum to 1, and rows of this trace sum to more"
        if lacking:
            return (
                "rollout to the output needs encoder, decoder and cross attention, and this trace "
                f"lacks {' and '.join(lacking)}"
            )
        if kind == "cross" and self.shape("decoder")[0] != self.shape("cross")[0]:
            return (
                "rollout to the output needs the decoder and cross attention of every layer, and "
                f"this trace has {self.shape('decoder')[0]} and {self.shape('cross')[0]} layers"
            )
        return next((reason for each in used if (reason := self.lacking_part(each))), "")

    def lacking_part(self, kind: str) -> str:
        """Return why a part of a model, or its layers that meet another's, have no rollout of a kind."""
        matched = self.matched(kind)
        if matched and matched["of"] != len(matched["layers"]):
            return (
                f"the models have {len(matched['layers'])} and {matched['of']} layers, and rollout goes "
                "through all of them; look at each model's own"
            )
        given = [self.trace] if self.compare is None else [self.trace, self.compare]
        return next((reason for each in given if (reason := lacking_part(each, kind))), "")

    def rollouts(self, kind: str) -> FloatArray:
        """Return the rollout after each layer, ``[layer, query, key]``; of two, the difference.

        Computed on the first call, and kept: its size is that of one head a layer.

        Raises:
            UserError: if there is none.
        """
        if reason := self.no_rollout(kind):
            raise UserError(reason)
        if kind not in self._rolled:
            self._rolled[kind] = np.stack([*self.rollouts_by_layer(kind)])
        return self._rolled[kind]

    def rollouts_by_layer(self, kind: str) -> Iterator[FloatArray]:
        """Yield the same, layer by layer."""
        for rolled, *others in zip(*(rollout_by_layer(each, kind) for each in self.traces), strict=True):
            yield _single(rolled - others[0] if others else rolled)

    def _both(self, tokens_of: Callable[[ForwardTrace], tuple[str, ...]]) -> tuple[str, ...]:
        pairs = zip(*map(tokens_of, self.traces), strict=True)
        return tuple("|".join(dict.fromkeys(pair)) for pair in pairs)


def _listed(words: Sequence[int | None] | None) -> Words:
    return None if words is None else list(words)


def _single(weights: FloatArray) -> FloatArray:
    """Return weights in single precision; a trace may hold half, which is too coarse to compute with."""
    return weights.astype(np.float32, copy=False)


def _check_trace(trace: Any) -> ForwardTrace:
    """Return a trace with something to show.

    Raises:
        UserError: if it is no trace, or holds no attention.
    """
    if not isinstance(trace, ForwardTrace):
        raise UserError(_how_to_make_one(trace))
    if not trace.kinds:
        raise UserError(
            "this trace holds no attention to show; give it encoder_attention, "
            "decoder_attention or cross_attention"
        )
    return trace


def _how_to_make_one(given: Any) -> str:
    """Say how a trace is made of something else."""
    what = f"explore shows a ForwardTrace, not {type(given).__name__}"
    shape = [*getattr(given, "shape", ())]
    if 2 <= len(shape) <= 4:
        sizes = ", ".join(f"{name}={n}" for name, n in zip(_AXES[-len(shape) :], shape, strict=True))
        return f"{what}; capture makes one of these weights, with {sizes}: vt.explore(vt.capture(weights))"
    return f"{what}; make one with vt.capture(model, ...), vt.capture(weights) or translator.trace(text)"


def _check_weights(trace: ForwardTrace, kind: str) -> None:
    """Refuse weights that are no shares.

    Raises:
        UserError: if one is below 0 or above 1, and the trace marks them as normalised.
    """
    if not trace.normalised:
        return
    weights = attention_of(trace, kind)
    least, most = float(weights.min()), float(weights.max())
    if least < 0 or most > 1 + TOLERANCE:
        raise UserError(
            f"the {kind} attention of this trace holds {least:.3g} to {most:.3g}, but a weight is "
            "a share from 0 to 1; give the weights after the softmax, not the scores, show a "
            "difference with explore(trace, compare=other), or capture with normalised=False what has signs"
        )


def _row_sums(weights: FloatArray) -> RowSums:
    """Sum the rows of weights ``[layer, head, query, key]``."""
    sums = weights.sum(axis=-1, dtype=np.float32).ravel()  # [layer · head · query]
    n_rows = sums.size
    sums = sums[sums != 0]  # a query that may attend to no key is no error
    off = sums[np.abs(sums - 1) > TOLERANCE]
    least, most = (float(off.min()), float(off.max())) if off.size else (1.0, 1.0)
    return RowSums(least, most, off.size, n_rows)
