"""Tokens and words: special tokens, pieces merged into words, and the weights of one word or of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, attention_of

#: Tokens for a sequence's start, end, padding and separators, as tokenizers write them. ``<unk>`` and
#: ``<mask>`` are not among them: each stands for a word.
_SPECIAL = frozenset(
    f"{left}{name}{right}"
    for left, right in ("<>", "[]")
    for name in ("bos", "cls", "eos", "pad", "sep", "sos")
) | {"<s>", "</s>"}
#: What encoders put between two sentences.
_BETWEEN = frozenset({"[sep]", "<sep>", "</s>"})
#: GPT-2's ``<|endoftext|>`` and its like. Full-width bars are DeepSeek's.
_BARRED = re.compile(r"<[|\uff5c][\w\u2581 ]+[|\uff5c]>")


def special_tokens(tokens: Sequence[str]) -> list[bool]:
    """Return which tokens are special rather than text, one bool a token.

    They are recognised by their spelling alone: ``<sos> <eos> <pad> [CLS] [SEP] <s> </s>
    <|endoftext|>`` and their like. ``<unk>``, ``[MASK]`` and all other words in brackets are text.

    >>> import viz_transformer as vt
    >>> vt.analysis.special_tokens(["<sos>", "el", "gato"])
    [True, False, False]

    Args:
        tokens: as the model reads them.
    """
    return [token.lower() in _SPECIAL or _BARRED.fullmatch(token) is not None for token in tokens]


def sentence_segments(tokens: Sequence[str]) -> list[int]:
    """Return which sentence of a pair each token belongs to, 0 or 1; an empty list for one sentence.

    Sentence B begins after the first ``[SEP]``, ``<sep>`` or ``</s>``, or after two in a row as RoBERTa
    writes them, as BERT's ``token_type_ids`` have it.

    >>> import viz_transformer as vt
    >>> vt.analysis.sentence_segments(["[CLS]", "yes", "[SEP]", "no", "[SEP]"])
    [0, 0, 0, 1, 1]

    Args:
        tokens: as the model reads them.
    """
    ends = [token.lower() in _BETWEEN for token in tokens]
    start = ends.index(True) + 1 if any(ends) else len(tokens)
    while start < len(tokens) and ends[start]:
        start += 1
    if all(special_tokens(tokens[:start])) or all(special_tokens(tokens[start:])):
        return []
    return [int(place >= start) for place in range(len(tokens))]


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

    The views do the same in widgets/explorer/displayed_head.ts.

    Args:
        tokens: the tokens of the axis.
        words: the number of each token's word, or None where it belongs to none. Neighbours of
            one number are one word.
        special: which tokens are no words; those of `special_tokens` if None.
        hide_special: whether to leave these out; where all are special, none is.
        merge_words: whether to merge; else every token is a word of its own.
        keep: which tokens are shown, besides; all if None.
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
    """Return the word number of each query of a kind as it is named, or None if it is unknown.

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
    """Return the word number of each key of a kind, or None if it is unknown."""
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


#: What tokenizers write before a token that begins a word.
_BEGINNINGS = ("Ġ", "▁")


def word_index(tokens: Sequence[str], word: int | str) -> int:
    """Return the position of a word; a position is returned as it is.

    >>> import viz_transformer as vt
    >>> vt.analysis.word_index(["the", "black", "cat"], "cat")
    2

    Args:
        tokens: the sentence.
        word: one of them, with a tokenizer's sign for a space or as people write it; or its position.

    Raises:
        UserError: if the word is not there, or is there more than once.
    """
    if isinstance(word, str):
        begun = [mark + word.lstrip(" ·") for mark in _BEGINNINGS]
        names = (word, *begun) if word[:1] not in (" ", "·") else (word, *begun, word.lstrip(" ·"))
        found = next((name for name in names if name in tokens), word)
        places = [index for index, token in enumerate(tokens) if token == found]
        if len(places) == 1:
            return places[0]
        if places:
            raise UserError(f"{word!r} is at positions {places}; give one of them")
    elif isinstance(word, int | np.integer) and 0 <= word < len(tokens):
        return word
    sentence = " ".join(re.sub("^[Ġ▁]+", lambda marks: "·" * len(marks[0]), token) for token in tokens)
    raise UserError(f"{shown(word)} is not in {sentence!r}; choose one of its words")


def weights_between(trace: ForwardTrace, kind: str, query: int | str, key: int | str) -> FloatArray:
    """Return how much every head lets `query` look at `key`: float32 ``[layer, head]``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.weights_between(trace, "cross", "gato", "cat").shape  # layers, heads
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        query: the word that looks (for a decoder, the word being written), or its position.
        key: the word that is looked at, or its position.

    Raises:
        UserError: if the trace lacks the kind or a word.
    """
    weights = attention_of(trace, kind)  # [layer, head, query, key]
    row = word_index(trace.query_tokens(kind), query)
    column = word_index(trace.key_tokens(kind), key)
    return weights[:, :, row, column]  # [layer, head]


def row_of_queries(weights: FloatArray, queries: int | Sequence[int], how: str = "mean") -> FloatArray:
    """Return what several queries give to each key, averaged or summed.

    >>> import numpy as np
    >>> from viz_transformer.analysis import row_of_queries
    >>> row_of_queries(np.array([[1.0, 0.0], [0.5, 0.5]]), [0, 1]).tolist()
    [0.75, 0.25]

    Args:
        weights: ``[..., query, key]``, such as a trace's attention.
        queries: a position, or several.
        how: ``"mean"``, whose weights sum to 1 again, or ``"sum"``.

    Returns:
        float32 ``[..., key]``.

    Raises:
        UserError: if there is no such query or `how`.
    """
    places, n = np.atleast_1d(np.asarray(queries)), weights.shape[-2]
    if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size or not (places >= 0).all():
        raise UserError(f"{shown(queries)} names no queries; give positions, counted from 0, such as [3, 4]")
    if places.max() >= n:
        raise UserError(f"{shown(queries)} is not among the {n} queries; choose from 0 to {n - 1}")
    if how not in ("mean", "sum"):
        raise UserError(f"how={how!r}; choose 'mean' or 'sum'")
    rows = weights[..., places, :].astype(np.float32)  # [..., chosen query, key]
    return rows.mean(axis=-2) if how == "mean" else rows.sum(axis=-2)
