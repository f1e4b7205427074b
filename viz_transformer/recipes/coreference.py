"""Coreference study: several seeds that are equally accurate and attend to different words.

*the animal did not cross the street because it was too tired*: a small encoder names the noun that
*it* refers to, on combinations of animal and place that it has never read. How the noun's name
reaches the answer is left to the training, and differs from seed to seed. If the model only had to
tell an animal from a place, the adjective alone would do.

The answer is scored from the vector at the first position, ``<sos>``, as BERT scores a class, or
(`read_at="it"`) from the vector at *it*. That choice decides what an attention map can show:

- Read at the start, the last layer's row of *it* is part of no answer, because its result is not
  used. Seed 0 attends from *it* directly to the animal, as if it resolved the reference; seed 1's
  heads together give the animal hardly more than an even share, and it is just as accurate. Both
  stay right when *it* can attend to neither noun in any layer.
- Read at *it*, the noun's name has to reach *it*. Each of the seeds 0 to 3 attends to the noun, and
  most answers become wrong when *it* cannot.

So two experiments, which a map cannot replace, accompany the weights: the accuracy without the head
that attends most to the referent, and the accuracy when both nouns are hidden from *it*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from viz_transformer.model import HeadChange, Interventions, TracedEncoderOnly
from viz_transformer.model.attention import attend_fused
from viz_transformer.model.threads import threads
from viz_transformer.recipes.six_pairs import TWO_LAYERS
from viz_transformer.trace import ForwardTrace
from viz_transformer.training import learning_rate
from viz_transformer.vocabulary import Vocabulary

ReadAt = Literal["start", "it"]
Noun = Literal["animal", "place"]

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


_LEGEND = """\
right: held-out sentences whose noun was named. tired: animal, wide: place: the weight from "it"
on the noun meant, of the head of the last layer that looks there most, and the mean over its
heads; an even look is 1/13 = 0.08. surest head: layer and head with the largest such weight over
both, and what is right without that head. blind: what is right when "it" can see neither noun, in
any layer. Read at <sos>, the last layer's look from "it" is part of no answer."""


@dataclass(frozen=True)
class ItAttention:
    """The attention of *it* to the nouns, averaged over the held-out sentences of one reading.

    Attributes:
        to_animal: weight on the animal, [layer][head], 0 to 1; 1/13 is an even look.
        to_place: weight on the place, likewise.
    """

    to_animal: tuple[tuple[float, ...], ...]
    to_place: tuple[tuple[float, ...], ...]

    def most(self, noun: Noun, layer: int = -1) -> float:
        """Return the weight on ``"animal"`` or ``"place"`` of the head that looks there most."""
        return max(self._heads(noun, layer))

    def mean(self, noun: Noun, layer: int = -1) -> float:
        """Return the weight on ``"animal"`` or ``"place"``, the mean over a layer's heads."""
        heads = self._heads(noun, layer)
        return sum(heads) / len(heads)

    def _heads(self, noun: Noun, layer: int) -> tuple[float, ...]:
        return (self.to_animal if noun == "animal" else self.to_place)[layer]


@dataclass(frozen=True)
class StudyRow:
    """One seed of the study; every number is over the held-out sentences.

    >>> from viz_transformer.recipes import StudyRow
    >>> from viz_transformer.recipes.coreference import ItAttention
    >>> tired = ItAttention(to_animal=((0.1, 0.2), (0.9, 0.1)), to_place=((0.1, 0.1), (0.0, 0.1)))
    >>> wide = ItAttention(to_animal=((0.1, 0.1), (0.1, 0.1)), to_place=((0.1, 0.2), (0.7, 0.1)))
    >>> row = StudyRow(0, "it", 170, 1.0, tired, wide, head=(1, 0), weight=0.8,
    ...                accuracy_without_head=0.6, accuracy_blind=0.3)
    >>> row.tired.most("animal"), row.tired.mean("animal")  # over the heads of the last layer
    (0.9, 0.5)

    Attributes:
        seed: of the weights and of the order of the sentences.
        read_at: the vector that the answer is scored from.
        n_held_out: sentences.
        accuracy: share of them answered with the right noun, 0 to 1.
        tired: the attention of *it* where it refers to the animal.
        wide: the attention of *it* where it refers to the place.
        head: (layer, head) with the largest weight from *it* to its referent.
        weight: that head's mean weight on the referent.
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
    """Train a model for each seed, and measure it on held-out pairs of nouns.

    >>> from dataclasses import replace
    >>> from viz_transformer.recipes import coreference_study
    >>> from viz_transformer.recipes.coreference import COREFERENCE_TRAINING
    >>> two_steps = replace(COREFERENCE_TRAINING, n_steps=2)  # too few to answer well
    >>> [(row.seed, row.accuracy < 0.5) for row in coreference_study((0, 1), training=two_steps)]
    [(0, True), (1, True)]

    Args:
        seeds: of the weights and of the order of the sentences.
        read_at: ``"start"`` scores the answer from the first position, ``"it"`` from *it*.
        training: as in `coreference_model`.
        progress: wraps the seeds, to show the study's progress.

    Raises:
        UserError: if a seed is no whole number of at least 0, there is none, `read_at` is
            another word, or the loss is no longer a number.
    """
    check_read_at(read_at)
    seeds = tuple(seeds)
    if not seeds:
        raise UserError("the study was given no seed; give at least one, such as seeds=(0, 1)")
    trainings = {seed: replace(training, seed=seed) for seed in seeds}  # all checked beforehand
    return [
        study_row(coreference_model(seed, read_at=read_at, training=trainings[seed]))
        for seed in (seeds if progress is None else progress(seeds))
    ]


@torch.no_grad()
def study_row(trained: CoreferenceModel) -> StudyRow:
    """Measure a trained model on the held-out sentences."""
    model, sentences = trained.model, pronoun_sentences().held_out
    ids, nouns = trained.ids(sentences), noun_classes(sentences)

    def accuracy(vectors: Tensor) -> float:
        return (trained.logits(vectors).argmax(-1) == nouns).float().mean().item()

    output = model(ids)
    weights = torch.stack(output.encoder_attention, 1)[:, :, :, IT]  # [sentence, layer, head, key]
    tired = torch.tensor([sentence.means_animal for sentence in sentences])
    on_referent = torch.where(tired[:, None, None], weights[..., ANIMAL], weights[..., PLACE]).mean(0)
    layer, head = divmod(int(on_referent.argmax()), on_referent.shape[1])  # of [layer, head]
    without = Interventions(heads=[HeadChange("encoder", layer, head, factor=0)])
    mask = model.padding_mask(ids).repeat(1, 1, ids.shape[1], 1)  # [sentence, 1, query, key]
    mask[:, :, IT, [ANIMAL, PLACE]] = False
    blind, _ = model.encoder(model.embed(ids), mask, attend_fused)
    return StudyRow(
        seed=trained.seed,
        read_at=trained.read_at,
        n_held_out=len(sentences),
        accuracy=accuracy(output.last_hidden_state),
        tired=_it_attention(weights[tired].mean(0)),
        wide=_it_attention(weights[~tired].mean(0)),
        head=(layer, head),
        weight=on_referent[layer, head].item(),
        accuracy_without_head=accuracy(model(ids, interventions=without).last_hidden_state),
        accuracy_blind=accuracy(blind),
    )


def _it_attention(weights: Tensor) -> ItAttention:
    """Return the weights on the nouns out of mean weights [layer, head, key]."""
    animal, place = (tuple(tuple(heads) for heads in weights[..., key].tolist()) for key in (ANIMAL, PLACE))
    return ItAttention(animal, place)


def study_table(rows: Sequence[StudyRow]) -> str:
    """Return the study as a Markdown table, with a line below on how to read it.

    >>> from viz_transformer.recipes import StudyRow, study_table
    >>> from viz_transformer.recipes.coreference import ItAttention
    >>> even = ItAttention(to_animal=((0.08, 0.08),), to_place=((0.08, 0.08),))
    >>> row = StudyRow(0, "start", 170, 0.99, even, even, (0, 1), 0.08, 0.95, 0.98)
    >>> for line in study_table([row]).splitlines()[:3]:
    ...     print(line)
    | seed | read at | right | tired: animal    | wide: place      | surest head | without it | blind |
    | ---- | ------- | ----- | ---------------- | ---------------- | ----------- | ---------- | ----- |
    | 0    | <sos>   | 99.0% | 0.08 (mean 0.08) | 0.08 (mean 0.08) | L0 H1: 0.08 | 95.0%      | 98.0% |

    Args:
        rows: what `coreference_study` returned.
    """
    head = (
        *("seed", "read at", "right", "tired: animal", "wide: place"),
        *("surest head", "without it", "blind"),
    )
    body = [
        (
            str(row.seed),
            "it" if row.read_at == "it" else "<sos>",
            f"{row.accuracy:.1%}",
            f"{row.tired.most('animal'):.2f} (mean {row.tired.mean('animal'):.2f})",
            f"{row.wide.most('place'):.2f} (mean {row.wide.mean('place'):.2f})",
            f"L{row.head[0]} H{row.head[1]}: {row.weight:.2f}",
            f"{row.accuracy_without_head:.1%}",
            f"{row.accuracy_blind:.1%}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [head, tuple("-" * width for width in widths), *body]
    table = [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    ]
    return "\n".join([*table, "", _LEGEND])
