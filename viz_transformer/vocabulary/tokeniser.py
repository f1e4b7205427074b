"""The interface of vocabularies, whether their tokens are words or pieces of words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Literal

from viz_transformer._text import given_texts, quoted
from viz_transformer.errors import UserError

PAD, SOS, EOS = "<pad>", "<sos>", "<eos>"
SPECIAL_TOKENS = (PAD, SOS, EOS)
#: Stands for a word that a masked language model is to find; only its vocabulary has it.
MASK = "<mask>"

Side = Literal["source", "target"]


class Tokeniser(ABC):
    """Text to ids and back: `Vocabulary` by words, `Subwords` by pieces of words.

    >>> import viz_transformer as vt
    >>> from viz_transformer.vocabulary import Tokeniser
    >>> isinstance(vt.load_translator().vocabulary, Tokeniser)
    True

    Attributes:
        pad_id, sos_id, eos_id: ids of ``<pad>``, ``<sos>`` and ``<eos>``: 0, 1, 2.
        tokens: all tokens, as they are shown, by id.
        languages: the names of the source's and the target's language.
    """

    pad_id, sos_id, eos_id = 0, 1, 2
    tokens: tuple[str, ...]
    languages: tuple[str, str]
    _ids: Mapping[str, int]  # of the tokens

    def __len__(self) -> int:
        """Return the number of tokens, special ones included."""
        return len(self.tokens)

    @abstractmethod
    def words(self, side: Side = "source") -> tuple[str, ...]:
        """Return the tokens that may be in a sentence of one side."""

    @abstractmethod
    def words_of(self, text: str, side: Side = "source") -> list[str]:
        """Return the words that a text of one side is made of; joined by spaces they mean the same."""

    @abstractmethod
    def encode(self, text: str, side: Side = "source") -> list[int]:
        """Turn text into ids, without ``<sos>`` and ``<eos>``."""

    def source_ids(self, text: str) -> list[int]:
        """Return what the encoder reads: the text's ids, then ``<eos>``.

        Raises:
            UserError: as `encode`.
        """
        return [*self.encode(text), self.eos_id]

    def target_ids(self, text: str) -> list[int]:
        """Return a whole translation: ``<sos>``, the text's ids, ``<eos>``.

        The decoder reads it without its last id and writes it without its first.

        Raises:
            UserError: as `encode`.
        """
        return [self.sos_id, *self.encode(text, "target"), self.eos_id]

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; special tokens are left out."""

    def ids_of(self, tokens: Iterable[str]) -> list[int]:
        """Turn token strings into ids.

        Raises:
            UserError: if one is not in the vocabulary.
        """
        tokens = given_texts(tokens)
        for token in tokens:
            if token not in self._ids:
                raise UserError(f"{quoted(token)} is not a token of this vocabulary; give its tokens")
        return [self._ids[token] for token in tokens]

    def tokens_of(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Turn ids into token strings, special ones included."""
        return tuple(self.tokens[index] for index in ids)

    @abstractmethod
    def word_numbers(self, ids: Iterable[int]) -> tuple[int | None, ...] | None:
        """Return which word each token is a piece of; None where every token is a word."""

    @abstractmethod
    def to_json(self) -> str:
        """Return the vocabulary as JSON."""
