"""What is given as text, words and punctuation marks joined as people write them, and text without markup."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Set
from itertools import islice
from typing import Any

from viz_transformer.errors import UserError

#: Marks with no space after them, and marks with none before them.
OPENING_MARKS = "¿¡“«("
CLOSING_MARKS = ".,;:!?…”»)"
#: No model reads more tokens at once; what is made one by one may have no end.
_MOST_TEXTS = 1_000_000


def given_text(text: Any, what: str = "the text") -> str:
    """Return what was given as text, with ``�`` for half a character, which no file or page can hold.

    Raises:
        UserError: if it is no text.
    """
    if not isinstance(text, str):
        raise UserError(
            f"{what} is {described(text)}, and text is expected; give it in quotation marks, such as "
            "'the cat is black'"
        )
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def given_heading(text: Any, what: str = "title") -> str:
    """Return what was given as a heading, with a character that would turn its direction named: ``<U+202E>``.

    Raises:
        UserError: if it is no text.
    """
    return _TURNING.sub(lambda found: code_point(found[0]), given_text(text, what))


def code_point(char: str) -> str:
    """Return the name of a character that cannot be shown itself."""
    return f"<U+{ord(char):04X}>"


def given_texts(texts: Any, what: str = "the tokens") -> tuple[str, ...]:
    """Return what was given as several texts, such as the tokens of a sentence, as they are.

    What is made one by one, such as by a generator, is read up to its end.

    Raises:
        UserError: if it is no sequence of texts, or has no order, as a set has none.
    """
    try:
        # A tensor holds no text, and would make every row before it gives the first.
        several = not (isinstance(texts, str | bytes | Set) or hasattr(texts, "detach"))
        found = tuple(islice(texts, _MOST_TEXTS + 1)) if several else None
    except Exception:  # an array of no axis, or a type that does anything
        found = None
    if found is None or len(found) > _MOST_TEXTS or not all(isinstance(text, str) for text in found):
        raise UserError(
            f"{what} must be a sequence of strings, one per position, not {described(texts)}; for a "
            "sentence, give its tokens: sentence.split()"
        )
    return found


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = 60


def shown(value: Any) -> str:
    """Return a value as Python writes it in one short line, whatever the value is."""
    return " ".join(_repr.repr(value).split())


def described(value: Any) -> str:
    """Return a value and its type in one short line, whatever the value is."""
    return f"{shown(value)} ({type(value).__name__})"


def quoted(text: str, most: int = 60) -> str:
    """Return text in quotation marks, cut where it is longer than `most` letters."""
    return repr(text if len(text) <= most else f"{text[:most]}…")


def join_tokens(tokens: Iterable[str]) -> str:
    """Return words and punctuation marks as text: a space between words, none inside ``¿…?``.

    >>> from viz_transformer.vocabulary import join_tokens
    >>> join_tokens(["¿", "dónde", "está", "el", "gato", "?"])
    '¿dónde está el gato?'

    The views do the same in widgets/base/text.ts.

    Args:
        tokens: words and punctuation marks.
    """
    text, attached = "", True
    for token in tokens:
        text += token if attached or is_mark(token, CLOSING_MARKS) else f" {token}"
        attached = is_mark(token, OPENING_MARKS)
    return text


def is_mark(token: str, marks: str) -> bool:
    """Whether a token is one of some punctuation marks."""
    return len(token) == 1 and token in marks


_LINK = re.compile(r"\[([^\][]+)\]\(([^()\s]+)\)")
_MARKS = re.compile(r"`([^`]+)`|(?<![\w*])(\*\*?)([^\s*](?:[^*]*[^\s*])?)\2(?![\w*])")


def without_markup(text: str) -> str:
    """Return prose with ``*emphasis*``, ``code`` in backticks and links as one plain paragraph.

    >>> without_markup("The *key*: see [the paper](https://arxiv.org/abs/1706.03762).")
    'The key: see the paper (https://arxiv.org/abs/1706.03762).'

    The views make the same markup into elements, in widgets/base/prose.ts.
    """
    plain = _MARKS.sub(lambda found: found[1] or found[3], _LINK.sub(r"\1 (\2)", text))
    return " ".join(plain.split())
