"""What a model's vocabulary can do, whether its tokens are words or pieces of words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from viz_transformer.vocabulary.words import Side


class Tokeniser(Protocol):
    """Text to ids and back: `Vocabulary` by words, `Subwords` by pieces of words.

    Attributes:
        pad_id, sos_id, eos_id: ids of ``<pad>``, ``<sos>`` and ``<eos>``: 0, 1, 2.
        tokens: all tokens, as they are shown, by id.
        languages: the names of the source's and the target's language.
    """

    pad_id: int
    sos_id: int
    eos_id: int
    tokens: tuple[str, ...]
    languages: tuple[str, str]

    def __len__(self) -> int:
        """Return the number of tokens, special ones included."""

    def words(self, side: Side = "source") -> tuple[str, ...]:
        """Return the tokens that may stand in a sentence of one side."""

    def words_of(self, text: str) -> list[str]:
        """Return the words that a text is made of; joined by spaces they are the same text."""

    def encode(self, text: str, side: Side = "source") -> list[int]:
        """Turn text into ids, without ``<sos>`` and ``<eos>``."""

    def source_ids(self, text: str) -> list[int]:
        """Turn text into what the encoder reads: its ids, then ``<eos>``."""

    def target_ids(self, text: str) -> list[int]:
        """Turn text into a whole translation: ``<sos>``, its ids, ``<eos>``."""

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; special tokens are left out."""

    def ids_of(self, tokens: Iterable[str]) -> list[int]:
        """Turn token strings into ids."""

    def tokens_of(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Turn ids into token strings, special ones included."""

    def word_numbers(self, ids: Iterable[int]) -> tuple[int | None, ...] | None:
        """Return which word each token is a piece of; None where every token is a word."""

    def to_json(self) -> str:
        """Return the vocabulary as JSON."""
