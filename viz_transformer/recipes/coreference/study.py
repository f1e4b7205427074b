"""Coreference study: measurements of each seed's model, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from viz_transformer.config import TrainConfig
from viz_transformer.corpus.coreference import pronoun_sentences
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.model.attention import attend_fused
from viz_transformer.recipes.coreference.model import (
    ANIMAL,
    COREFERENCE_TRAINING,
    IT,
    PLACE,
    CoreferenceModel,
    ReadAt,
    check_read_at,
    coreference_model,
    noun_classes,
)

Noun = Literal["animal", "place"]

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
    """Return the study as a Markdown table, with a line below that says how to read it.

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
