"""Words and punctuation marks joined as people write them."""

from __future__ import annotations

from collections.abc import Iterable

#: Marks with no space after them, and marks with none before them.
OPENING_MARKS = "¿¡“«("
CLOSING_MARKS = ".,;:!?…”»)"


def join_tokens(tokens: Iterable[str]) -> str:
    """Return words and punctuation marks as text: a space between words, none inside ``¿…?``.

    >>> join_tokens(["¿", "dónde", "está", "el", "gato", "?"])
    '¿dónde está el gato?'

    The views do the same in widgets/base/js/text.js.
    """
    text, attached = "", True
    for token in tokens:
        text += token if attached or is_mark(token, CLOSING_MARKS) else f" {token}"
        attached = is_mark(token, OPENING_MARKS)
    return text


def is_mark(token: str, marks: str) -> bool:
    """Whether a token is one of some punctuation marks."""
    return len(token) == 1 and token in marks
