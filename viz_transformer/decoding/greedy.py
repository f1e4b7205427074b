"""Greedy search: the most probable word at each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from viz_transformer.decoding.constraints import Constraints, Words, make_constraints
from viz_transformer.decoding.steps import Steps, evaluating, open_steps
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.interventions import Interventions


def greedy(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    vocabulary: Words,
    *,
    min_length: int = 0,
    max_length: int | None = None,
    prefix: Sequence[int] | Sequence[Sequence[int]] = (),
    interventions: Interventions | None = None,
) -> list[list[int]]:
    """Write each text by taking the most probable word each time; of equal ones the lowest id.

    >>> import viz_transformer as vt
    >>> from viz_transformer.decoding import greedy
    >>> translator = vt.load_translator()
    >>> source = translator.vocabulary.source_ids("the black cat sleeps")
    >>> (ids,) = greedy(translator.model, [source], translator.vocabulary)
    >>> translator.vocabulary.decode(ids)
    'el gato negro duerme'

    Args:
        model: a Transformer, or a DecoderOnly; evaluated without dropout, its mode is put back.
        sources: ids of each source, ``<eos>`` at its end; of a DecoderOnly, what it continues.
        vocabulary: names the special tokens.
        min_length: fewest words before ``<eos>``.
        max_length: most words; by default what `default_max_length` says.
        prefix: ids that every text must begin with, or one list of them for each.
        interventions: what to switch off or replace while it writes; None changes nothing.

    Returns:
        The ids of each text, without ``<sos>`` and ``<eos>``.

    Raises:
        UserError: if there is no source or one without a word, a length is out of range, a prefix
            is of other words, or the interventions do not fit the model.
    """
    constraints = make_constraints(model, sources, vocabulary, min_length, max_length, prefix)
    texts: list[list[int]] = [[] for _ in sources]
    with evaluating(model):
        for numbers, steps, ids in open_steps(model, sources, constraints, interventions):
            for number, text in zip(numbers, _write(steps, ids, constraints, numbers), strict=True):
                texts[number] = text
    return texts


def _write(steps: Steps, ids: Tensor, constraints: Constraints, numbers: list[int]) -> list[list[int]]:
    finished = torch.zeros(len(numbers), dtype=torch.bool)
    written: list[Tensor] = []
    while not finished.all():  # at its maximum length a text must end
        logits = constraints.forbid(steps.step(ids), len(written), numbers)  # [sentence, vocab]
        ids = logits.argmax(-1)  # [sentence]
        finished |= ids == constraints.words.eos_id
        written.append(ids)
    end = constraints.words.eos_id
    rows = torch.stack(written, 1).tolist()  # [sentence, step]
    return [row[: row.index(end)] if end in row else row for row in rows]
