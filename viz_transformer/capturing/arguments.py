"""What `vt.capture` is asked: the labels of tokens, and the part of the attention that a trace keeps.

The labels are those that were given, or a tokenizer's with the words of its sub-word tokens. Kept are one
sentence, some layers and heads, and so many digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import LAYERS
from viz_transformer._text import given_texts, shown
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array
from viz_transformer.trace.byte_level import shown_tokens

Words = tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class TokenLabels:
    """The labels of one sequence, the source or the target.

    Attributes:
        tokens: its labels.
        words: per token the number of its word, or None.
        segments: of a pair of sentences, per token which one it belongs to, 0 or 1; or None.
        kept: bool, one per position of the model's input, False at padding; or None.
        written: the token that each position wrote next, where that is known.
    """

    tokens: tuple[str, ...]
    words: Words | None = None
    segments: tuple[int, ...] | None = None
    kept: NDArray[np.bool_] | None = None
    written: tuple[str, ...] | None = None

    @property
    def n_positions(self) -> int:
        """How many positions the model reads, padding included."""
        return len(self.tokens) if self.kept is None else len(self.kept)

    def without_padding(self) -> TokenLabels:
        """Drop the labels of padding positions."""
        if self.kept is None or self.kept.all() or len(self.kept) != len(self.tokens):
            return self
        kept = np.flatnonzero(self.kept)
        words = None if self.words is None else tuple(self.words[i] for i in kept)
        written = None if self.written is None else tuple(self.written[i] for i in kept)
        tokens = tuple(self.tokens[i] for i in kept)
        return replace(self, tokens=tokens, words=words, written=written)

    def with_segments(self, type_ids: Any, encoding: Any = None) -> TokenLabels:
        """Return the labels with their sentences, if they are a pair.

        Args:
            type_ids: one per position of the model's input, such as BERT's ``token_type_ids``; or None.
            encoding: what a fast tokenizer made of the texts, which knows their numbers; or None.
        """
        segments = [] if type_ids is None else [int(each) for each in type_ids]
        if not any(segments) and getattr(encoding, "is_fast", False):
            numbers = encoding.sequence_ids(0)  # None for a special token, which belongs to what it ends
            starts = numbers.index(1) if 1 in numbers else len(numbers)
            segments = [int(i >= starts) for i in range(len(numbers))]
        segments = [min(each, 1) for each in segments]  # XLNet counts <cls> as 2
        if self.kept is not None and len(self.kept) == len(segments) != len(self.tokens):
            segments = [segments[i] for i in np.flatnonzero(self.kept)]
        is_pair = len(segments) == len(self.tokens) and {0, 1} == set(segments)
        return replace(self, segments=tuple(segments)) if is_pair else self


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels that were given: `tokens` for one sequence, or one list for each side.

    Attributes:
        tokens: labels of the only sequence; whether it is a source or a target, the weights tell.
        source: labels of what an encoder read.
        target: labels of what a decoder read.
        only: the labels, if they are those of one sequence alone.
    """

    tokens: TokenLabels | None = None
    source: TokenLabels | None = None
    target: TokenLabels | None = None
    only: TokenLabels | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse labels that contradict each other, and find the only ones."""
        if self.tokens is not None and (self.source is not None or self.target is not None):
            raise UserError(
                "tokens= was given together with source_tokens= or target_tokens=; give tokens= "
                "for a model that reads one sequence, the other two for an encoder and a decoder"
            )
        given = [each for each in (self.tokens, self.source, self.target) if each is not None]
        object.__setattr__(self, "only", given[0] if len(given) == 1 else None)

    @property
    def lengths(self) -> set[int]:
        """How many positions each labelled sequence has."""
        return {side.n_positions for side in (self.tokens, self.source, self.target) if side is not None}

    def padded_by(self, mask: Any, row: int) -> Labels:
        """Return the labels of one sequence with its padding, if a mask [batch, position] tells it."""
        if self.tokens is None or self.tokens.kept is not None or getattr(mask, "ndim", 0) != 2:
            return self
        kept = np.asarray(mask[row].tolist(), dtype=np.bool_)
        return replace(self, tokens=replace(self.tokens, kept=kept))


def parse_labels(
    tokens: Sequence[str] | None,
    source_tokens: Sequence[str] | None,
    target_tokens: Sequence[str] | None,
) -> Labels:
    """Return the labels given by hand.

    Raises:
        UserError: if they are not sequences of strings, or contradict each other.
    """
    given = {"tokens": tokens, "source_tokens": source_tokens, "target_tokens": target_tokens}
    sides = {
        name.removesuffix("_tokens"): TokenLabels(tokens=given_texts(texts, name))
        for name, texts in given.items()
        if texts is not None
    }
    return Labels(**sides)


def encode(tokenizer: Any, text: str, second: str | None = None) -> Mapping[str, Any]:
    """Turn a text, or a pair of sentences, into a model's inputs, each [1, position].

    Raises:
        UserError: if the tokenizer cannot be called as Hugging Face's can.
    """
    if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise UserError(
            f"tokenizer={shown(tokenizer)} is not one of Hugging Face's; encode the text with it "
            "yourself, and give input_ids=[...] and tokens=[...]"
        )
    texts = [text] if second is None else [text, second]
    return tokenizer(*texts, return_tensors="pt")


def labels_of_ids(tokenizer: Any, ids: Sequence[int], encoding: Any = None) -> TokenLabels:
    """Label ids by the tokenizer that made them.

    Args:
        tokenizer: Hugging Face's.
        ids: [position].
        encoding: what the tokenizer returned for the text, if the ids came from one: a fast
            tokenizer's may know the words.
    """
    named = tokenizer.convert_ids_to_tokens([int(i) for i in ids])
    # A vocabulary may be padded to a round size with ids that no token has.
    tokens = tuple(f"<{i}>" if token is None else token for i, token in zip(ids, named, strict=True))
    special = set(getattr(tokenizer, "all_special_tokens", ()))
    counted = count_words(tokens, special)
    tokens = shown_tokens(tokenizer, tokens)
    return TokenLabels(tokens=tokens, words=_words_of_text(named, encoding) or counted)


def _words_of_text(tokens: Sequence[str], encoding: Any) -> Words | None:
    """Return the words that a fast tokenizer counted in a text, or None where they are no words.

    A tokenizer that does not split a text before it looks for tokens (Llama 2, Gemma) counts all of
    it as one word, spaces included. Words that somebody gave one by one may hold spaces: there each
    word's characters are counted from 0. The second text of a pair counts on, since not every tokenizer
    puts a special token between two texts.
    """
    if encoding is None or not getattr(encoding, "is_fast", False):
        return None
    words = tuple(encoding.word_ids(0))
    given = any(word and start == 0 for word, (start, _) in zip(words, encoding[0].offsets, strict=True))
    holds_space = any(
        word is not None and word == words[i] and _begins_with_space(tokens[i], tokens[i + 1])
        for i, word in enumerate(words[1:])
    )
    if holds_space and not given:
        return None
    places = list(zip(encoding.sequence_ids(0), words, strict=True))  # (text, word in it) of each token
    in_order = dict.fromkeys(place for place in places if place[1] is not None)
    numbers = {place: number for number, place in enumerate(in_order)}
    return tuple(map(numbers.get, places))


#: What tokenizers write for a space: SentencePiece, byte-level ones, those of characters.
_SPACES = ("▁", "Ġ", " ")


def count_words(tokens: Sequence[str], special: set[str]) -> Words | None:
    """Number the words of sub-word tokens by the marks that tokenizers leave.

    A space, written "▁" (SentencePiece) or "Ġ" (byte-level), begins a word and "</w>" ends one; "##"
    (WordPiece) at the beginning and "@@" at the end of a token join it to its neighbour. Special
    tokens belong to no word. Without any such mark the words are unknown, and the result is None.
    """
    pieces = [token for token in tokens if token not in special]
    begins: Callable[[str, str], bool]
    if any(piece.startswith(_SPACES) for piece in pieces):
        begins = _begins_with_space
    elif any(piece.endswith("</w>") for piece in pieces):
        begins = _follows_an_end
    elif any(piece.startswith("##") or piece.endswith("@@") for piece in pieces):
        begins = _is_not_joined
    else:
        return None
    words: list[int | None] = []
    word, before = -1, None  # the piece just before
    for token in tokens:
        is_piece = token not in special
        word += is_piece and (before is None or begins(before, token))
        words.append(word if is_piece else None)
        before = token if is_piece else None
    return tuple(words)


def _begins_with_space(before: str, piece: str) -> bool:
    return piece.startswith(_SPACES) or before[1:].endswith(_SPACES)  # a space alone belongs to what follows


def _follows_an_end(before: str, _: str) -> bool:
    return before.endswith("</w>")


def _is_not_joined(before: str, piece: str) -> bool:
    return not (piece.startswith("##") or before.endswith("@@"))


_DTYPES = ("float32", "float16")
#: How far a row may be from a sum of 1: bfloat16 rounds each weight by up to 0.4%.
TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is kept of the attention weights.

    Attributes:
        layers: the model's own numbers of the layers, in order; None keeps all.
        heads: the model's own numbers of the heads, in order; None keeps all.
        dtype: ``"float32"`` or ``"float16"``.
        run: which run, of modules that run several times in one forward; None takes the first whose
            positions the labels name.
        group: which group, of layers that attend inside groups of positions (rows, windows, frames).
        normalised: whether rows must be shares that sum to 1.
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    dtype: str = "float32"
    run: int | None = None
    group: int | None = None
    normalised: bool = True

    def keeps(self, layer: int) -> bool:
        """Return whether a layer is kept."""
        return self.layers is None or layer in self.layers

    def take(self, weights: Any, layer: int) -> Any:
        """Return the kept heads of a layer, of the kept precision, without a copy if all are kept.

        Args:
            weights: tensor or array [..., head, query, key].
            layer: its number, for the message.

        Raises:
            UserError: if the layer has no such head.
        """
        if self.heads is not None:
            n_heads = weights.shape[-3]
            if self.heads[-1] >= n_heads:
                raise UserError(
                    f"heads={list(self.heads)}, but layer {layer} has {n_heads} heads; "
                    f"choose from 0 to {n_heads - 1}"
                )
            weights = weights[..., list(self.heads), :, :]  # [..., kept head, query, key]
        if self.dtype == "float32":
            return weights
        return weights.half() if hasattr(weights, "half") else as_array(weights, self.dtype)

    def check_layers(self, numbers: Iterable[int]) -> None:
        """Raise a UserError if a layer was chosen that is not among the model's."""
        there = sorted(set(numbers))
        lacking = [layer for layer in self.layers or () if layer not in there]
        if lacking:
            raise UserError(
                f"layers={list(self.layers or ())}, but the layers that attend are {there}; choose from these"
            )


def parse_selection(layers: Any, heads: Any, dtype: Any, run: Any, group: Any, normalised: Any) -> Selection:
    """Check what `capture` was told to keep.

    Raises:
        UserError: if a number is not whole or is below 0, `dtype` is not one that a trace holds, or
            `normalised` is neither True nor False.
    """
    name = dtype if isinstance(dtype, str) else dtype.__name__ if isinstance(dtype, type) else shown(dtype)
    name = name.removeprefix("torch.")
    if name not in _DTYPES:
        raise UserError(f"dtype={shown(dtype)} is not one that a trace holds; choose 'float32' or 'float16'")
    for which, number in (("run", run), ("group", group)):
        if number is not None and (type(number) is not int or number < 0):
            raise UserError(f"{which}={shown(number)}; give a whole number: {which}=0 is the first {which}")
    if not isinstance(normalised, bool):
        raise UserError(f"normalised={shown(normalised)}; give True, or False for weights that are no shares")
    numbers = {"layers": _numbers("layers", layers), "heads": _numbers("heads", heads)}
    return Selection(**numbers, dtype=name, run=run, group=group, normalised=normalised)


def _numbers(name: str, given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        numbers: Sequence[Any] = [] if isinstance(given, str) else list(islice(given, LAYERS.most + 1))
    except Exception:  # it cannot be counted, or does anything when it is
        numbers = []
    whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in numbers)
    if not 0 < len(numbers) <= LAYERS.most or not whole or min(numbers) < 0:
        raise UserError(
            f"{name}={shown(given)} does not choose {name}; give a list of their numbers, counted "
            f"from 0: {name}=[0, 1]"
        )
    return tuple(sorted({int(each) for each in numbers}))


def sentence_index(n_sentences: int, batch_index: int | None) -> int:
    """Return which sentence of a batch is meant.

    Raises:
        UserError: if that is not clear, or there is no such sentence.
    """
    if batch_index is None and n_sentences > 1:
        raise UserError(
            f"the batch has {n_sentences} sentences, and a trace shows one; "
            f"say which: batch_index=0 to {n_sentences - 1}"
        )
    index = 0 if batch_index is None else batch_index
    if not isinstance(index, int | np.integer) or isinstance(index, bool) or not 0 <= index < n_sentences:
        raise UserError(
            f"batch_index={shown(index)}, but the batch has {n_sentences} sentences; "
            f"choose 0 to {n_sentences - 1}"
        )
    return index


def as_array(weights: Any, dtype: str = "float32") -> NDArray[Any]:
    """Turn a tensor of any number type, or an array, into an array of `dtype`.

    Raises:
        UserError: if it holds no numbers, or more than a trace does.
    """
    if dtype == "float16" and hasattr(weights, "half"):
        weights = weights.half()  # on its own device
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.asarray(given_array(weights, "a layer"), dtype=dtype)
