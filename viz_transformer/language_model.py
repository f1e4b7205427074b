"""The language model: a text's probability, the words that may come next, and texts written freely."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer._files import bundled
from viz_transformer._text import given_text, given_texts
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, TracedDecoderOnly
from viz_transformer.model.interventions import Interventions
from viz_transformer.text_model import WritingModel, log_probs_of
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import Tokeniser


@dataclass(frozen=True)
class Completion:
    """A text that a language model wrote.

    Attributes:
        text: the whole text, what was given and what was written.
        tokens: the words, or pieces of words, that were written.
        log_prob: the log-probability of these in nats, that of ``<eos>`` included.
    """

    text: str
    tokens: tuple[str, ...]
    log_prob: float


class LanguageModel(WritingModel[DecoderOnly, TracedDecoderOnly]):
    """A trained decoder-only model and its vocabulary, behind calls on plain text.

    It reads the target language of its vocabulary, from left to right, and has no source. Where
    a method takes a beginning, ``""`` means ``<sos>`` alone.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> len(model.next_words("la maestra")) > 0
    True

    Attributes:
        model: the `DecoderOnly`, in evaluation mode.
        vocabulary: its `Vocabulary` of words, or its `Subwords`.
    """

    name, task = "a language model", "continue"

    def __init__(self, model: DecoderOnly, vocabulary: Tokeniser) -> None:
        """Join a model and its vocabulary."""
        super().__init__(model, vocabulary, TracedDecoderOnly(model.config))

    @torch.no_grad()
    def trace(self, text: str | Sequence[str], interventions: Interventions | None = None) -> ForwardTrace:
        """Return every head's attention while the model reads a text.

        Position *i* reads the word before the one that it predicts: the first reads ``<sos>``, and
        the last predicts ``<eos>``.

        Args:
            text: a whole text, or its tokens.
            interventions: what to switch off or replace in the model; None changes nothing.

        Raises:
            UnknownWordError: if a word is not in the vocabulary; nearest known ones are named.
            UserError: if the text is empty or too long, or the interventions do not fit the model.
        """
        read, written = self._read_and_written(text)
        return self._trace_of(self._run(read, interventions=interventions), [], read, written)

    @torch.no_grad()
    def log_probs(self, text: str, interventions: Interventions | None = None) -> NDArray[np.float64]:
        """Return how probable each word of a text is, given the words before it.

        Args:
            text: a whole text.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            float64 [position], natural logarithms; the last is that of ``<eos>``. Their sum is the
            text's log-probability; the mean of their negatives is the loss in nats per token.

        Raises:
            UserError: as `trace`.
        """
        return self._judge(text, interventions)[1]

    @torch.no_grad()
    def next_words(self, text: str = "", interventions: Interventions | None = None) -> dict[str, float]:
        """Return the probability of each word of the vocabulary to come next, likeliest first.

        ``<eos>`` is among them: the probability that the text ends here.

        Args:
            text: the beginning of a text.
            interventions: what to switch off or replace in the model; None changes nothing.

        Raises:
            UserError: as `trace`, but the text may be empty.
        """
        output = self._run(self._given(text), interventions=interventions)
        assert output.logits is not None
        probabilities = output.logits[0, -1].cpu().double().softmax(-1)  # [vocab]
        order = probabilities.argsort(descending=True, stable=True).tolist()
        return {self.vocabulary.tokens[index]: float(probabilities[index]) for index in order}

    def complete(
        self,
        text: str = "",
        beam_width: int = 4,
        length_penalty: float = 0.6,
        interventions: Interventions | None = None,
    ) -> Completion:
        """Continue a text by beam search.

        Raises:
            UserError: as `next_words`, or if a number is out of range.
        """
        given = self._given(text)
        (best,) = self._best([given], beam_width, length_penalty, interventions)
        whole = self.vocabulary.decode(self._whole(given, best.ids))
        return Completion(whole, best.tokens, best.log_prob)

    def answer(self, text: str, interventions: Interventions | None = None) -> tuple[str, ...]:
        """Return the tokens of the whole text that `complete` makes."""
        read = self.vocabulary.tokens_of(self._given(text)[1:])
        return (*read, *self.complete(text, interventions=interventions).tokens)

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return each text continued by greedy search."""
        return [self.complete(text, beam_width=1).text for text in given_texts(texts, "the texts")]

    @torch.no_grad()
    def judge(
        self, text: str, answer: str | Sequence[str], interventions: Interventions | None = None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the `trace` and the `log_probs` of the whole text `answer`, from one pass."""
        return self._judge(answer, interventions)

    def _judge(
        self, text: str | Sequence[str], interventions: Interventions | None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        read, written = self._read_and_written(text)
        output = self._run(read, interventions=interventions)
        assert output.logits is not None
        return self._trace_of(output, [], read, written), log_probs_of(output.logits[0], written)

    def _read_and_written(self, text: str | Sequence[str]) -> tuple[list[int], list[int]]:
        """Return what the model reads of a whole text, and what it must predict."""
        words = self._ids_of(text)
        read = [self.vocabulary.sos_id, *words]
        self._check_length(read, "text")
        return read, [*words, self.vocabulary.eos_id]

    def n_given(self, text: str) -> int:
        """Return how many tokens of what `answer` returns are those of the text."""
        return len(self._given(text)) - 1

    def _given(self, text: str) -> list[int]:
        """Return what the model reads of a text that goes on."""
        return self._read_and_written(text)[0] if given_text(text).strip() else [self.vocabulary.sos_id]

    def _most_words(self, given: Sequence[Sequence[int]]) -> int:
        longest = max(map(len, given))
        room = self.config.max_length - longest
        if not room:
            raise UserError(
                f"the text has {longest - 1} words, and this model reads no more, so it cannot continue; "
                "shorten it"
            )
        return room

    def _whole(self, given: Sequence[int], written: Sequence[int]) -> list[int]:
        return [*given[1:], *written]  # without <sos>


def load_language_model(
    folder: str | os.PathLike[str] | None = None, *, checked: bool = True
) -> LanguageModel:
    """Load a language model.

    >>> import viz_transformer as vt
    >>> vt.load_language_model().trace("el gato").kinds
    ('decoder',)

    Args:
        folder: a checkpoint folder; by default the bundled one, which writes Spanish.
        checked: whether its files must be those that were saved; False loads changed ones as they are.

    Raises:
        FileError: if the folder is missing or damaged.
        UserError: if its parts do not fit each other, or it holds a model of another kind.
    """
    place = bundled("data/language-model") if folder is None else folder
    checkpoint = Checkpoint.load(place, DecoderOnly, checked=checked)
    return LanguageModel(checkpoint.model, checkpoint.vocabulary)
