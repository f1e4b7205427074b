"""Weights between words rather than tokens: pieces merged, special tokens left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.tokens import special_tokens
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace

Words = Sequence[int | None] | None

#: Bytes in a row: pieces of a character, such as of 你, are named by them.
_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
#: The mark of a space at the beginning of a piece, inside a word that somebody gave as one.
_INNER_SPACE = re.compile("^[▁Ġ]")


class WordAxis(NamedTuple):
    """The words along one axis of a matrix.

    Attributes:
        groups: the positions of each word's tokens; a position in none is left out.
        names: the words, a name for each group.
        n_tokens: how many tokens the axis has.
    """

    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    n_tokens: int


def word_axis(
    tokens: Sequence[str],
    words: Words = None,
    *,
    special: Sequence[bool] | None = None,
    hide_special: bool = False,
    merge_words: bool = True,
    keep: Sequence[bool] | None = None,
) -> WordAxis:
    """Return the words that tokens are the pieces of.

    Args:
        tokens: the tokens of the axis.
        words: the number of each token's word, or None where it belongs to none. Neighbours of
            one number are one word.
        special: which tokens are no words; those of `special_tokens` if None.
        hide_special: whether to leave these out; where all are special, none is.
        merge_words: whether to merge; else every token is a word of its own.
        keep: which tokens are shown, besides; all if None.

    Raises:
        UserError: if there is not one number, or None, for each token.

    The views do the same in widgets/explorer/displayed_head.ts.
    """
    if words is not None and len(words) != len(tokens):
        raise UserError(
            f"words holds {len(words)} numbers for {len(tokens)} tokens; give one, or None, for each token"
        )
    special = special_tokens(tokens) if special is None else special
    keep = [True] * len(tokens) if keep is None else keep
    hide_special = hide_special and not all(special[place] for place in range(len(tokens)) if keep[place])
    groups: list[list[int]] = []
    for place in range(len(tokens)):
        if not keep[place] or (hide_special and special[place]):
            continue
        word = words[place] if words is not None and merge_words else None
        joins = groups and groups[-1][-1] == place - 1 and word is not None
        if joins and words is not None and words[place - 1] == word:
            groups[-1].append(place)
        else:
            groups.append([place])
    names = tuple(
        join_pieces(
            [tokens[place] for place in group],
            merge_words and words is not None and words[group[0]] is not None,
        )
        for group in groups
    )
    return WordAxis(tuple(map(tuple, groups)), names, len(tokens))


def between_words(weights: FloatArray, queries: WordAxis, keys: WordAxis) -> FloatArray:
    """Return weights ``[query word, key word]`` of weights ``[query, key]``.

    What goes to a word is the sum over its pieces, and what comes from one is their mean: so rows
    still sum to 1, unless a key is left out.

    Source: Clark et al. 2019, "What Does BERT Look At?", section 4.1.
    """
    merged = _averaging(queries) @ weights @ _summing(keys).T  # [query word, key word]
    return np.asarray(merged, dtype=np.float32)


def query_words(trace: ForwardTrace, kind: str) -> Words:
    """Return the word number of each query of a kind as it is named, or None if they were not counted.

    A decoder's query is named by the word that it writes, which is read one position later. Where
    another word was read there than was written, and for the last, it is unknown: None.
    """
    side = KINDS[kind].query
    words = getattr(trace, f"{side}_words")
    if words is None or side == "source" or trace.output_tokens is None:
        return words
    following = zip(trace.output_tokens, trace.target_tokens[1:], words[1:], strict=False)
    return (*(word if out == read else None for out, read, word in following), None)


def key_words(trace: ForwardTrace, kind: str) -> Words:
    """Return the word number of each key of a kind, or None if they were not counted."""
    return getattr(trace, f"{KINDS[kind].key}_words")


def has_words(trace: ForwardTrace, kind: str) -> bool:
    """Return whether it is known which queries, or which keys, of a kind are pieces of one word."""
    return query_words(trace, kind) is not None or key_words(trace, kind) is not None


def check_words(trace: ForwardTrace, *kinds: str) -> None:
    """Raise a UserError if no kind has words, by which pieces could be merged."""
    if not any(has_words(trace, kind) for kind in kinds):
        raise UserError(
            "merge_words=True, but this trace does not know which tokens are pieces of one word; give each "
            "token the number of its word: vt.capture(..., words=[0, 1, 1, 2]), or "
            f"dataclasses.replace(trace, {KINDS[kinds[-1]].key}_words=[0, 1, 1, 2])"
        )


def _summing(axis: WordAxis) -> NDArray[np.float32]:
    member = np.zeros((len(axis.groups), axis.n_tokens), dtype=np.float32)  # [word, token]
    for word, group in enumerate(axis.groups):
        member[word, list(group)] = 1
    return member


def _averaging(axis: WordAxis) -> NDArray[np.float32]:
    member = _summing(axis)
    return member / member.sum(axis=1, keepdims=True)


def join_pieces(pieces: list[str], is_word: bool = False) -> str:
    """One word of its pieces, without the marks that tokenizers put on them.

    A piece alone keeps its marks, unless it is known to be a word.
    """
    if len(pieces) == 1 and not is_word:
        return pieces[0]
    first, *others = (piece.removesuffix("@@") for piece in pieces)
    word = first + "".join(_INNER_SPACE.sub(" ", piece.removeprefix("##")) for piece in others)
    word = _BYTES.sub(_as_text, word)
    return (word[1:] if word[:1] in ("▁", "Ġ") else word).removesuffix("</w>") or word


def _as_text(run: re.Match[str]) -> str:
    """Return the characters that a run of bytes spells, or the run if it spells none."""
    try:
        return bytes.fromhex(run[0].replace("<0x", "").replace(">", "")).decode("utf-8")
    except UnicodeDecodeError:
        return run[0]
