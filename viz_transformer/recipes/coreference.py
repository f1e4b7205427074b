"""The coreference study: several seeds, equally right, that look at different words.

*the animal did not cross the street because it was too tired*: a small encoder names the noun that
*it* stands for, on combinations of animal and place that it has never read. Which road the noun's
name takes is left to the training, and each seed finds its own.

The answer is scored from the vector at the first position, ``<sos>``, as BERT scores a class, or
(`read_at="it"`) from the vector at *it*. That choice decides what a map of attention can tell:

- Read at the start, the last layer's row of *it* is part of no answer: nobody reads its result.
  It shows what a head does for other positions, done once more for *it*. Still one seed looks
  from *it* straight at the animal, and is no righter than a seed that looks nowhere.
- Read at *it*, the noun must come to *it*, and the seeds look at it far more alike. They need not:
  in layer 0 other words take the noun's name up, and *it* can have it from them.

So two columns are no pictures but experiments: how many answers stay right without the head that
looks most at the noun meant, and how many when *it* can see neither noun, in any layer.

The task names one of 23 nouns. Asked only whether *it* is an animal or a place, the model needs
nothing but the adjective, and no seed looks at the nouns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
from viz_transformer.model import HeadChange, Interventions, TracedEncoderOnly
from viz_transformer.model.attention import attend_fused
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
COREFERENCE_TRAINING = TrainConfig(
    n_steps=500, batch_size=32, learning_rate=8e-3, warmup_steps=50, fused=False
)


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
        assert output.encoder_attention is not None and output.source_positions is not None
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


@dataclass(frozen=True)
class ItAttention:
    """What *it* looks at, averaged over the held-out sentences of one reading.

    Attributes:
        to_animal: weight on the animal, [layer][head], 0 to 1; 1/13 is an even look.
        to_place: weight on the place, likewise.
    """

    to_animal: tuple[tuple[float, ...], ...]
    to_place: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class StudyRow:
    """One seed of the study; every number is over the held-out sentences.

    Attributes:
        seed: of the weights and of the order of the sentences.
        read_at: the vector that the answer is scored from.
        n_held_out: sentences.
        accuracy: share of them answered with the right noun, 0 to 1.
        tired: what *it* looks at where it is the animal.
        wide: what *it* looks at where it is the place.
        head: (layer, head) that looks from *it* most at the noun meant.
        weight: that head's mean weight on the noun meant.
        accuracy_without_head: the accuracy with that head switched off.
        accuracy_blind: the accuracy when *it* can see neither noun, in any layer.
    """

    seed: int
    read_at: ReadAt
    n_held_out: int
    accuracy: float
    tired: ItAttention
    wide: ItAttention
    head: tuple[int, int]
    weight: float
    accuracy_without_head: float
    accuracy_blind: float


def coreference_study(
    seeds: Sequence[int] = (0, 1, 2, 3),
    *,
    read_at: ReadAt = "start",
    training: TrainConfig = COREFERENCE_TRAINING,
    progress: Callable[[Sequence[int]], Iterable[int]] | None = None,
) -> list[StudyRow]:
    """Train a model for each seed, and measure it on sentences whose pair of nouns is new to it.

    Args:
        seeds: of the weights and of the order of the sentences.
        read_at: ``"start"`` scores the answer from the first position, ``"it"`` from *it*.
        training: steps and rate; its seed is replaced.
        progress: wraps the seeds, to show how far the study is.

    Raises:
        UserError: if a seed is no whole number of at least 0, there is none, or `read_at` is
            another word.
    """
    seeds = tuple(seeds)
    if not seeds:
        raise UserError("the study was given no seed; give at least one, such as seeds=(0, 1)")
    trainings = {seed: replace(training, seed=seed) for seed in seeds}  # all checked beforehand
    return [
        study_row(coreference_model(seed, read_at=read_at, training=trainings[seed]))
        for seed in (seeds if progress is None else progress(seeds))
    ]


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
        training: steps and rate; its seed is replaced.

    Raises:
        UserError: if the seed is no whole number of at least 0, or `read_at` is another word.
    """
    if read_at not in ("start", "it"):
        raise UserError(f"read_at={read_at!r} is unknown; choose 'start' or 'it'")
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


def _train(made: CoreferenceModel, sentences: Sequence[PronounSentence], to: TrainConfig) -> None:
    """Train in place: cross-entropy of the noun, Adam, clipped gradients."""
    model, ids, nouns = made.model.train(), made.ids(sentences), _nouns(sentences)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=to.fused)
    stream = _rows(len(sentences), to.batch_size, to.seed)
    for step in range(1, to.n_steps + 1):
        rows = next(stream)
        logits = made.logits(model.encode(ids[rows]))  # [batch, noun]
        loss = F.cross_entropy(logits, nouns[rows], label_smoothing=to.label_smoothing)
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


def _nouns(sentences: Iterable[PronounSentence]) -> Tensor:
    return torch.tensor([NOUNS.index(sentence.referent) for sentence in sentences])


@torch.no_grad()
def study_row(made: CoreferenceModel) -> StudyRow:
    """Measure a trained model on the held-out sentences."""
    model, sentences = made.model, pronoun_sentences().held_out
    ids, nouns = made.ids(sentences), _nouns(sentences)

    def accuracy(vectors: Tensor) -> float:
        return (made.logits(vectors).argmax(-1) == nouns).float().mean().item()

    output = model(ids)
    assert output.encoder_attention is not None
    looks = torch.stack(output.encoder_attention, 1)[:, :, :, IT]  # [sentence, layer, head, key]
    tired = torch.tensor([sentence.means_animal for sentence in sentences])
    meant = torch.where(tired[:, None, None], looks[..., ANIMAL], looks[..., PLACE]).mean(0)
    layer, head = divmod(int(meant.argmax()), meant.shape[1])  # of [layer, head]
    without = Interventions(heads=[HeadChange("encoder", layer, head, factor=0)])
    sees = model.padding_mask(ids).repeat(1, 1, ids.shape[1], 1)  # [sentence, 1, query, key]
    sees[:, :, IT, [ANIMAL, PLACE]] = False
    blind, _ = model.encoder(model.embed(ids), sees, attend_fused)
    return StudyRow(
        seed=made.seed,
        read_at=made.read_at,
        n_held_out=len(sentences),
        accuracy=accuracy(output.last_hidden_state),
        tired=_it_attention(looks[tired].mean(0)),
        wide=_it_attention(looks[~tired].mean(0)),
        head=(layer, head),
        weight=meant[layer, head].item(),
        accuracy_without_head=accuracy(model(ids, interventions=without).last_hidden_state),
        accuracy_blind=accuracy(blind),
    )


def _it_attention(weights: Tensor) -> ItAttention:
    """Keep the nouns' part of mean weights [layer, head, key]."""
    animal, place = (
        tuple(tuple(heads) for heads in weights[..., key].tolist()) for key in (ANIMAL, PLACE)
    )
    return ItAttention(animal, place)
