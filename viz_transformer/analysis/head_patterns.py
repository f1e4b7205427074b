"""Patterns that a head may follow: the keys of each name, the informative rows, and each head's share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.measures import Float64, as_weights, attending, reachable_keys
from viz_transformer.analysis.words import special_tokens
from viz_transformer.trace import KINDS, ForwardTrace, shares_of

Bools = NDArray[np.bool_]

#: How far a positional head may look back or ahead.
FARTHEST = 8
_SHIFTS = (*range(-2, -FARTHEST - 1, -1), *range(2, FARTHEST + 1))
#: Special tokens that open or fill a sequence, and so are no separators.
_OPENING = re.compile(r"[<\[](bos|cls|pad|sos|s)[>\]]", re.IGNORECASE)
#: What tokenizers write before or behind a token's text.
_MARKS = re.compile(r"^(?:##|[▁Ġ])|</w>$")


class Pattern(NamedTuple):
    """A name, the cells of the matrix that it means, and the queries that distinguish it from others.

    Attributes:
        name: such as ``"previous token"``.
        where: the keys in words, behind "puts its weight".
        queries: int ``[cell]``, the row of each cell.
        keys: int ``[cell]``, its column.
        rows: bool ``[query]``, those in which no other name means the same keys.
        n_alike: how many patterns differ from this one in a number alone, itself included.
    """

    name: str
    where: str
    queries: NDArray[np.int64]
    keys: NDArray[np.int64]
    rows: Bools
    n_alike: int = 1

    def on_keys(self, head: Float64) -> Float64:
        """Return each query's weight on the keys that are meant, ``[query]``, of ``[query, key]``."""
        weights = head[self.queries, self.keys]  # [cell]
        return np.bincount(self.queries, weights, len(self.rows)).astype(np.float64)  # [query]

    def n_keys(self) -> NDArray[np.int64]:
        """Return how many keys each query means, ``[query]``."""
        return np.bincount(self.queries, minlength=len(self.rows))  # [query]


def head_patterns(trace: ForwardTrace, kind: str) -> list[Pattern]:
    """Return every pattern of a kind, for any trace the same names in the same order.

    `label_heads` says what each name means. A pattern that the tokens leave no room for has no rows.
    """
    tokens = trace.key_tokens(kind)
    if kind == "cross":
        n_queries = len(trace.query_tokens(kind))
        return [*_cross_patterns(n_queries, len(tokens)), _separator(kind, n_queries, tokens)]
    words = trace.source_words if KINDS[kind].key == "source" else None
    n = len(tokens)
    repeats = [*_repeats(kind, tokens)]
    # Of a text that repeats itself evenly, each copy is also so many positions away.
    taken = np.zeros((n, n), dtype=bool)  # [query, key]
    for each in repeats:
        taken[each.queries, each.keys] = True
    return [
        *_neighbours(kind, n),
        *(_shifted(kind, n, shift, taken) for shift in _SHIFTS),
        *repeats,
        *([_same_word(n, words)] if kind == "encoder" else []),
        _separator(kind, n, tokens),
    ]


def separator_tokens(tokens: Sequence[str]) -> list[bool]:
    """Return which tokens separate: punctuation, and special tokens that neither open nor fill."""
    special = special_tokens(tokens)
    return [
        _OPENING.fullmatch(token) is None if is_special else _is_punctuation(_MARKS.sub("", token))
        for token, is_special in zip(tokens, special, strict=True)
    ]


def _is_punctuation(text: str) -> bool:
    return bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text)


def _pattern(name: str, where: str, meant: Bools, rows: Bools, n_alike: int = 1) -> Pattern:
    """Make a pattern of the cells that it means, ``[query, key]``."""
    queries, keys = np.nonzero(meant)
    return Pattern(name, where, queries, keys, rows, n_alike)


def _cross_patterns(n_queries: int, n_keys: int) -> Iterator[Pattern]:
    query, key = np.arange(n_queries)[:, None], np.arange(n_keys)
    everyone = np.ones(n_queries, dtype=bool)
    line = query * (n_keys - 1) / max(1, n_queries - 1)  # [query, 1], from corner to corner
    where = "within one position of the straight line through both sentences"
    yield _pattern("diagonal alignment", where, np.abs(key - line) <= 1, everyone)
    yield _pattern("first-token sink", "on the first token", (key == 0) & (query >= 0), everyone)
    yield _pattern("last-token sink", "on the last token", (key == n_keys - 1) & (query >= 0), everyone)


def _neighbours(kind: str, n: int) -> Iterator[Pattern]:
    query, key = np.arange(n)[:, None], np.arange(n)
    telling = np.arange(n) >= 2
    yield _pattern("previous token", "on the token before", key == query - 1, telling)
    has_next = telling & (np.arange(n) < n - 1)
    yield _pattern("next token", "on the token after", key == query + 1, has_next)
    # A decoder's row is named by the word that it writes; its own position holds the one before.
    itself = "on the token itself" if kind == "encoder" else "on its own position, the token just read"
    yield _pattern("same token", itself, key == query, telling)
    yield _pattern("first-token sink", "on the first token", (key == 0) & (query >= 0), telling)
    if kind == "encoder":  # a decoder's queries cannot look so far
        last, before = (key == n - 1) & (query >= 0), np.arange(n) < n - 2
        yield _pattern("last-token sink", "on the last token", last, before)


def _shifted(kind: str, n: int, shift: int, taken: Bools) -> Pattern:
    """Return the pattern of a head that looks so many positions ahead, or back if below 0."""
    key = np.arange(n) + shift  # [query], of each query the key that is meant
    last = n - 2 if kind == "encoder" else n - 1
    rows = (key >= 1) & (key <= last)  # [query]: the first and the last token have their own names
    rows[rows] &= ~taken[np.flatnonzero(rows), key[rows]]
    meant = np.arange(n) == key[:, None]  # [query, key]
    side = "before" if shift < 0 else "after"
    where = f"on the token {abs(shift)} positions {side}"
    name = f"offset {shift:+d}".replace("-", "−")  # a true minus, as in every view
    return _pattern(name, where, meant, rows, len(_SHIFTS))


def _repeats(kind: str, tokens: Sequence[str]) -> Iterator[Pattern]:
    """Yield the patterns of tokens that occur more than once; special ones do not count."""
    n = len(tokens)
    query, key = np.arange(n)[:, None], np.arange(n)
    numbers = np.unique(np.array(tokens, dtype=object), return_inverse=True)[1]  # [token]
    text = ~np.array(special_tokens(tokens), dtype=bool)
    copies = (numbers[:, None] == numbers) & text & (key != query)  # [query, key]
    if kind == "encoder":
        copies &= key != n - 1  # the last token has its own name
        yield _of_copies("duplicate token", "on other copies of the same token", copies)
        return
    copies &= key < query
    yield _of_copies("duplicate token", "on earlier copies of the token just read", copies)
    after = np.zeros_like(copies)  # [query, key]
    after[:, 1:] = copies[:, :-1]
    yield _of_copies("induction", "on the token after an earlier copy of the token just read", after)


def _of_copies(name: str, where: str, meant: Bools) -> Pattern:
    """Make a pattern whose rows count only if all that they mean lies apart.

    A copy that is the query itself, its neighbour or the first token has another name too.
    """
    n = len(meant)
    query, key = np.arange(n)[:, None], np.arange(n)
    near = (np.abs(key - query) <= 1) | (key == 0)  # [query, key]
    return _pattern(name, where, meant, meant.any(axis=1) & ~(meant & near).any(axis=1))


def _same_word(n: int, words: Sequence[int | None] | None) -> Pattern:
    """Return the pattern of a head that holds the pieces of a word together."""
    numbers = words or (None,) * n
    run = np.cumsum(
        [0, *(int(one != other) for one, other in pairwise(numbers))]
    )  # [token]: neighbours of one number are one word
    counted = np.array([number is not None for number in numbers], dtype=bool)
    meant = (run[:, None] == run) & counted & ~np.eye(n, dtype=bool)  # [query, key]
    return _pattern("same word", "on the other pieces of the same word", meant, meant.any(axis=1))


def _separator(kind: str, n_queries: int, tokens: Sequence[str]) -> Pattern:
    """Return the pattern of a head that rests on separators."""
    n_keys = len(tokens)
    query, key = np.arange(n_queries)[:, None], np.arange(n_keys)
    separating = np.array(separator_tokens(tokens), dtype=bool)
    separating[:1] = False  # the first token has its own name, and so has the last if it is alone
    if kind != "decoder" and not separating[:-1].any():
        separating[:] = False
    within = key <= query if kind == "decoder" else query >= 0
    meant = np.asarray(separating & within)  # [query, key]
    rows = np.asarray(meant.any(axis=1))  # [query]
    if kind != "cross":  # a separator at the query or beside it has another name too
        rows &= ~(meant & (np.abs(key - query) <= 1)).any(axis=1)
    return _pattern("separator", "on separators, such as punctuation, [SEP] or <eos>", meant, rows)


def pattern_scores(trace: ForwardTrace, kind: str) -> dict[str, Float64]:
    """Return for each name the share of its weight that each head puts there.

    The shares are the evidence of `label_heads`, for the heads that have no label too. Sort a grid
    of heads by one of them: ``vt.explore(trace, scores=analysis.pattern_scores(trace, "decoder"))``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.pattern_scores(trace, "encoder")["previous token"].shape
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Returns:
        By name float64 ``[layer, head]``, from 0 to 1: a mean over the rows that can tell. A name
        that has no such row in this text, or whose keys are masked, is left out; a head that
        attends to nothing has 0.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.
    """
    weights = shares_of(trace, kind)  # [layer, head, query, key]
    n_reachable = reachable_keys(weights, kind)  # [query]
    patterns = [
        pattern
        for pattern in head_patterns(trace, kind)
        if pattern.rows.any() and (pattern.keys < n_reachable[pattern.queries]).any()
    ]
    scores = {pattern.name: np.zeros(weights.shape[:2]) for pattern in patterns}  # [layer, head]
    for place in np.ndindex(weights.shape[:2]):
        head = as_weights(weights[place])  # [query, key]
        for pattern in patterns:
            on_keys = pattern.on_keys(head)[pattern.rows & attending(head)]  # [row]
            scores[pattern.name][place] = on_keys.mean() if on_keys.size else 0.0
    return scores
