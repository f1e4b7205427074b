"""Token labels: whose they are, how many are wanted, and which word each sub-word belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError

Words = tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class Side:
    """What is known of one sequence, the source or the target.

    Attributes:
        tokens: its labels.
        words: per token the number of its word, or None.
        kept: bool, one per position of the model's input, False at padding; or None.
        written: what each position wrote next, where that is known.
    """

    tokens: tuple[str, ...]
    words: Words | None = None
    kept: NDArray[np.bool_] | None = None
    written: tuple[str, ...] | None = None

    def without_padding(self) -> Side:
        """Drop the labels of padding positions."""
        if self.kept is None or self.kept.all() or len(self.kept) != len(self.tokens):
            return self
        kept = np.flatnonzero(self.kept)
        words = None if self.words is None else tuple(self.words[i] for i in kept)
        written = None if self.written is None else tuple(self.written[i] for i in kept)
        tokens = tuple(self.tokens[i] for i in kept)
        return replace(self, tokens=tokens, words=words, written=written)


def as_side(name: str, tokens: Sequence[str] | None) -> Side | None:
    """Take the labels that a person gave.

    Raises:
        UserError: if they are one string, or not strings.
    """
    if tokens is None:
        return None
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise UserError(
            f"{name}={tokens!r:.60} must be a sequence of strings, one per position; for a "
            "sentence, give its tokens: sentence.split()"
        )
    return Side(tokens=tuple(tokens))


def encode(tokenizer: Any, text: str) -> Mapping[str, Any]:
    """Turn a text into a model's inputs, each [1, position].

    Raises:
        UserError: if the tokenizer cannot be called as Hugging Face's can.
    """
    if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise UserError(
            f"tokenizer={tokenizer!r:.60} is not one of Hugging Face's; encode the text with it "
            "yourself, and give input_ids=[...] and tokens=[...]"
        )
    return tokenizer(text, return_tensors="pt")


def side_of_ids(tokenizer: Any, ids: Sequence[int], encoding: Any = None) -> Side:
    """Label ids by the tokenizer that made them.

    Args:
        tokenizer: Hugging Face's.
        ids: [position].
        encoding: what the tokenizer returned for the text, if the ids came from one: a fast
            tokenizer's knows the words.
    """
    tokens = tuple(tokenizer.convert_ids_to_tokens([int(i) for i in ids]))
    if encoding is not None and getattr(encoding, "is_fast", False):
        return Side(tokens=tokens, words=tuple(encoding.word_ids(0)))
    return Side(tokens=tokens, words=count_words(tokens, set(getattr(tokenizer, "all_special_tokens", ()))))


def count_words(tokens: Sequence[str], special: set[str]) -> Words | None:
    """Number the words of sub-word tokens by the marks that tokenizers leave.

    "▁" (SentencePiece) and "Ġ" (byte-level) open a word; "##" (WordPiece) continues one. Special
    tokens belong to none. Without any such mark the tokens tell nothing, and the answer is None.
    """
    opens = any(token[:1] in ("▁", "Ġ") for token in tokens)
    continues = any(token.startswith("##") for token in tokens)
    if not (opens or continues):
        return None
    words: list[int | None] = []
    word, inside = -1, False
    for token in tokens:
        if token in special:
            words.append(None)
            inside = False
            continue
        starts = token[:1] in ("▁", "Ġ") if opens else not token.startswith("##")
        word += starts or not inside
        inside = True
        words.append(word)
    return tuple(words)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels that came with a call: `tokens` for one sequence, or one list a side.

    Attributes:
        tokens: labels of the only sequence, whose side the weights will tell.
        source: labels of what an encoder read.
        target: labels of what a decoder read.
    """

    tokens: Side | None = None
    source: Side | None = None
    target: Side | None = None

    def __post_init__(self) -> None:
        """Refuse labels that contradict each other."""
        if self.tokens is not None and (self.source is not None or self.target is not None):
            raise UserError(
                "tokens= was given together with source_tokens= or target_tokens=; give tokens= "
                "for a model that reads one sequence, the other two for an encoder and a decoder"
            )

    @property
    def only(self) -> Side | None:
        """The labels, if they are those of one sequence alone."""
        given = [side for side in (self.tokens, self.source, self.target) if side is not None]
        return given[0] if len(given) == 1 else None

    def side_of(self, kind: str) -> dict[str, Side | None]:
        """Name the sequences when all attention is of one kind, "encoder" or "decoder"."""
        return {"source" if kind == "encoder" else "target": self.only}
