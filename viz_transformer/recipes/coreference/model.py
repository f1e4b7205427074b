"""The models of the study: a small encoder that names the noun that *it* stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.coreference import (
    ANIMALS,
    PLACES,
    PronounSentence,
    pronoun_sentences,
    pronoun_vocabulary,
)
from viz_transformer.errors import UserError
from viz_transformer.model import TracedEncoderOnly
from viz_transformer.trace import ForwardTrace
from viz_transformer.training import learning_rate
from viz_transformer.vocabulary import Vocabulary

ReadAt = Literal["start", "it"]

#: The classes: the noun that *it* stands for.
NOUNS = (*ANIMALS, *PLACES)
#: Where ``<sos>``, the animal, the place and *it* stand in every sentence.
START, ANIMAL, PLACE, IT = 0, 2, 7, 9

#: Two layers of four heads, 32 wide.
COREFERENCE_MODEL = ModelConfig(
    vocab_size=1,  # replaced by the size of the sentences' vocabulary
    d_model=32,
    n_heads=4,
    n_encoder_layers=2,
    d_ff=64,
    max_length=16,
    dropout=0.0,
    family="encoder",
    n_classes=len(NOUNS),
)
#: A few seconds.
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
        """Return the noun that *it* stands for, as the model has it.

        Raises:
            UserError: if the sentence is none of the set's form, or has an unknown word.
        """
        with torch.no_grad():
            vectors = self.model(self._ids(sentence)).last_hidden_state
            return NOUNS[int(self.logits(vectors).argmax())]

    def trace(self, sentence: str) -> ForwardTrace:
        """Return what every head looks at in a sentence; ``<sos>`` stands before its words.

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
                f"{sentence!r:.80} is no sentence of the study; give one such as 'the animal did "
                "not cross the street because it was too tired', with other words in the places "
                "of animal, cross, street and tired"
            )
        return torch.tensor([[self.vocabulary.sos_id, *ids]])


def coreference_trace(seed: int, sentence: str, *, read_at: ReadAt = "start") -> ForwardTrace:
    """Train the model of a seed, and return what its heads look at in a sentence.

    For several sentences, keep what `coreference_model` returns and ask its `trace`.

    Raises:
        UserError: as `coreference_model` and `CoreferenceModel.trace`.
    """
    return coreference_model(seed, read_at=read_at).trace(sentence)


def coreference_model(
    seed: int = 0, *, read_at: ReadAt = "start", training: TrainConfig = COREFERENCE_TRAINING
) -> CoreferenceModel:
    """Train one model of the study, in a few seconds on one thread.

    The same arguments give the same weights on one machine.

    Args:
        seed: of the weights and of the order of the sentences.
        read_at: ``"start"`` scores the answer from the first position, ``"it"`` from *it*.
        training: steps, batch size, rate, smoothing and clipping; its seed is replaced, and it is
            always float32, a batch a step.

    Raises:
        UserError: if the seed is no whole number of at least 0, `read_at` is another word, or the
            loss is no longer a number.
    """
    checked_read_at(read_at)
    training = replace(training, seed=seed)
    sentences = pronoun_sentences().train
    vocabulary = pronoun_vocabulary(sentences)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TracedEncoderOnly(replace(COREFERENCE_MODEL, vocab_size=len(vocabulary)))
    made = CoreferenceModel(model, vocabulary, seed, read_at)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _train(made, sentences, training)
    finally:
        torch.set_num_threads(threads_before)
    return made


def checked_read_at(read_at: str) -> None:
    """Raise a UserError unless the word says where an answer can be read."""
    if read_at not in get_args(ReadAt):
        raise UserError(f"read_at={read_at!r} is unknown; choose one of {list(get_args(ReadAt))}")


def _train(made: CoreferenceModel, sentences: Sequence[PronounSentence], to: TrainConfig) -> None:
    """Train in place: cross-entropy of the noun, Adam, clipped gradients."""
    model, ids, nouns = made.model.train(), made.ids(sentences), nouns_of(sentences)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=to.fused)
    stream = _rows(len(sentences), to.batch_size, to.seed)
    for step in range(1, to.n_steps + 1):
        rows = next(stream)
        logits = made.logits(model.encode(ids[rows]))  # [batch, noun]
        loss = F.cross_entropy(logits, nouns[rows], label_smoothing=to.label_smoothing)
        if not loss.isfinite():
            raise UserError(
                f"the loss is {loss.item()} at step {step}; lower "
                f"learning_rate={to.learning_rate} or raise warmup_steps={to.warmup_steps}"
            )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), to.max_grad_norm)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, to)
        optimiser.step()
    model.eval()


def _rows(n: int, batch_size: int, seed: int) -> Iterator[Tensor]:
    """Yield the numbers of each batch's sentences, every sentence once an epoch."""
    rng = np.random.default_rng(seed)
    while True:
        order = torch.from_numpy(rng.permutation(n))
        yield from order.split(batch_size)


def nouns_of(sentences: Iterable[PronounSentence]) -> Tensor:
    """Return the number of the noun that each sentence's *it* stands for, in `NOUNS`."""
    return torch.tensor([NOUNS.index(sentence.referent) for sentence in sentences])
