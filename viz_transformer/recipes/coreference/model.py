"""Coreference model: a small encoder that names the noun that *it* refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.config import TrainConfig
from viz_transformer.corpus.coreference import (
    ANIMALS,
    PLACES,
    PronounSentence,
    pronoun_sentences,
    pronoun_vocabulary,
)
from viz_transformer.errors import UserError
from viz_transformer.model import TracedEncoderOnly
from viz_transformer.model.threads import threads
from viz_transformer.recipes.two_layers import TWO_LAYERS
from viz_transformer.trace import ForwardTrace
from viz_transformer.training import learning_rate
from viz_transformer.vocabulary import Vocabulary

ReadAt = Literal["start", "it"]

#: The classes: the noun that *it* refers to.
NOUNS = (*ANIMALS, *PLACES)
#: The positions of ``<sos>``, the animal, the place and *it* in every sentence.
START, ANIMAL, PLACE, IT = 0, 2, 7, 9

#: Two layers of four heads, 32 wide.
COREFERENCE_MODEL = replace(
    TWO_LAYERS, family="encoder", d_model=32, d_ff=64, max_length=16, dropout=0.0, n_classes=len(NOUNS)
)
#: Takes a few seconds.
COREFERENCE_TRAINING = TrainConfig(n_steps=500, batch_size=32, learning_rate=8e-3, warmup_steps=50)


@dataclass(frozen=True)
class CoreferenceModel:
    """A trained model of the study.

    Attributes:
        model: the encoder; its classifier scores `NOUNS`.
        vocabulary: of the sentences.
        seed: of the weights and of the order of the sentences.
        read_at: the vector that the classifier reads, at the first position or at *it*.
    """

    model: TracedEncoderOnly
    vocabulary: Vocabulary
    seed: int
    read_at: ReadAt

    def answer(self, sentence: str) -> str:
        """Return the noun that *it* refers to, according to the model.

        Raises:
            UserError: if the sentence is not of the study's form, or has an unknown word.
        """
        with torch.no_grad():
            vectors = self.model(self._ids(sentence)).last_hidden_state
            return NOUNS[int(self.logits(vectors).argmax())]

    def trace(self, sentence: str) -> ForwardTrace:
        """Return every head's attention in a sentence, which ``<sos>`` precedes.

        Raises:
            UserError: as `answer`.
        """
        ids = self._ids(sentence)
        with torch.no_grad():
            output = self.model(ids)
        return ForwardTrace(
            source_tokens=self.vocabulary.tokens_of(ids[0].tolist()),
            encoder_attention=torch.cat(output.encoder_attention).numpy(),
            source_positions=output.source_positions.numpy(),
        )

    def logits(self, vectors: Tensor) -> Tensor:
        """Score the nouns [batch, noun] from the encoder's vectors [batch, position, d_model]."""
        return self.model.classifier(vectors[:, IT if self.read_at == "it" else START])

    def ids(self, sentences: Iterable[PronounSentence]) -> Tensor:
        """Return what the encoder reads, int64 [sentence, position]."""
        sos, ids_of = self.vocabulary.sos_id, self.vocabulary.ids_of
        return torch.tensor([[sos, *ids_of(sentence.words)] for sentence in sentences])

    def _ids(self, sentence: str) -> Tensor:
        ids = self.vocabulary.encode(sentence)
        words = self.vocabulary.tokens_of([self.vocabulary.sos_id, *ids])
        fits = len(words) == IT + 4 and words[ANIMAL] in ANIMALS and words[PLACE] in PLACES
        if not fits or words[IT] != "it":
            raise UserError(
                f"{sentence!r:.80} is not a sentence of the study; give one such as 'the animal did "
                "not cross the street because it was too tired', with other words in the places "
                "of animal, cross, street and tired"
            )
        return torch.tensor([[self.vocabulary.sos_id, *ids]])


def coreference_trace(
    seed: int, sentence: str, *, read_at: ReadAt = "start", training: TrainConfig = COREFERENCE_TRAINING
) -> ForwardTrace:
    """Train the model of a seed, and return its attention in a sentence.

    For several sentences, keep the result of `coreference_model` and call its `trace`.

    >>> from dataclasses import replace
    >>> from viz_transformer.recipes import coreference_trace
    >>> from viz_transformer.recipes.coreference import COREFERENCE_TRAINING
    >>> sentence = "the animal did not cross the street because it was too tired"
    >>> one_step = replace(COREFERENCE_TRAINING, n_steps=1)  # the whole takes a few seconds
    >>> trace = coreference_trace(0, sentence, training=one_step)
    >>> it = trace.source_tokens.index("it")
    >>> trace.encoder_attention[1, :, it].shape  # what each head of the last layer looks at from there
    (4, 13)

    Args:
        seed: of the weights and of the order of the sentences.
        sentence: one of the study's form, such as the one above.
        read_at: as in `coreference_model`.
        training: as in `coreference_model`.

    Raises:
        UserError: as `coreference_model` and `CoreferenceModel.trace`.
    """
    return coreference_model(seed, read_at=read_at, training=training).trace(sentence)


def coreference_model(
    seed: int = 0, *, read_at: ReadAt = "start", training: TrainConfig = COREFERENCE_TRAINING
) -> CoreferenceModel:
    """Train one model of the study, in a few seconds on one thread.

    The same arguments give the same weights on one machine.

    >>> from dataclasses import replace
    >>> from viz_transformer.recipes import coreference_model
    >>> from viz_transformer.recipes.coreference import COREFERENCE_TRAINING
    >>> quick = coreference_model(training=replace(COREFERENCE_TRAINING, n_steps=80))
    >>> for adjective in ("tired", "wide"):
    ...     quick.answer(f"the animal did not cross the street because it was too {adjective}")
    'animal'
    'street'

    Args:
        seed: of the weights and of the order of the sentences.
        read_at: ``"start"`` scores the answer from the first position, ``"it"`` from *it*.
        training: steps, batch size, rate, smoothing and clipping; its seed is replaced, and it is
            always float32, a batch a step.

    Raises:
        UserError: if the seed is no whole number of at least 0, `read_at` is another word, or the
            loss is no longer a number.
    """
    check_read_at(read_at)
    training = replace(training, seed=seed)
    sentences = pronoun_sentences().train
    vocabulary = pronoun_vocabulary(sentences)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TracedEncoderOnly(replace(COREFERENCE_MODEL, vocab_size=len(vocabulary)))
    trained = CoreferenceModel(model, vocabulary, seed, read_at)
    with threads(1):
        _train(trained, sentences, training)
    return trained


def check_read_at(read_at: str) -> None:
    """Raise a UserError unless an answer can be read there."""
    if read_at not in get_args(ReadAt):
        raise UserError(f"read_at={read_at!r} is unknown; choose one of {list(get_args(ReadAt))}")


def _train(trained: CoreferenceModel, sentences: Sequence[PronounSentence], training: TrainConfig) -> None:
    """Train in place: cross-entropy of the noun, Adam, clipped gradients."""
    model, ids, nouns = trained.model.train(), trained.ids(sentences), noun_classes(sentences)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=training.fused)
    stream = _batch_indices(len(sentences), training.batch_size, training.seed)
    for step in range(1, training.n_steps + 1):
        indices = next(stream)
        logits = trained.logits(model.encode(ids[indices]))  # [batch, noun]
        loss = F.cross_entropy(logits, nouns[indices], label_smoothing=training.label_smoothing)
        if not loss.isfinite():
            raise UserError(
                f"the loss is {loss.item()} at step {step}; lower "
                f"learning_rate={training.learning_rate} or raise warmup_steps={training.warmup_steps}"
            )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.max_grad_norm)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, training)
        optimiser.step()
    model.eval()


def _batch_indices(n: int, batch_size: int, seed: int) -> Iterator[Tensor]:
    """Yield the indices of each batch's sentences, every sentence once an epoch."""
    rng = np.random.default_rng(seed)
    while True:
        order = torch.from_numpy(rng.permutation(n))
        yield from order.split(batch_size)


def noun_classes(sentences: Iterable[PronounSentence]) -> Tensor:
    """Return the class, an index into `NOUNS`, of each sentence's referent."""
    return torch.tensor([NOUNS.index(sentence.referent) for sentence in sentences])
