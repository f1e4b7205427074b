"""The base of a trained model behind calls on plain text: a translator, a language model, a gap filler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer._text import given_text
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.trace import ForwardTrace
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
        if len(ids) > self.config.max_length:
            unit = "words" if self.vocabulary.word_numbers(ids) is None else "pieces of words"
            n_words = len(ids) - 1  # beside the words there is one special token
            raise UserError(
                f"the {what} has {n_words} {unit}, and this model reads at most "
                f"{self.config.max_length - 1}; shorten it, or split it in two"
            )


def log_probs_of(logits: Tensor, ids: Sequence[int]) -> NDArray[np.float64]:
    """Return the log-probability of one id at each position, natural logarithm.

    Args:
        logits: [position, vocab].
        ids: one for each position.
    """
    # In float64, a word that is all but certain still shows how certain: -1e-9 and not 0.
    log_probs = logits.cpu().double().log_softmax(-1)  # [position, vocab]
    return log_probs.gather(1, torch.tensor(list(ids))[:, None])[:, 0].numpy()  # [position]


def stack(layers: tuple[Tensor, ...] | None) -> NDArray[np.float32] | None:
    """Turn one sentence's layers, each [1, head, query, key], into [layer, head, query, key]."""
    return None if layers is None else array(torch.cat(layers))


def array(tensor: Tensor | None) -> NDArray[np.float32] | None:
    """Return a tensor as an array, and None as None."""
    return None if tensor is None else tensor.cpu().numpy()
