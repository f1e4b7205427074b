"""Decoding constraints: which words are forbidden at a step, and how long a text may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.trace import running_text


class Words(Protocol):
    """What decoding asks of a vocabulary; `Vocabulary` is one."""

    @property
    def pad_id(self) -> int:
        """Id of ``<pad>``."""

    @property
    def sos_id(self) -> int:
        """Id of ``<sos>``."""

    @property
    def eos_id(self) -> int:
        """Id of ``<eos>``."""

    @property
    def tokens(self) -> Sequence[str]:
        """All tokens, by id."""


def ends(words: Words) -> frozenset[int]:
    """Return the ids that end a text: ``<eos>``, and the others that some tokenizers have."""
    return frozenset({words.eos_id, *getattr(words, "more_ends", ())})


@dataclass(frozen=True)
class Constraints:
    """What may be written in one batch.

    Attributes:
        words: the vocabulary.
        min_length: fewest words before ``<eos>``.
        max_lengths: for each sentence the most words; after them only ``<eos>`` may follow.
        prefixes: for each sentence the ids that it must begin with.
    """

    words: Words
    min_length: int
    max_lengths: tuple[int, ...]
    prefixes: tuple[tuple[int, ...], ...]

    def forbid(self, logits: Tensor, step: int, sentences: Sequence[int]) -> Tensor:
        """Return logits [row, vocab] in which what may not be written is -inf; may change them.

        Args:
            logits: one row for each entry of `sentences`.
            step: number of words written before.
            sentences: which sentence each row writes.
        """
        words = self.words
        logits[:, words.pad_id] = logits[:, words.sos_id] = -torch.inf
        if step < self.min_length:
            logits[:, words.eos_id] = -torch.inf
        if step < max(map(len, self.prefixes)) or step >= min(self.max_lengths):
            forced = [(row, self._forced(step, one)) for row, one in enumerate(sentences)]
            forced = [(row, token) for row, token in forced if token is not None]
            if forced:
                rows, ids = torch.tensor(forced).T
                logits[rows] = _only(logits[rows], ids)
        return logits

    def _forced(self, step: int, sentence: int) -> int | None:
        """Return the one word that may be written, if there is only one."""
        prefix = self.prefixes[sentence]
        if step < len(prefix):
            return prefix[step]
        return self.words.eos_id if step >= self.max_lengths[sentence] else None

    @property
    def longest(self) -> int:
        """Most words that any sentence may have."""
        return max(self.max_lengths)

    def why_forbidden(self, token: int, step: int, sentence: int) -> str | None:
        """Return why a word may not be written at a step, in words; None if it may."""
        words, prefix = self.words, self.prefixes[sentence]
        if token in (words.pad_id, words.sos_id):
            return f"{words.tokens[token]} is never written"
        if step < len(prefix):
            text = running_text([words.tokens[i] for i in prefix])
            return None if token == prefix[step] else f"the text must begin with {text!r}"
        if token == words.eos_id and step < self.min_length:
            return f"the text has {step} words and needs at least {self.min_length}"
        if token != words.eos_id and step >= self.max_lengths[sentence]:
            return f"the text has {step} words, the most there may be"
        return None


def _only(logits: Tensor, ids: Tensor) -> Tensor:
    """Return logits [row, vocab] with one word per row left."""
    masked = torch.full_like(logits, -torch.inf)  # [row, vocab]
    return masked.scatter_(1, ids[:, None], logits.gather(1, ids[:, None]))


def make_constraints(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    words: Words,
    min_length: int,
    max_length: int | None,
    prefix: Sequence[int] | Sequence[Sequence[int]],
) -> Constraints:
    """Check lengths and prefixes against a model and its sources.

    Raises:
        UserError: if something does not fit.
    """
    _check_sources(model, sources, words)
    most = _most_words(model, sources)
    if max_length is None:
        # Each sentence has its own, so that it is decoded in a batch as it is alone.
        longest = tuple(default_max_length(model, [source]) for source in sources)
    elif is_whole(max_length) and 1 <= max_length <= most:
        longest = (max_length,) * len(sources)
    else:
        raise UserError(f"max_length={max_length!r} must be a whole number from 1 to {most}")
    if not is_whole(min_length) or not 0 <= min_length <= min(longest):
        raise UserError(
            f"min_length={min_length!r} must be a whole number from 0 to max_length={min(longest)}"
        )
    prefixes = _prefixes(prefix, len(sources), words, min(longest))
    return Constraints(words, min_length, longest, prefixes)


def default_max_length(model: AutoregressiveModel, sources: Sequence[Sequence[int]]) -> int:
    """Return twice the longest source and ten words more, or what the model's positions reach.

    >>> import viz_transformer as vt
    >>> from viz_transformer.decoding import default_max_length
    >>> translator = vt.load_translator()
    >>> source = translator.vocabulary.source_ids("the black cat sleeps")
    >>> default_max_length(translator.model, [source]) == 2 * len(source) + 10
    True

    Args:
        model: that writes.
        sources: token ids, one list a text.
    """
    return min(2 * max(map(len, sources)) + 10, _most_words(model, sources))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _most_words(model: AutoregressiveModel, sources: Sequence[Sequence[int]]) -> int:
    # A text that does not continue its source begins with <sos>.
    read = max(map(len, sources)) if model.continues_source else 1
    return model.config.max_length - read


def _check_sources(model: AutoregressiveModel, sources: Sequence[Sequence[int]], words: Words) -> None:
    if not isinstance(sources, Sequence) or not sources:
        raise UserError("there is no sentence to decode; give at least one, as a list of ids")
    for number, source in enumerate(sources):
        if not isinstance(source, Sequence) or not all(map(is_whole, source)):
            raise UserError(
                f"sentence {number} is {source!r:.60}, but must be a list of ids; encode the text "
                "with the vocabulary, such as vocabulary.source_ids(text)"
            )
        if not any(i != words.pad_id for i in source) and not _starts_with_padding(model, words):
            raise UserError(
                f"sentence {number} ({list(source)!r:.40}) holds no word, only padding; "
                "give it words, or leave it out"
            )


def _starts_with_padding(model: AutoregressiveModel, words: Words) -> bool:
    """Whether padding begins a text, as in Marian, so that a prompt may be that alone."""
    return model.continues_source and words.pad_id == words.sos_id


def _prefixes(
    prefix: Sequence[int] | Sequence[Sequence[int]], n_sentences: int, words: Words, most: int
) -> tuple[tuple[int, ...], ...]:
    ids = [one for one in prefix if is_whole(one)]
    nested = [tuple(one) for one in prefix if isinstance(one, Sequence)]
    each = nested if len(ids) < len(prefix) else [tuple(ids)] * n_sentences
    if len(each) != n_sentences:
        raise UserError(
            f"{len(each)} prefixes were given for {n_sentences} sentences; give one for each, or one for all"
        )
    special = (words.pad_id, words.sos_id, words.eos_id)
    for one in each:
        wrong = [i for i in one if not is_whole(i) or not 0 <= i < len(words.tokens)]
        if wrong or any(i in special for i in one):
            raise UserError(
                f"the prefix {list(one)!r:.60} holds {wrong or 'a special token'}; give ids of "
                "words of this vocabulary, such as vocabulary.encode(text, 'target')"
            )
        if len(one) > most:
            raise UserError(f"the prefix has {len(one)} words, and max_length is {most}; shorten it")
    return tuple(each)


def named_source(
    model: AutoregressiveModel, words: Words, source: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens of a source, and of what the text begins with; a prompt is no source."""
    named = tuple(words.tokens[i] for i in source)
    return ((), named) if model.continues_source else (named, (words.tokens[words.sos_id],))
