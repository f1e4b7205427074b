"""The word vocabulary: one joint vocabulary for both languages.

Text is split on spaces after it has been written the way the corpus is: lower case, no
punctuation, no accents (``ñ`` is a letter of its own and stays), contractions spelled out.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence

from viz_transformer.errors import UserError
from viz_transformer.vocabulary.tokeniser import MASK, SPECIAL_TOKENS, Side, Tokeniser

_CONTRACTIONS = (
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b", "can not"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "i am"),
    (r"'re\b", " are"),
    (r"\b(it|he|she|that|what|where|who)'s\b", r"\1 is"),
)
_COMBINING_TILDE = "\N{COMBINING TILDE}"


def tokenize(text: str) -> list[str]:
    """Split text into words as the corpus writes them.

    >>> tokenize("The cat didn't cross.")
    ['the', 'cat', 'did', 'not', 'cross']
    """
    text = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for pattern, spelled_out in _CONTRACTIONS:
        text = re.sub(pattern, spelled_out, text)
    text = "".join(" " if _is_sentence_mark(char) else char for char in text)
    return [_fold_accents(word) for word in text.split()]


def _is_sentence_mark(char: str) -> bool:
    return char in '.,;:!?¡¿"“”«»…()'


def _fold_accents(word: str) -> str:
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        belongs_to_n = char == _COMBINING_TILDE and kept and kept[-1] == "n"
        if not unicodedata.combining(char) or belongs_to_n:
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _similarity(word: str, known: str) -> float:
    """Return how similarly two words are spelled; typing errors seldom change the first letter."""
    same_start = word[:1] == known[:1]
    return difflib.SequenceMatcher(None, word, known).ratio() + 0.25 * same_start


class UnknownWordError(UserError):
    """A text holds words that the vocabulary does not know.

    Attributes:
        words: the unknown words, in the order of the text.
        suggestions: for each of them the nearest known words, nearest first.
    """

    def __init__(self, suggestions: dict[str, list[str]], language: str) -> None:
        """Name each unknown word with its nearest known ones."""
        self.words = tuple(suggestions)
        self.suggestions = suggestions
        hints = [
            f"unknown {language} word {word!r} (did you mean {_alternatives(near)}?)"
            for word, near in suggestions.items()
        ]
        super().__init__("; ".join(hints))


def _alternatives(words: Sequence[str]) -> str:
    *firsts, last = (repr(word) for word in words)
    return f"{', '.join(firsts)} or {last}" if firsts else last


class Vocabulary(Tokeniser):
    """A joint vocabulary: ``<pad> <sos> <eos>`` are ids 0 1 2, then all words, sorted.

    A word that both languages spell alike (*animal*, *no*) has one id; each side still knows only
    its own words, so a Spanish word typed as English is reported and not translated into noise.
    """

    def __init__(
        self,
        source_words: Iterable[str],
        target_words: Iterable[str],
        *,
        languages: tuple[str, str] = ("English", "Spanish"),
        mask: bool = False,
    ) -> None:
        """Make a vocabulary from the words of both sides; with `mask`, ``<mask>`` is its last token.

        Raises:
            UserError: if a word is a special token or holds white space.
        """
        self._words: dict[Side, frozenset[str]] = {
            "source": frozenset(source_words),
            "target": frozenset(target_words),
        }
        self.languages = languages
        words = self._words["source"] | self._words["target"]
        for word in sorted(words):
            if word in (*SPECIAL_TOKENS, MASK) or word.split() != [word]:
                raise UserError(f"{word!r} cannot be a word; give words without spaces or <tags>")
        self.tokens: tuple[str, ...] = (*SPECIAL_TOKENS, *sorted(words), *([MASK] if mask else ()))
        self._ids = {token: index for index, token in enumerate(self.tokens)}

    def __eq__(self, other: object) -> bool:
        """Equal vocabularies give equal ids and know the same words on each side."""
        return isinstance(other, Vocabulary) and (self._words, self.tokens) == (other._words, other.tokens)

    @property
    def mask_id(self) -> int | None:
        """The id of ``<mask>``, or None where the vocabulary has none."""
        return self._ids.get(MASK)

    def words(self, side: Side = "source") -> tuple[str, ...]:
        """Return one side's words, sorted."""
        return tuple(sorted(self._words[side]))

    def words_of(self, text: str) -> list[str]:
        """Return the words that a text is made of, as `tokenize` writes them."""
        return tokenize(text)

    def encode(self, text: str, side: Side = "source") -> list[int]:
        """Turn text into ids, without ``<sos>`` and ``<eos>``.

        Raises:
            UnknownWordError: if a word is not known on that side; nearest known ones are named.
            UserError: if the text holds no word at all.
        """
        words = tokenize(text)
        language = self.languages[0 if side == "source" else 1]
        if not words:
            raise UserError(f"{text!r:.40} holds no word; type a sentence in {language}")
        known = self._words[side] | ({MASK} & self._ids.keys())
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        if unknown:
            raise UnknownWordError({word: self.nearest(word, side) for word in unknown}, language)
        return [self._ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; special tokens are left out."""
        return " ".join(token for token in self.tokens_of(ids) if token not in SPECIAL_TOKENS)

    def word_numbers(self, ids: Iterable[int]) -> None:
        """Return None: every token is a word."""

    def nearest(self, word: str, side: Side = "source", n: int = 3) -> list[str]:
        """Return the `n` known words that are spelled most like `word`, nearest first."""
        similarity = {known: _similarity(word, known) for known in self.words(side)}
        nearest = sorted(similarity, key=lambda known: (-similarity[known], known))[:n]
        return [known for known in nearest if similarity[known] >= 0.6] or nearest[:1]

    def to_json(self) -> str:
        """Return the vocabulary as JSON."""
        return json.dumps(
            {
                "languages": self.languages,
                "source_words": self.words("source"),
                "target_words": self.words("target"),
                **({"mask": True} if MASK in self._ids else {}),
            },
            ensure_ascii=False,
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read what `to_json` wrote.

        Raises:
            UserError: if the text is not such JSON.
        """
        try:
            read = json.loads(text)
            first, second = read["languages"]
            return cls(
                read["source_words"],
                read["target_words"],
                languages=(first, second),
                mask=read.get("mask", False),
            )
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(
                f"the vocabulary is not what Vocabulary.to_json wrote ({error}); write it again"
            ) from error
