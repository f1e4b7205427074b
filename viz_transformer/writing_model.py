"""The base of the models that write word by word: searches and draws, on plain text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from viz_transformer.decoding import beam_search, sample, sample_ids
from viz_transformer.model import DecoderOnly, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.text_model import TextModel
from viz_transformer.trace import DecodeTrace
from viz_transformer.vocabulary import Tokeniser

Writer = TypeVar("Writer", bound=Transformer | DecoderOnly)
TracedWriter = TypeVar("TracedWriter", bound=Transformer | DecoderOnly)


class WritingModel(TextModel[Writer, TracedWriter, Tokeniser]):
    """A trained model that writes, and its vocabulary.

    `text` is what it is given: a translator's sentence, or the beginning that a language model
    continues, where ``""`` begins with ``<sos>`` alone.

    Attributes:
        model: the `Transformer` or `DecoderOnly`, in evaluation mode.
        vocabulary: its `Vocabulary` of words, or its `Subwords`.
    """

    def decode(
        self,
        text: str = "",
        beam_width: int = 4,
        length_penalty: float = 0.6,
        interventions: Interventions | None = None,
        attention: bool = False,
    ) -> DecodeTrace:
        """Write by beam search and return the whole search.

        With `attention`, the search keeps what every head looked at, at each step.

        Raises:
            UnknownWordError: if a word is not in the vocabulary; nearest known ones are named.
            UserError: if the text does not suit the model or is too long, a number is out of range,
                or the interventions do not fit the model.
        """
        return self._search([text], beam_width, length_penalty, interventions, attention)[0]

    def sample(
        self,
        text: str = "",
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> DecodeTrace:
        """Write by drawing words, as `decoding.sample` does.

        Raises:
            UserError: as `decode` and `decoding.sample`.
        """
        given = self._given(text)
        with threads_for(self.config):
            return sample(
                self.model,
                [given],
                self.vocabulary,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                seed=seed,
                max_length=self._most_words([given]),
            )[0]

    def sample_tokens(
        self,
        text: str = "",
        n: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> list[tuple[str, ...]]:
        """Draw `n` texts at once, as `decoding.sample_ids` does, each as its tokens.

        Raises:
            UserError: as `decode` and `decoding.sample_ids`.
        """
        drawn = self._draw(text, n, temperature, top_k, top_p, seed)
        return [self.vocabulary.tokens_of(ids) for ids in drawn]

    def sample_texts(
        self,
        text: str = "",
        n: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> list[str]:
        """Draw `n` texts as `sample_tokens` does.

        Raises:
            UserError: as `sample_tokens`.
        """
        return [self.vocabulary.decode(ids) for ids in self._draw(text, n, temperature, top_k, top_p, seed)]

    def _draw(
        self, text: str, n: int, temperature: float, top_k: int | None, top_p: float | None, seed: int
    ) -> list[list[int]]:
        given = self._given(text)
        with threads_for(self.config):
            drawn = sample_ids(
                self.model,
                given,
                self.vocabulary,
                n,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                seed=seed,
                max_length=self._most_words([given]),
            )
        return [self._whole(given, ids) for ids in drawn]

    def _search(
        self,
        texts: Sequence[str],
        beam_width: int,
        length_penalty: float,
        interventions: Interventions | None,
        attention: bool = False,
        steps: bool = True,
    ) -> list[DecodeTrace]:
        given = [self._given(text) for text in texts]
        with threads_for(self.config):
            return beam_search(
                self.model,
                given,
                self.vocabulary,
                beam_width=beam_width,
                length_penalty=length_penalty,
                max_length=self._most_words(given),
                interventions=interventions,
                attention=attention,
                steps=steps,
            )

    @abstractmethod
    def _given(self, text: str) -> list[int]:
        """Return the ids that the model reads before it writes."""

    @abstractmethod
    def _most_words(self, given: Sequence[Sequence[int]]) -> int | None:
        """Return how many words it may write; None: as many as `decoding` allows."""

    @abstractmethod
    def _whole(self, given: Sequence[int], written: Sequence[int]) -> list[int]:
        """Return the ids of the text that was asked for: what was written, or what goes before it too."""
