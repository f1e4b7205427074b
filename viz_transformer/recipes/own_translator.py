"""A translator made of anybody's own encoder–decoder, such as a student's ``my_transformer.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from viz_transformer._text import given_texts
from viz_transformer.capturing import capture
from viz_transformer.capturing.running import evaluating
from viz_transformer.corpus.batches import pad
from viz_transformer.text_model import log_probs_of
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import Tokeniser

#: A translation has at most so many tokens more than its source.
_MOST_MORE = 10


class OwnTranslator:
    """Text in; translations and traces out.

    >>> import torch
    >>> from viz_transformer.corpus import SentencePair, vocabulary_of
    >>> from viz_transformer.exercises.lent import Transformer
    >>> from viz_transformer.recipes import OwnTranslator
    >>> words = vocabulary_of([SentencePair(("the", "cat"), ("el", "gato"), links=())])
    >>> own = OwnTranslator(Transformer(len(words), 8, 2, 16, 1), words)
    >>> own.trace("the cat", "el gato").cross_attention.shape
    (1, 2, 3, 3)

    Attributes:
        model: takes ids of the source [batch, source] and of the target [batch, target], and returns the
            logits of the token after each of the target, [batch, target, vocab].
        vocabulary: turns text into ids and back.
    """

    def __init__(self, model: nn.Module, vocabulary: Tokeniser) -> None:
        """Join a model and its vocabulary."""
        self.model, self.vocabulary = model, vocabulary

    @torch.no_grad()
    def answers(self, texts: Sequence[str]) -> list[str]:
        """Translate some sentences greedily: at each step the most probable token is written.

        Raises:
            UnknownWordError: if a word is not in the vocabulary.
        """
        words = self.vocabulary
        rows = [words.source_ids(text) for text in given_texts(texts, "the texts")]
        source = torch.from_numpy(pad(rows, words.pad_id))  # [text, source]
        target = torch.full((len(rows), 1), words.sos_id)
        with evaluating(self.model):
            for _ in range(source.shape[1] + _MOST_MORE):
                chosen = self.model(source, target)[:, -1].argmax(-1, keepdim=True)  # [text, 1]
                target = torch.cat([target, chosen], dim=1)
                if (target == words.eos_id).any(dim=1).all():
                    break
        return [words.decode(_until(words.eos_id, row[1:])) for row in target.tolist()]

    @torch.no_grad()
    def judge(self, text: str, answer: str) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the attention while the model reads a translation, and the log-probabilities of its tokens.

        Raises:
            UnknownWordError: if a word is not in the vocabulary.
        """
        words = self.vocabulary
        source, (*read, end) = words.source_ids(text), words.target_ids(answer)
        written = [*read[1:], end]
        ids = [torch.tensor([each]) for each in (source, read)]  # each [1, token]
        named = [words.tokens_of(each) for each in (source, read)]
        trace = capture(self.model, *ids, source_tokens=named[0], target_tokens=named[1])
        with evaluating(self.model):
            logits = self.model(*ids)[0]  # [target, vocab]
        return trace, log_probs_of(logits, written)

    def trace(self, text: str, target: str | None = None) -> ForwardTrace:
        """Return every head's attention while the model reads a translation, by default its own.

        Raises:
            UnknownWordError: if a word is not in the vocabulary.
        """
        return self.judge(text, self.answers([text])[0] if target is None else target)[0]


def _until(end: int, ids: list[int]) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
