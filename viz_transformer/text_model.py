"""The base of the trained models behind calls on plain text: `Translator`, `LanguageModel`, `MaskedModel`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer._text import given_text
from viz_transformer.config import ModelConfig
from viz_transformer.decoding import beam_search, sample, sample_ids
from viz_transformer.decoding.beam import best_texts
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, ModelOutput, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.trace import KINDS, DecodeTrace, ForwardTrace, Hypothesis
from viz_transformer.vocabulary import Tokeniser

Model = TypeVar("Model", bound=Transformer | DecoderOnly | EncoderOnly)
Traced = TypeVar("Traced", bound=Transformer | DecoderOnly | EncoderOnly)
Words = TypeVar("Words", bound=Tokeniser)


class TextModel(ABC, Generic[Model, Traced, Words]):
    """A trained model and its vocabulary.

    Attributes:
        model: of one of the three families, in evaluation mode.
        vocabulary: turns text into ids and back.
    """

    #: What the model is called in a message.
    name: str
    #: What it does with a text: ``"translate"``, ``"continue"`` or ``"fill"``.
    task: str

    def __init__(self, model: Model, vocabulary: Words, traced: Traced) -> None:
        """Join a model and its vocabulary.

        Args:
            model: the model.
            vocabulary: the one it was trained with.
            traced: a traced model of the same configuration, which gets the model's parameters.
        """
        self.model = model
        self.vocabulary = vocabulary
        # The traced variant shares the parameters: a change of one is a change of both.
        self._traced = traced
        self._traced.eval()
        self._traced.load_state_dict(model.state_dict(keep_vars=True), assign=True)

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.model.config

    @property
    def traced_model(self) -> Traced:
        """The model that `trace` runs, which shares all parameters with `model`."""
        self._traced.to(self._device)  # its tables of positions go where `model` went
        return self._traced

    @property
    def _device(self) -> torch.device:
        """Where the model is: the processor, or the card that it was moved to."""
        return next(self.model.parameters()).device

    @abstractmethod
    def trace(self, text: str, *, interventions: Interventions | None = None) -> ForwardTrace:
        """Return every head's attention while the model reads a text.

        Raises:
            UserError: if the text or the interventions do not suit the model.
        """

    @abstractmethod
    def answer(self, text: str, interventions: Interventions | None = None) -> tuple[str, ...]:
        """Return the tokens of the best that the model finds for a text.

        A translator translates it, a language model continues it and a masked language model fills its
        gap; the last two return the whole text.

        Raises:
            UserError: if the text does not suit the model.
        """

    @abstractmethod
    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return as `answer` what the model makes of some texts, but by greedy search and as text.

        Raises:
            UserError: as `answer`.
        """

    @abstractmethod
    def judge(
        self, text: str, answer: str | Sequence[str], interventions: Interventions | None = None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the attention while the model reads an answer, and how probable it finds its words.

        Args:
            text: what was asked, as `answer` takes it.
            answer: an answer to it, the model's own or another, as text or as tokens.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            The trace, and the log-probabilities of the words that the model had to find, float64
            [word].

        Raises:
            UserError: if one of them does not suit the model.
        """

    def _ids_of(self, text: str | Sequence[str]) -> list[int]:
        """Return the ids of a text of the target language, given as text or as tokens."""
        words = self.vocabulary
        if isinstance(text, list | tuple):
            return words.ids_of(text)
        return words.encode(given_text(text), "target")

    def _check_length(self, ids: Sequence[int], what: str) -> None:
        if len(ids) > self.model.config.max_length:
            unit = "words" if self.vocabulary.word_numbers(ids) is None else "pieces of words"
            n_words = len(ids) - 1  # beside the words there is one special token
            raise UserError(
                f"the {what} has {n_words} {unit}, and this model reads at most "
                f"{self.model.config.max_length - 1}; shorten it, or split it in two"
            )

    def _run(self, *rows: list[int], interventions: Interventions | None) -> ModelOutput:
        """Let the traced model read the ids of one sentence, or of a source and its target."""
        ids = [torch.tensor([row], device=self._device) for row in rows]  # each [1, token]
        with threads_for(self.model.config):
            return self.traced_model(*ids, interventions=interventions)

    def _trace_of(
        self, output: ModelOutput, source: list[int], target: list[int], written: list[int] | None
    ) -> ForwardTrace:
        """Return what a run showed, with the tokens of the ids that it read and wrote."""
        words = self.vocabulary
        fields: dict[str, Any] = {"output_tokens": None if written is None else words.tokens_of(written)}
        for side, ids in (("source", source), ("target", target)):
            positions = getattr(output, f"{side}_positions")
            fields[f"{side}_tokens"] = words.tokens_of(ids)
            fields[f"{side}_words"] = words.word_numbers(ids) if ids else None
            fields[f"{side}_positions"] = None if positions is None else positions.cpu().numpy()
        for kind in KINDS.values():
            layers = getattr(output, kind.field)  # each [1, head, query, key]
            fields[kind.field] = None if layers is None else torch.cat(layers).cpu().numpy()
        return ForwardTrace(**fields)


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
        given = self._given(text)
        with threads_for(self.model.config):
            return beam_search(
                self.model,
                [given],
                self.vocabulary,
                beam_width=beam_width,
                length_penalty=length_penalty,
                max_length=self._most_words([given]),
                interventions=interventions,
                attention=attention,
            )[0]

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
        with threads_for(self.model.config):
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
        with threads_for(self.model.config):
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

    def _best(
        self,
        given: Sequence[list[int]],
        beam_width: int = 4,
        length_penalty: float = 0.6,
        interventions: Interventions | None = None,
    ) -> list[Hypothesis]:
        """Return the best that `decode` finds for each text, without a record of the search."""
        with threads_for(self.model.config):
            found = best_texts(
                self.model,
                given,
                self.vocabulary,
                beam_width=beam_width,
                length_penalty=length_penalty,
                max_length=self._most_words(given),
                interventions=interventions,
            )
        return [hypotheses[0] for hypotheses in found]

    @abstractmethod
    def _given(self, text: str) -> list[int]:
        """Return the ids that the model reads before it writes."""

    @abstractmethod
    def _most_words(self, given: Sequence[Sequence[int]]) -> int | None:
        """Return how many words it may write; None: as many as `decoding` allows."""

    @abstractmethod
    def _whole(self, given: Sequence[int], written: Sequence[int]) -> list[int]:
        """Return the ids of the text that was asked for: what was written, or what goes before it too."""


def log_probs_of(logits: Tensor, ids: Sequence[int]) -> NDArray[np.float64]:
    """Return the log-probability of one id at each position, natural logarithm.

    Args:
        logits: [position, vocab].
        ids: one for each position.
    """
    # In float64, a word that is all but certain still shows how certain: -1e-9 and not 0.
    log_probs = logits.cpu().double().log_softmax(-1)  # [position, vocab]
    return log_probs.gather(1, torch.tensor(list(ids))[:, None])[:, 0].numpy()  # [position]
