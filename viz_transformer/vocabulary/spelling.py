"""Spelling: text split into words and marks, and the known word that a typed one stands for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from viz_transformer._text import CLOSING_MARKS, OPENING_MARKS, given_text

#: Each is a token of its own, wherever it stands.
MARKS = frozenset(OPENING_MARKS + CLOSING_MARKS + '"')
_ANY_MARK = re.escape("".join(sorted(MARKS)))
_TOKENS = re.compile(rf"[{_ANY_MARK}]|[^\s{_ANY_MARK}]+")
_CONTRACTIONS = [
    (re.compile(pattern, re.IGNORECASE), spelled_out)
    for pattern, spelled_out in (
        (r"\bwon't\b", "will not"),
        (r"\bcan't\b", "can not"),
        (r"n't\b", " not"),
        (r"\bi'm\b", "i am"),
        (r"'re\b", " are"),
        (r"\b(it|he|she|that|what|where|who)'s\b", r"\1 is"),
    )
]
_SENTENCE_ENDS = re.compile(
    r'(?<=[.!?])(?<!\.\.)["”»)]*\s+'  # "..." ends no sentence
    r"|(?<=[^\W\d]{2}[.!?])(?=[^\W\d]{2})"  # no space was typed; neither "3.5" nor "e.g." has two
    r"|(?<=[!?])(?=[¿¡])"
)


def split_text(text: str) -> list[str]:
    """Split text into words and punctuation marks as they are typed, contractions spelled out.

    >>> split_text("¿Dónde está María?")
    ['¿', 'Dónde', 'está', 'María', '?']

    Raises:
        UserError: if it is no text.
    """
    text = given_text(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if "'" in text:
        for pattern, spelled_out in _CONTRACTIONS:
            text = pattern.sub(spelled_out, text)
    return _TOKENS.findall(text)


def tokenize(text: str) -> list[str]:
    """Split text into plain words: lower case, without punctuation, contractions spelled out.

    >>> from viz_transformer.vocabulary import tokenize
    >>> tokenize("The cat didn't cross.")
    ['the', 'cat', 'did', 'not', 'cross']

    Args:
        text: any text.

    Raises:
        UserError: if it is no text.
    """
    return [_composed(word.lower()) for word in split_text(text) if word not in MARKS]


def split_sentences(text: str) -> list[str]:
    """Split text after each ``.``, ``!`` or ``?`` that ends a sentence.

    >>> from viz_transformer.vocabulary import split_sentences
    >>> split_sentences("The cat sleeps. Who sees it?")
    ['The cat sleeps.', 'Who sees it?']

    Args:
        text: any text.

    Raises:
        UserError: if it is no text.
    """
    parts = (part.strip() for part in _SENTENCE_ENDS.split(given_text(text)))
    return [part for part in parts if any(token not in MARKS for token in _TOKENS.findall(part))]


class Spellings:
    """Some words, found by what people type.

    A typed word stands for the word that is spelled exactly so. If there is none, case is ignored;
    then accents, though ñ is still a letter of its own; and last its tilde. So *esta* finds *esta*
    where that is a word, and *está* where it is not. Of several words that are then alike, the
    plainest is found: with the fewest accents, in lower case, first in the alphabet.
    """

    def __init__(self, words: Iterable[str]) -> None:
        """Sort the words by each way to ignore something."""
        plainest_first = sorted(words, key=_plainness)
        self._found_by: list[tuple[Callable[[str], str], dict[str, str]]] = [
            (key, {key(word): word for word in reversed(plainest_first)})
            for key in (str, _composed, _lower, _without_accents, fold)
        ]

    def find(self, typed: str) -> str | None:
        """Return the word that a typed one stands for; None if there is none."""
        for key, words in self._found_by:
            if (word := words.get(key(typed))) is not None:
                return word
        return None


def fold(word: str) -> str:
    """Return a word without case, accents and tilde, to compare it with others."""
    return _without_accents(word).replace("ñ", "n")


def _composed(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def _lower(word: str) -> str:
    return _composed(word.casefold())


def _without_accents(word: str) -> str:
    """Return a word in lower case without accents; the tilde of ñ stays."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word.casefold()):
        belongs_to_n = char == "\N{COMBINING TILDE}" and kept[-1:] == ["n"]
        if not unicodedata.combining(char) or belongs_to_n:
            kept.append(char)
    return _composed("".join(kept)) or word  # a word of accents alone stays


def _plainness(word: str) -> tuple[int, bool, str]:
    n_accents = sum(map(bool, map(unicodedata.combining, unicodedata.normalize("NFD", word))))
    return n_accents, word != word.lower(), word
