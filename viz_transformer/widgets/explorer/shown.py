"""What the explorer shows: a trace, or the difference of two, one head at a time.

A large trace is hundreds of megabytes: nothing here makes a second one of it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis import head_entropy_share, label_heads, output_rollout, rollout
from viz_transformer.analysis.masked import masked_cells
from viz_transformer.analysis.tokens import special_tokens
from viz_transformer.errors import UserError
from viz_transformer.trace import ATTENTION_KINDS, FloatArray, ForwardTrace

Words = list[int | None] | None


class Shown:
    """A trace, or a trace minus another of the same shape.

    Attributes:
        trace: the trace.
        compare: the trace that is subtracted, or None.
    """

    def __init__(self, trace: Any, compare: Any = None) -> None:
        """Check that they can be shown.

        Raises:
            UserError: if one is no trace or holds no attention, or their shapes differ.
        """
        self.trace = _check(trace)
        self.compare = None if compare is None else _check(compare)
        if self.compare is not None:
            _check_alike(trace, compare)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The attention kinds present."""
        return self.trace.kinds

    @property
    def signed(self) -> bool:
        """Whether this is a difference, from -1 to 1."""
        return self.compare is not None

    @cached_property
    def n_bytes(self) -> int:
        """What all weights take as float32."""
        return sum(self.trace.attention(kind).nbytes for kind in self.kinds)

    def shape(self, kind: str) -> tuple[int, int, int, int]:
        """Return the numbers of layers, heads, queries and keys."""
        return self.trace.attention(kind).shape

    def layer(self, kind: str, layer: int) -> FloatArray:
        """Return the weights of a layer, ``[head, query, key]``."""
        weights = self.trace.attention(kind)[layer]
        return weights if self.compare is None else weights - self.compare.attention(kind)[layer]

    def head(self, kind: str, layer: int, head: int) -> FloatArray:
        """Return the weights of a head, ``[query, key]``."""
        weights = self.trace.attention(kind)[layer, head]
        if self.compare is None:
            return weights
        return weights - self.compare.attention(kind)[layer, head]

    def queries(self, kind: str) -> tuple[str, ...]:
        """Return the words that look; of two traces both, where they differ."""
        return self._both(lambda trace: trace.query_tokens(kind))

    def keys(self, kind: str) -> tuple[str, ...]:
        """Return the words that are looked at; of two traces both, where they differ."""
        return self._both(lambda trace: trace.key_tokens(kind))

    def reads(self, kind: str) -> tuple[str, ...] | None:
        """Return what each query read before it wrote its word, where that is known."""
        traces = [trace for trace in (self.trace, self.compare) if trace is not None]
        if ATTENTION_KINDS[kind][0] == "source" or any(t.output_tokens is None for t in traces):
            return None
        return self._both(lambda trace: trace.target_tokens)

    def words(self, kind: str) -> tuple[Words, Words]:
        """Return the word numbers of the queries and the keys as they are named, where known."""
        query, key = ATTENTION_KINDS[kind]
        return _query_words(self.trace, query), _listed(getattr(self.trace, f"{key}_words"))

    def special(self, kind: str) -> tuple[list[bool], list[bool]]:
        """Return which queries and keys are special tokens."""
        queries, keys = self.trace.query_tokens(kind), self.trace.key_tokens(kind)
        return special_tokens(queries), special_tokens(keys)

    def masked(self, kind: str) -> NDArray[np.bool_]:
        """Return the cells that no head gives any weight, ``[query, key]``."""
        cells = masked_cells(self.trace, kind)
        return cells if self.compare is None else cells & masked_cells(self.compare, kind)

    def labels(self, kind: str) -> list[list[dict[str, Any] | None]] | None:
        """Return each head's label with its evidence; of a difference None."""
        if self.signed:
            return None
        return [
            [
                label
                and {"name": label.name, "evidence": label.evidence, "sentence": label.sentence}
                for label in layer
            ]
            for layer in label_heads(self.trace, kind)
        ]

    def entropies(self, kind: str) -> NDArray[np.float64]:
        """Return each head's entropy as a share of the most there can be, ``[layer, head]``."""
        share = head_entropy_share(self.trace, kind)
        return share if self.compare is None else share - head_entropy_share(self.compare, kind)

    def no_rollout(self, kind: str) -> str:
        """Return why there is no rollout of a kind, or an empty text."""
        lacking = [each for each in ATTENTION_KINDS if each not in self.kinds]
        if kind == "cross" and lacking:
            return (
                "rollout to the output needs encoder, decoder and cross attention, and this trace "
                f"lacks {' and '.join(lacking)}"
            )
        if kind == "cross" and self.shape("decoder")[0] != self.shape("cross")[0]:
            return (
                "rollout to the output needs the decoder and cross attention of every layer, and "
                f"this trace has {self.shape('decoder')[0]} and {self.shape('cross')[0]} layers"
            )
        return ""

    def rollouts(self, kind: str) -> NDArray[np.float64]:
        """Return the rollout after each layer, ``[layer, query, key]``; of two, the difference."""
        rolled = _rollouts(self.trace, kind)
        return rolled if self.compare is None else rolled - _rollouts(self.compare, kind)

    def _both(self, tokens_of: Any) -> tuple[str, ...]:
        tokens = tokens_of(self.trace)
        if self.compare is None:
            return tokens
        pairs = zip(tokens, tokens_of(self.compare), strict=True)
        return tuple(one if one == other else f"{one}|{other}" for one, other in pairs)


def _rollouts(trace: ForwardTrace, kind: str) -> NDArray[np.float64]:
    return output_rollout(trace).source if kind == "cross" else rollout(trace, kind)


def _query_words(trace: ForwardTrace, side: str) -> Words:
    words = getattr(trace, f"{side}_words")
    if words is None or side == "source" or trace.output_tokens is None:
        return _listed(words)
    # A query is named by the word that it writes, which is read one position later. Where another
    # word was read there than was written, and for the last, nothing is known.
    following = zip(trace.output_tokens, trace.target_tokens[1:], words[1:], strict=False)
    return [*(word if out == read else None for out, read, word in following), None]


def _listed(words: tuple[int | None, ...] | None) -> Words:
    return None if words is None else list(words)


def _check(trace: Any) -> ForwardTrace:
    if not isinstance(trace, ForwardTrace):
        raise UserError(
            f"the explorer shows a ForwardTrace, not {type(trace).__name__}; "
            "make one with translator.trace(text) or ForwardTrace(...)"
        )
    if not trace.kinds:
        raise UserError(
            "this trace holds no attention to show; give it encoder_attention, "
            "decoder_attention or cross_attention"
        )
    return trace


def _check_alike(trace: ForwardTrace, compare: ForwardTrace) -> None:
    one, other = (
        {kind: list(each.attention(kind).shape) for kind in each.kinds} for each in (trace, compare)
    )
    if one != other:
        raise UserError(
            f"compare= holds {other} as [layer, head, query, key], but the trace holds {one}; "
            "compare traces of equal shapes, such as two sentences of equally many tokens"
        )
