"""The weights between two words of a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray, ForwardTrace, attention_of

#: What tokenizers write before a token that begins a word.
_MARKS = ("Ġ", "▁")


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
        begun = [mark + word.lstrip(" ·") for mark in _MARKS]
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
