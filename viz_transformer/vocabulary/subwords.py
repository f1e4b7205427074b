"""The subword vocabulary: byte-pair encoding, joint over both languages.

A piece that begins a word is written with a mark before it, ``▁the``; any other goes on with the
word, ``ing``. A character that training did not keep is written as its bytes, ``<0xC3>``: so no
text is unknown, and decoding gives back what was encoded.

Source: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword
Units"; the mark and the bytes are those of SentencePiece (Kudo and Richardson 2018).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from random import Random

from viz_transformer._bounds import TOKENS, at_most
from viz_transformer.errors import UserError
from viz_transformer.vocabulary.bpe import (
    MARK,
    learn_merges,
    make_dropout_segmenter,
    make_segmenter,
    normalised,
)
from viz_transformer.vocabulary.tokeniser import SPECIAL_TOKENS, Side, Tokeniser

_BYTES = tuple(f"<0x{value:02X}>" for value in range(256))
_N_FIXED = len(SPECIAL_TOKENS) + len(_BYTES)
_FORMAT = "viz_transformer.Subwords/1"


class Subwords(Tokeniser):
    """A joint vocabulary of pieces of words, in which every text can be written.

    ``<pad> <sos> <eos>`` are ids 0 1 2; then come 256 bytes, single characters, and longer pieces
    in the order in which they were merged. A text that spells ``<eos>`` is text like any other.

    >>> from viz_transformer.vocabulary import Subwords
    >>> pieces = Subwords("abc", [("a", "b")])
    >>> len(pieces)
    264

    Attributes:
        tokens: all tokens, as they are shown, by id.
        languages: the names of the source's and the target's language.
    """

    def __init__(
        self,
        characters: Sequence[str],
        merges: Sequence[tuple[str, str]],
        *,
        languages: tuple[str, str] = ("source", "target"),
    ) -> None:
        """Make a vocabulary from its single characters, and from pairs of pieces to merge.

        Raises:
            UserError: if a character is none, or a merge asks for a piece that is not there yet.
        """
        pieces = dict.fromkeys([MARK, *characters])
        if any(len(piece) != 1 or piece.isspace() for piece in pieces):
            raise UserError("the characters of Subwords must be single ones, and no white space")
        for first, second in merges:
            if first not in pieces or second not in pieces:
                raise UserError(
                    f"{first!r} and {second!r} cannot be merged before both are pieces; give "
                    "merges in the order in which they were learned"
                )
            pieces[first + second] = None
        self.tokens: tuple[str, ...] = (*SPECIAL_TOKENS, *_BYTES, *pieces)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) < len(self.tokens):
            raise UserError("a merge spells a special token or a byte; leave it out")
        self.languages = languages
        self._characters = tuple(characters)
        self._merges = tuple((first, second) for first, second in merges)
        self._segment: Callable[[str], tuple[int, ...]] | None = None

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        n_tokens: int = 8_000,
        languages: tuple[str, str] = ("source", "target"),
    ) -> Subwords:
        """Learn the pieces of some texts, the same ones for the same texts.

        Args:
            texts: sentences of both languages.
            n_tokens: how many tokens to make, special ones and bytes included; fewer if the texts
                have not as many pieces that occur twice.
            languages: the names of the source's and the target's language.

        Raises:
            UserError: if there is no text, `n_tokens` is too small, or the library is missing.
        """
        least = _N_FIXED + 41
        if type(n_tokens) is not int or n_tokens < least:
            raise UserError(
                f"n_tokens={n_tokens!r} is too small: {_N_FIXED} are special tokens and bytes; "
                f"give {least} or more, such as 8000"
            )
        at_most("n_tokens", n_tokens, TOKENS)
        characters, merges = learn_merges(texts, n_tokens - _N_FIXED)
        return cls(characters, merges, languages=languages)

    def __eq__(self, other: object) -> bool:
        """Equal vocabularies encode every text as the same ids."""
        return isinstance(other, Subwords) and self.tokens == other.tokens and self._merges == other._merges

    def words(self, side: Side = "source") -> tuple[str, ...]:
        """Return what may be in a sentence of either side: all pieces, without the bytes."""
        return self.tokens[_N_FIXED:]

    def words_of(self, text: str, side: Side = "source") -> list[str]:
        """Return the words that a text is made of, as `word_numbers` counts them."""
        return normalised(text).split()

    def encode(self, text: str, side: Side = "source") -> list[int]:
        """Turn text into ids, without ``<sos>`` and ``<eos>``.

        Raises:
            UserError: if the text is empty, or the library is missing.
        """
        text = normalised(text)
        if not text:
            raise UserError("the text holds no word; type a sentence")
        if self._segment is None:
            self._segment = make_segmenter(self._ids_of_text(), self._merges)
        return [index for word in text.split(" ") for index in self._segment(word)]

    def with_dropout(self, dropout: float, rng: Random) -> Subwords:
        """Return a copy that segments words into smaller pieces at random.

        A model that has seen words cut in several ways learns what their parts mean, and learns
        its sentences less by heart (BPE-dropout).

        Args:
            dropout: probability of leaving out a merge, 0 up to but not including 1.
            rng: the random generator.

        Raises:
            UserError: if the library is missing.

        Source: Provilkov, Emelianenko and Voita 2020, "BPE-Dropout".
        """
        randomised = copy(self)
        randomised._segment = make_dropout_segmenter(self._ids_of_text(), self._merges, dropout, rng)
        return randomised

    def _ids_of_text(self) -> dict[str, int]:
        """Return ids without the special tokens: what is not known cannot be found in a text."""
        n_special = len(SPECIAL_TOKENS)
        return {token: index for token, index in self._ids.items() if index >= n_special}

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; special tokens are left out, and broken characters become ``�``."""
        written = bytearray()
        for index in ids:
            if index >= _N_FIXED:
                written += self.tokens[index].replace(MARK, " ").encode()
            elif index >= len(SPECIAL_TOKENS):
                written.append(index - len(SPECIAL_TOKENS))
        return written.decode("utf-8", "replace").removeprefix(" ")

    def word_numbers(self, ids: Iterable[int]) -> tuple[int | None, ...]:
        """Return which word each token is a piece of, from 0; None for a special token."""
        numbers: list[int | None] = []
        word = -1
        for index in ids:
            if index < len(SPECIAL_TOKENS):
                numbers.append(None)
                continue
            word += self.tokens[index].startswith(MARK) or word < 0
            numbers.append(word)
        return tuple(numbers)

    def to_json(self) -> str:
        """Return the vocabulary as JSON."""
        return json.dumps(
            {
                "format": _FORMAT,
                "languages": self.languages,
                "characters": "".join(self._characters),
                "merges": [" ".join(pair) for pair in self._merges],
            },
            ensure_ascii=False,
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        """Read what `to_json` wrote.

        Raises:
            UserError: if the text is not such JSON.
        """
        try:
            read = json.loads(text)
            if read["format"] != _FORMAT:
                raise ValueError(f"another format: {read['format']!r:.40}")
            (one, other), merges = read["languages"], [each.split(" ") for each in read["merges"]]
            pairs = [(first, second) for first, second in merges]
            return cls(list(read["characters"]), pairs, languages=(one, other))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"the vocabulary is not what Subwords.to_json wrote ({error}); write it again"
            ) from error
