"""The translator: text in; translations, traces and searches out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from viz_transformer._files import bundled
from viz_transformer._text import given_text, given_texts
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model import TracedTransformer, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.text_model import WritingModel, log_probs_of
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import Tokeniser

#: A smaller probability has no bar.
LEAST_SHOWN = 0.005


@dataclass(frozen=True)
class Translation:
    """The best hypothesis of a search.

    Attributes:
        text: the translation.
        tokens: its words, or pieces of words.
        score: its log-probability in nats, divided by the length penalty.
    """

    text: str
    tokens: tuple[str, ...]
    score: float


class Translator(WritingModel[Transformer, TracedTransformer]):
    """A trained model and its vocabulary, with methods that take plain text.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> translator.translate("the black cat sleeps").text
    'el gato negro duerme'

    Attributes:
        model: the `Transformer`, in evaluation mode.
        vocabulary: its `Vocabulary` of words, or its `Subwords`.
    """

    name, task = "a translator", "translate"

    def __init__(self, model: Transformer, vocabulary: Tokeniser) -> None:
        """Join a model and its vocabulary."""
        super().__init__(model, vocabulary, TracedTransformer(model.config))

    def translate(
        self,
        text: str,
        beam_width: int = 4,
        length_penalty: float = 0.6,
        interventions: Interventions | None = None,
    ) -> Translation:
        """Translate one sentence by beam search, with `interventions` in the model.

        Raises:
            UnknownWordError: if a word is not in the vocabulary; nearest known ones are named.
            UserError: if the text is empty or too long, a number is out of range, or the
                interventions do not fit the model.
        """
        return self.translate_all([given_text(text)], beam_width, length_penalty, interventions)[0]

    def translate_all(
        self,
        texts: Sequence[str],
        beam_width: int = 4,
        length_penalty: float = 0.6,
        interventions: Interventions | None = None,
    ) -> list[Translation]:
        """Translate several sentences as one batch.

        Raises:
            UserError: as `translate`.
        """
        given = [self._given(text) for text in given_texts(texts, "the texts")]
        best = self._best(given, beam_width, length_penalty, interventions)
        return [Translation(self.vocabulary.decode(each.ids), each.tokens, each.score) for each in best]

    @torch.no_grad()
    def trace(
        self,
        text: str,
        target: str | Sequence[str] | None = None,
        interventions: Interventions | None = None,
    ) -> ForwardTrace:
        """Return every head's attention while the model writes a translation.

        Args:
            text: the sentence to read.
            target: the translation to write, as text or as tokens; by default the model's own.
            interventions: what to switch off or replace in the model; None changes nothing.

        Raises:
            UserError: as `translate`, also for words of `target`.
        """
        source, read, written = self._teacher_forced(text, target, interventions)
        return self._trace_of(self._run(source, read, interventions=interventions), source, read, written)

    @torch.no_grad()
    def encode(self, text: str, interventions: Interventions | None = None) -> np.ndarray:
        """Read one sentence: the encoder's output vectors, which the decoder looks at.

        Args:
            text: the sentence to read.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            float32 [source, d_model]; the last vector is that of ``<eos>``.

        Raises:
            UserError: as `translate`.
        """
        source = torch.tensor([self._given(text)], device=self._device)  # [1, source]
        with threads_for(self.config):
            return self.model.encode(source, interventions)[0].cpu().numpy()  # [source, d_model]

    @torch.no_grad()
    def log_probs(
        self,
        text: str,
        target: str | Sequence[str] | None = None,
        interventions: Interventions | None = None,
    ) -> np.ndarray:
        """Return how probable each word of a translation is, given the words before it.

        Args:
            text: the sentence to read.
            target: the translation to judge, as text or as tokens; by default the model's own.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            float64 [position], natural logarithms; the last is that of ``<eos>``. The mean of
            their negatives is the loss in nats per token (cross-entropy, teacher forced).

        Raises:
            UserError: as `trace`.
        """
        source, read, written = self._teacher_forced(text, target, interventions)
        output = self._run(source, read, interventions=interventions)
        assert output.logits is not None  # an encoder alone has none
        return log_probs_of(output.logits[0], written)

    @torch.no_grad()
    def likely_words(
        self,
        text: str,
        target: str | Sequence[str] | None = None,
        n: int = 3,
        interventions: Interventions | None = None,
    ) -> list[dict[str, float]]:
        """Return the likeliest words at each position of a translation, given the words before it.

        >>> import viz_transformer as vt
        >>> found = vt.load_translator().likely_words("the teacher lost her book")
        >>> [f"{word} {probability:.2f}" for word, probability in found[1].items()]
        ['maestra 0.95', 'profesora 0.05']

        Args:
            text: the sentence to read.
            target: the translation to write, as text or as tokens; by default the model's own.
            n: how many words at most; those of less than half a percent are left out.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            For each position, that of ``<eos>`` included, words and their probabilities, likeliest first.

        Raises:
            UserError: as `trace`.
        """
        source, read, _ = self._teacher_forced(text, target, interventions)
        output = self._run(source, read, interventions=interventions)
        assert output.logits is not None
        values, ids = output.logits[0].double().softmax(-1).topk(n)  # [position, n]
        return [
            {
                self.vocabulary.tokens[index]: share
                for share, index in zip(*row, strict=True)
                if share >= LEAST_SHOWN
            }
            for row in zip(values.tolist(), ids.tolist(), strict=True)
        ]

    def answer(self, text: str, interventions: Interventions | None = None) -> tuple[str, ...]:
        """Return the tokens of a translation."""
        return self._best([self._given(given_text(text))], interventions=interventions)[0].tokens

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return the greedy translations of some sentences."""
        return [translation.text for translation in self.translate_all(texts, beam_width=1)]

    @torch.no_grad()
    def judge(
        self, text: str, answer: str | Sequence[str], interventions: Interventions | None = None
    ) -> tuple[ForwardTrace, np.ndarray]:
        """Return the `trace` and the `log_probs` of a translation, from one pass."""
        source, read, written = self._teacher_forced(text, answer, interventions)
        output = self._run(source, read, interventions=interventions)
        assert output.logits is not None
        return self._trace_of(output, source, read, written), log_probs_of(output.logits[0], written)

    def _teacher_forced(
        self, text: str, target: str | Sequence[str] | None, interventions: Interventions | None
    ) -> tuple[list[int], list[int], list[int]]:
        """Return what the encoder reads, what the decoder reads, and what it must predict."""
        source = self._given(text)
        if target is None:
            words = list(self._best([source], interventions=interventions)[0].ids)
        else:
            words = self._ids_of(target)
        read = [self.vocabulary.sos_id, *words]
        self._check_length(read, "translation")
        return source, read, [*words, self.vocabulary.eos_id]

    def _given(self, text: str) -> list[int]:
        ids = self.vocabulary.source_ids(text)
        self._check_length(ids, "sentence")
        return ids

    def _most_words(self, given: Sequence[Sequence[int]]) -> None:
        return None

    def _whole(self, given: Sequence[int], written: Sequence[int]) -> list[int]:
        return list(written)


def load_translator(folder: str | os.PathLike[str] | None = None, *, checked: bool = True) -> Translator:
    """Load a translator.

    >>> import viz_transformer as vt
    >>> vt.load_translator().translate("the black cat sleeps").text
    'el gato negro duerme'

    Args:
        folder: a checkpoint folder; by default the bundled English→Spanish one.
        checked: whether its files must be those that were saved; False loads changed ones as they are.

    Raises:
        FileError: if the folder is missing or damaged.
        UserError: if its parts do not fit each other, or it holds a model of another kind.
    """
    place = bundled("data/en-es") if folder is None else folder
    checkpoint = Checkpoint.load(place, Transformer, checked=checked)
    return Translator(checkpoint.model, checkpoint.vocabulary)
